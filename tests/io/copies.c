// SPDX-License-Identifier: BSD-2-Clause
// Files copied within the system, and sent: at offsets and positions, to the end; cancelled on the way, or ended by the
// peer: what was reported is what the other side has.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "net.h"

enum { MUCH = 300000 };

static char data[MUCH], back[MUCH];
static int file, pair[2];

static void copied(void) {
    int copy = nameless_file();
    off_t from = 1000, to = 50;
    CHECK_EQ(fin_copy_file_range(file, &from, copy, &to, 5000, 0), 5000);
    CHECK_EQ(from, 6000);
    CHECK_EQ(to, 5050);
    CHECK_EQ(pread(copy, back, 5000, 50), 5000);
    CHECK(memcmp(back, data + 1000, 5000) == 0);
    size_t n = 0;
    ssize_t r;
    while ((r = fin_copy_file_range(file, NULL, copy, NULL, SIZE_MAX, 0)) > 0)
        n += (size_t)r;
    CHECK_EQ(r, 0);
    CHECK_EQ(n, MUCH);
    CHECK_EQ(lseek(file, 0, SEEK_CUR), MUCH);
    CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
    CHECK_EQ(pread(copy, back, MUCH, 0), MUCH);
    CHECK(memcmp(back, data, MUCH) == 0);
    CHECK_EQ(fin_copy_file_range(file, NULL, copy, NULL, 1, 1), -EINVAL);
    from = -1;
    CHECK_EQ(copy_file_range(file, &from, copy, NULL, 10, 0), -1);
    CHECK_EQ(fin_copy_file_range(file, &from, copy, NULL, 10, 0), -errno);
    CHECK_EQ(from, -1);
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_copy_file_range(file, NULL, copy, NULL, 10, 0), -ECANCELED);
        CHECK_EQ(fin_copy_file_range_nc(file, NULL, copy, NULL, 10, 0), 10);
    }
    CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
    close(copy);
}

static ssize_t reported;
static off_t at;
static void send_it(void *with_offset) { reported = fin_sendfile(pair[1], file, with_offset, MUCH + 10); }

static void begin(void) {
    int small = 4096;
    stream_pair(pair);
    setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    memset(back, 0, sizeof back);
}

static void all_of_it(bool with_offset) {
    begin();
    at = 0;
    fin_finish {
        fin_async_call(send_it, with_offset ? &at : NULL);
        CHECK_EQ(fin_recv_all(pair[0], back, MUCH, 0, NULL), 0);
    }
    CHECK_EQ(reported, MUCH); // where the file ends
    CHECK(memcmp(data, back, MUCH) == 0);
    CHECK_EQ(at, with_offset ? MUCH : 0);
    CHECK_EQ(lseek(file, 0, SEEK_CUR), with_offset ? 0 : MUCH);
    CHECK_EQ(fin_sendfile_nc(pair[1], file, with_offset ? &at : NULL, 10), 0);
    CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
    close(pair[0]);
    close(pair[1]);
}

// The peer reads some, and then nothing: what it has is what was reported. From there it goes on.
static void cancelled(bool with_offset, size_t first) {
    begin();
    at = 0;
    reported = 0;
    fin_finish {
        fin_async_call(send_it, with_offset ? &at : NULL);
        CHECK_EQ(fin_recv_all(pair[0], back, first, 0, NULL), 0);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
    }
    CHECK(reported >= (ssize_t)first && reported < MUCH);
    CHECK_EQ(with_offset ? at : lseek(file, 0, SEEK_CUR), reported);
    size_t have = (size_t)reported;
    CHECK_EQ(fin_recv_all(pair[0], back + first, have - first, 0, NULL), 0);
    CHECK_EQ(recv(pair[0], back, 1, MSG_DONTWAIT), -1);
    fin_finish {
        fin_async_call(send_it, with_offset ? &at : NULL);
        CHECK_EQ(fin_recv_all(pair[0], back + have, MUCH - have, 0, NULL), 0);
    }
    CHECK_EQ(reported, MUCH - (ssize_t)have);
    CHECK(memcmp(data, back, MUCH) == 0);
    CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
    close(pair[0]);
    close(pair[1]);
}

static void refused(void) {
    begin();
    off_t from = 5;
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_sendfile(pair[1], file, &from, 10), -ECANCELED);
        CHECK_EQ(fin_sendfile(pair[1], file, &from, 0), -ECANCELED);
        CHECK_EQ(fin_sendfile_nc(pair[1], file, &from, 0), 0);
        CHECK_EQ(from, 5);
        CHECK_EQ(fin_sendfile_nc(pair[1], file, &from, 10), 10);
        CHECK_EQ(from, 15);
    }
    CHECK_EQ(recv(pair[0], back, MUCH, MSG_DONTWAIT), 10);
    close(pair[0]);
    CHECK_EQ(fin_sendfile(pair[1], file, &from, 10), -EPIPE);
    CHECK_EQ(from, 15);
    struct rlimit before, none;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    int r = (int)fin_sendfile(pair[1], file, &from, 10);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    CHECK_EQ(r, -EMFILE);
    close(pair[1]);
}

static void to_others(void) {
    int copy = nameless_file();
    CHECK_EQ(pipe(pair), 0);
    at = 100;
    CHECK_EQ(fin_sendfile(pair[1], file, &at, 3000), 3000);
    CHECK_EQ(read(pair[0], back, MUCH), 3000);
    CHECK(memcmp(data + 100, back, 3000) == 0);
    at = 200;
    CHECK_EQ(fin_sendfile(copy, file, &at, 200000), 200000);
    CHECK_EQ(pread(copy, back, MUCH, 0), 200000);
    CHECK(memcmp(data + 200, back, 200000) == 0);
    CHECK_EQ(fin_sendfile(copy, file, &at, 0), 0);
    close(pair[0]);
    close(pair[1]);
    close(copy);
}

int main(void) {
    unsigned seed = 3;
    signal(SIGPIPE, SIG_IGN);
    CHECK_EQ(fin_sleep(1), 0); // makes what the thread waits with
    for (int i = 0; i < MUCH; i++)
        data[i] = (char)next_random(&seed);
    file = nameless_file();
    CHECK_EQ(write(file, data, MUCH), MUCH);
    CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
    int before = open_descriptors();
    copied();
    all_of_it(true);
    all_of_it(false);
    cancelled(true, 50000);
    cancelled(false, 5);
    refused();
    to_others();
    CHECK_EQ(open_descriptors(), before);
    close(file);
    return 0;
}
