// SPDX-License-Identifier: BSD-2-Clause
// What an AWE waits for after it has waited before, with a continuation: it is begun in fewer steps than the first (on.c).
// Where nothing ever comes a cancel ends it, whether it has gone down or not; and its results are those of the first.
#include <fcntl.h>
#include <poll.h>

#include <fin/on.h>

#include "net.h"

static struct fin_on on;
static int idle[2], full[2], idle_pipe[2], full_pipe[2], file;
static char data[4096];
static int result;

static void ended(void *state, int n) {
    CHECK_EQ(*(int *)state, 7);
    result = n;
    fin_cont_end();
}

static const struct {
    int seven;
} state = {7};
#define ENDED ended, &state, sizeof state

// Its state is no whole number of words: that is begun as the first.
static void recvs(void) { fin_recv_on(&on, idle[0], data, sizeof data, 0, ENDED); }

// These are.
static void *words[] = {(void *)7, NULL};
#define WORDS ended, words, sizeof words
static void receives(void) { fin_recv_on(&on, idle[0], data, sizeof data, 0, WORDS); }
static void reads(void) { fin_read_on(&on, idle_pipe[0], data, sizeof data, WORDS); }
static void sends(void) { fin_send_on(&on, full[1], data, sizeof data, 0, WORDS); }
static void sends_all(void) { fin_send_on(&on, full[1], data, sizeof data, MSG_WAITALL, WORDS); }
static void writes(void) { fin_write_on(&on, full_pipe[1], data, sizeof data, WORDS); }

// And these end by themselves.
static void preads(void) { fin_pread_on(&on, file, data, sizeof data, 1, WORDS); }
static void preads_behind(void) { fin_pread_on(&on, file, data, sizeof data, 100, WORDS); }
static void preads_nowhere(void) { fin_pread_on(&on, file, data, sizeof data, -1, WORDS); }
static void preads_nothing(void) { fin_pread_on(&on, file, data, 0, 0, WORDS); }
static void pwrites(void) { fin_pwrite_on(&on, file, "abc", 3, 0, WORDS); }
static void pwrites_to_no_file(void) { fin_pwrite_on(&on, -1, "abc", 3, 0, WORDS); }
static void reads_a_directory(void) { fin_read_on(&on, AT_FDCWD, data, sizeof data, WORDS); }
static void sends_to_no_socket(void) { fin_send_on(&on, file, data, 1, 0, WORDS); }

typedef void begins(void);

static void second(void *p, int r) {
    CHECK_EQ(r, 0);
    result = 1;
    (*(begins **)p)();
    CHECK(false);
}

static void schedules(struct fin_awe *a, void *unused) {
    (void)unused;
    CHECK_EQ(fin_schedule(a), 0);
}

static void first(void *p, int r) {
    (void)r;
    fin_block_on_then(second, p, sizeof(begins *), schedules, NULL);
}

// `ns`: what is in flight when the cancel comes; 0: it has not gone down.
static void cancel_after(begins *b, uint64_t ns) {
    for (int i = 0; i < 3; i++) {
        fin_finish {
            CHECK(fin_async_cont(first, &b, sizeof b) != NULL);
            for (result = 0; result == 0;)
                fin_yield();
            if (ns)
                CHECK_EQ(fin_sleep(ns), 0);
            fin_cancel();
        }
        CHECK_EQ(result, -ECANCELED);
    }
}

static int result_of(begins *b) {
    fin_finish {
        CHECK(fin_async_cont(first, &b, sizeof b) != NULL);
    }
    return result;
}

static void fill(int fd) {
    CHECK_EQ(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    while (write(fd, data, sizeof data) > 0)
        ;
    CHECK_EQ(fcntl(fd, F_SETFL, 0), 0);
}

int main(void) {
    stream_pair(idle);
    stream_pair(full);
    CHECK_EQ(pipe(idle_pipe), 0);
    CHECK_EQ(pipe(full_pipe), 0);
    fill(full[1]);
    fill(full_pipe[1]);
    file = nameless_file();
    static begins *const waits[] = {recvs, receives, reads, sends, sends_all, writes};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        cancel_after(waits[i], 0);
        cancel_after(waits[i], FIN_MS);
    }
    CHECK_EQ(result_of(pwrites), 3);
    CHECK_EQ(result_of(preads), 2);
    CHECK(memcmp(data, "bc", 2) == 0);
    CHECK_EQ(result_of(preads_behind), 0);
    CHECK_EQ(result_of(preads_nowhere), -EINVAL);
    CHECK_EQ(result_of(preads_nothing), 0);
    CHECK_EQ(result_of(pwrites_to_no_file), -EBADF);
    CHECK_EQ(result_of(reads_a_directory), -EBADF);
    CHECK_EQ(result_of(sends_to_no_socket), -ENOTSOCK);
    CHECK_EQ(write(idle[1], "abcd", 4), 4);
    CHECK_EQ(result_of(receives), 4);
    CHECK_EQ(shutdown(idle[1], SHUT_WR), 0);
    CHECK_EQ(result_of(receives), 0);
    CHECK_EQ(close(full[0]), 0);
    CHECK_EQ(result_of(sends), -EPIPE); // and no signal
    return 0;
}
