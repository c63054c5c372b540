// SPDX-License-Identifier: BSD-2-Clause
// A shared end within a process is moved from one waitset to another while a thread takes messages with descriptors there:
// one looks whether there is a message, with the latch that keeps the end in its set, and the other takes the descriptors
// with the latch of the turn. Neither waits for the other.
#include <unistd.h>

#include "chan.h"

static struct fin_waitset *sets[2];
static unsigned messages;
static bool over;

static void handle(void *unused) { (void)unused; }

static void moves(void *unused) {
    (void)unused;
    for (unsigned i = 1; !__atomic_load_n(&over, __ATOMIC_RELAXED); i++)
        CHECK_EQ(fin_waitset_move(sets[i % 2], b), 0);
}

static void takes(void *unused) {
    (void)unused;
    for (unsigned taken = 0; taken < messages;) {
        char byte;
        int fd;
        unsigned count = 1;
        ssize_t n = fin_chan_try_recv_fds(b, &byte, 1, &fd, &count);
        CHECK(n == 1 || n == -EAGAIN);
        if (n != 1)
            continue;
        CHECK_EQ(count, 1);
        close(fd);
        taken++;
    }
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
}

int main(void) {
    struct fin_thread_handle mover, taker;
    alarm(60);
    messages = few(100000);
    open_kind(PAIR, 0, FIN_CHAN_SHARED);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(fin_waitset_new(&sets[i]), 0);
    CHECK_EQ(fin_waitset_add(sets[0], b, handle, NULL), 0);
    CHECK_EQ(fin_thread_start(&mover, moves, NULL), 0);
    CHECK_EQ(fin_thread_start(&taker, takes, NULL), 0);
    for (unsigned i = 0; i < messages; i++)
        CHECK_EQ(fin_chan_send_fds(a, "x", 1, &(int){STDERR_FILENO}, 1), 0);
    fin_thread_join_nc(&taker);
    fin_thread_join_nc(&mover);
    for (int i = 0; i < 2; i++)
        fin_waitset_close(sets[i]);
    close_both();
    return 0;
}
