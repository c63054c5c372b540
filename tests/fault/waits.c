// SPDX-License-Identifier: BSD-2-Clause
// What blocks in the core: many stacks, explicit continuations that sleep and read, ids, time limits, cancellation; and a
// thread that sleeps in another's loop.
#define _GNU_SOURCE
#include <poll.h>

#include <fin/awe_id.h>
#include <fin/embed.h>
#include <fin/on.h>

#include "fault.h"

enum { MANY = 300 };
const int threads = 0;
void (*const prepare)(void) = NULL;

static int ended, pair[2];
static struct fin_on on[2];
static char text[8];

static void block(void *unused) {
    (void)unused;
    fin_yield();
    ended++;
}

static void many_stacks(void) {
    ended = 0;
    fin_finish {
        for (int i = 0; i < MANY; i++)
            fin_async_call(block, NULL);
    }
    CHECK_EQ(ended, MANY);
}

static void slept(void *state, int result) {
    (void)state;
    fine(result);
    ended++;
    fin_cont_end();
}

static void got(void *state, int n) {
    (void)state;
    if (fine(n))
        CHECK_EQ(n, 5);
    ended++;
    fin_cont_end();
}

static void start_sleep(void *state, int result) {
    (void)state;
    (void)result;
    fine(fin_sleep_on(&on[0], 1000, slept, NULL, 0));
    fin_cont_end();
}

static void start_read(void *state, int result) {
    (void)state;
    (void)result;
    fine(fin_recv_on(&on[1], pair[0], text, sizeof text, 0, got, NULL, 0));
    fin_cont_end();
}

static void explicit(void) {
    if (!fine_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)))
        return;
    ended = 0;
    fin_finish {
        struct fin_awe *a = fin_async_cont(start_sleep, NULL, 0), *b = fin_async_cont(start_read, NULL, 0);
        fine(a && b ? 0 : -ENOMEM);
        if (!fine(fin_sleep(1000)) || !fine(fin_send(pair[1], "hello", 5, 0)))
            fin_cancel();
    }
    CHECK(failed() || ended == 2);
    close(pair[0]);
    close(pair[1]);
}

static void ids(void) {
    uint32_t id[3];
    int n = 0;
    while (n < 3 && fine(fin_awe_id_create(&id[n])))
        n++;
    while (n > 0)
        CHECK_EQ(fin_awe_id_remove(id[--n]), 0);
}

static void sleep_long(void *unused) {
    (void)unused;
    int r = fin_sleep(3600 * FIN_S);
    CHECK(r < 0);
    fine(r == -ECANCELED ? 0 : r);
}

static void sleep_shortly(void *unused) {
    (void)unused;
    fine(fin_sleep(1000));
    ended++;
}

static void embedded(void) {
    struct pollfd p = {.fd = fin_embed_fd(), .events = POLLIN};
    if (!fine(p.fd))
        return;
    ended = 0;
    fin_finish {
        fin_async_call(sleep_shortly, NULL);
        while (!ended && fine(fin_embed_run()))
            if (!ended)
                poll(&p, 1, 1000);
    }
}

void scenario(void) {
    embedded();
    many_stacks();
    explicit();
    ids();
    fin_timeout(1000) {
        fin_async_call(sleep_long, NULL);
        fin_async_call(sleep_long, NULL);
    }
}
