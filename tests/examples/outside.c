// SPDX-License-Identifier: BSD-2-Clause
// A program outside the repository: what it includes and links comes from pkg-config.
#include <stdio.h>
#include <unistd.h>

#include <fin.h>

struct pipe_end {
    int fd;
    char got;
};

static void read_one(void *arg) {
    struct pipe_end *p = arg;
    if (fin_read(p->fd, &p->got, 1) != 1)
        p->got = '?';
}

int main(void) {
    int fds[2];
    if (pipe(fds) != 0)
        return 1;
    struct pipe_end end = {.fd = fds[0]};
    fin_finish {
        fin_async_call(read_one, &end);
#if !defined(__clang__)
        fin_async {
            fin_sleep(FIN_MS);
            fin_write(fds[1], "x", 1);
        };
#else
        fin_sleep(FIN_MS);
        fin_write(fds[1], "x", 1);
#endif
    }
    printf("%c\n", end.got);
    return end.got == 'x' ? 0 : 1;
}
