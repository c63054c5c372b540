// SPDX-License-Identifier: BSD-2-Clause
// Where an io_uring can be made, but a filter denies a call that it is used with, I/O goes through epoll, which says which
// call it is and how it failed.
#include <sys/wait.h>

#include "deny.h"
#include "net.h"

// In a child, because a filter stays.
static void answered(unsigned call, const char *name, unsigned error) {
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        deny(call, error);
        fprintf(stderr, "%s\n", fin_io_backend());
        CHECK(strncmp(fin_io_backend(), "epoll, because ", 15) == 0);
        CHECK(strstr(fin_io_backend(), name));
        CHECK(strstr(fin_io_backend(), strerror((int)error)));
        byte_comes();
        _exit(0);
    }
    denied_ended(child);
}

static bool no_ring(void) {
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(strncmp(fin_io_backend(), "epoll", 5) == 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status != 0;
}

int main(void) {
    static const unsigned errors[] = {EPERM, EACCES, ENOSYS, EINVAL, ENOMEM, EMFILE};
    unsetenv("FIN_IO");
    if (no_ring())
        SKIP("no io_uring here");
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++) {
        answered(SYS_io_uring_register, "io_uring_register(2)", errors[i]);
        answered(SYS_io_uring_enter, "io_uring_enter(2)", errors[i]);
    }
    return 0;
}
