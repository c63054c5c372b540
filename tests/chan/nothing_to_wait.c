// SPDX-License-Identifier: BSD-2-Clause
// An operation without a stack that has nothing to wait for, being cancelled before it begins or, but for I/O, done at once:
// where it gives others a turn that is counted as a turn, not as a wait, and nothing of it as recognized.
#include <sys/socket.h>

#include "rpc.h"

enum { TIMES = 200 };

static int fds[2];
static char buffer[8];
static struct fin_on on;
static struct fin_sync_on sync_on;
static struct fin_chan_on chan_on;
static struct fin_rpc_on rpc_on;
static struct fin_sem sem = FIN_SEM_INIT(0);
static unsigned left;

static void ends(void *state, int result) {
    (void)state, (void)result;
    fin_cont_end();
}

// ---- what is done at once

static void takes_token(void *s, int result);
static void takes_token(void *s, int result) {
    (void)s;
    CHECK_EQ(result, 0);
    fin_sem_post(&sem);
    fin_sem_wait_on(&sem, &sync_on, left-- > 1 ? takes_token : ends, NULL, 0);
}

static void receives(void *s, int result) {
    (void)s;
    CHECK(result >= 0);
    CHECK_EQ(fin_chan_try_send(a, "x", 1), 0);
    fin_chan_recv_on(b, buffer, sizeof buffer, &chan_on, left-- > 1 ? receives : ends, NULL, 0);
}

// ---- in a cancelled block

static void cancelled(void *kind, int result) {
    CHECK(result == 0 || result == -ECANCELED);
    int k = *(int *)kind;
    fin_cont *next = left-- > 1 ? cancelled : ends;
    switch (k) {
    case 0:
        fin_recv_on(&on, fds[0], buffer, 1, 0, next, &k, sizeof k);
        break;
    case 1:
        fin_sleep_on(&on, FIN_S, next, &k, sizeof k);
        break;
    case 2:
        fin_send_at_on(&on, FIN_S, fds[0], buffer, 1, 0, next, &k, sizeof k);
        break;
    case 3:
        fin_sem_wait_on(&sem, &sync_on, next, &k, sizeof k);
        break;
    case 4:
        fin_chan_recv_on(b, buffer, sizeof buffer, &chan_on, next, &k, sizeof k);
        break;
    case 5:
        fin_chan_send_recv_on(b, "x", 1, buffer, sizeof buffer, &chan_on, next, &k, sizeof k);
        break;
    default:
        fin_rpc_accept_on(server, buffer, sizeof buffer, &(uint32_t){0}, &rpc_on, next, &k, sizeof k);
    }
}

enum { CANCELLED_KINDS = 7 };

static void is_counted(fin_cont *first, int kind, bool cancel) {
    struct fin_stats s;
    left = TIMES;
    fin_finish {
        if (cancel)
            fin_cancel();
        fin_async_cont(first, &kind, sizeof kind);
        fin_stats_clear();
        while (left > 0)
            fin_yield();
        fin_stats(&s);
    }
    for (int r = 0; r < FIN_REASONS; r++) {
        CHECK_EQ(s.blocks[r].recognized, 0);
        if (r != FIN_FOR_TURN) {
            CHECK_EQ(s.blocks[r].with_continuation, 0);
            CHECK_EQ(s.blocks[r].with_stack, 0);
        }
    }
    CHECK(s.blocks[FIN_FOR_TURN].with_continuation > 0);
}

int main(void) {
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    open_rpc(PAIR);
    for (int kind = 0; kind < CANCELLED_KINDS; kind++)
        is_counted(cancelled, kind, true);
    close_rpc();
    open_kind(PAIR, 4096, 0);
    is_counted(takes_token, 0, false);
    is_counted(receives, 0, false);
    close_both();
    return 0;
}
