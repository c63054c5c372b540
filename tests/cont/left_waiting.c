// SPDX-License-Identifier: BSD-2-Clause
// A thread ends, which it must not do there (docs/core.md), while AWEs of it wait with continuations for the kernel, for one
// another, or for their turn: none runs any more, no descriptor stays, and what comes later meets nobody.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>

#include <fin/on.h>
#include <fin/sync_on.h>

#include "../io/net.h"

enum { EACH = 40 };

static struct place {
    struct fin_on on;
    struct fin_sync_on sync;
    char bytes[8];
} places[EACH];

static int streams[2], listener;
static struct sockaddr_in address;
static struct fin_mutex mutex;
static struct fin_sem sem = FIN_SEM_INIT(0);
static struct fin_event event;

static void never(void *p, int result) {
    (void)p;
    (void)result;
    CHECK(false);
}

static void only_the_first(void *p, int result) {
    CHECK(p != NULL && result == 0);
    fin_block_on(never, p, sizeof(void *));
}

static void waits(void *p, int result) {
    struct place *here = *(struct place **)p;
    (void)result;
    switch ((here - places) % 8) {
    case 0:
        fin_block_on(never, p, sizeof here);
        break;
    case 1:
        fin_sleep_on(&here->on, 3600 * FIN_S, never, NULL, 0);
        break;
    case 2:
        fin_recv_on(&here->on, streams[0], here->bytes, sizeof here->bytes, 0, never, NULL, 0);
        break;
    case 3:
        fin_accept_on(&here->on, listener, SOCK_CLOEXEC, never, NULL, 0);
        break;
    case 4:
        fin_poll_on(&here->on, streams[0], POLLIN, never, NULL, 0);
        break;
    case 5:
        fin_mutex_lock_on(&mutex, &here->sync, only_the_first, &p, sizeof p);
        break;
    case 6:
        fin_sem_wait_on_nc(&sem, &here->sync, never, NULL, 0);
        break;
    default:
        fin_event_await_on(&event, 1, &here->sync, never, NULL, 0);
    }
    CHECK(false);
}

// With some that were scheduled, with a stack to begin on or without, and some that have not begun.
static void begin(struct fin_finish_block *block) {
    struct place *p = places;
    struct fin_awe *a[2];
    for (; p < places + EACH; p++) {
        struct fin_awe *w = fin_cont_start_(block, waits, &p, sizeof p);
        if (p < places + 16 && (p - places) % 8 == 0)
            a[(p - places) / 8] = w;
    }
    for (int i = 0; i < 3; i++)
        fin_yield();
    CHECK_EQ(fin_stack_attach(a[0], fin_stack_alloc(), NULL), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(fin_schedule(a[i]), 0);
    p = places;
    CHECK(fin_cont_start_(block, never, &p, sizeof p) != NULL);
}

static void *exits(void *unused) {
    fin_finish {
        begin((struct fin_finish_block *)fin_cancel_must_be_inside_fin_finish);
        pthread_exit(unused);
    }
    return NULL;
}

static void *returns(void *unused) {
    static struct fin_finish_block block; // that nobody waits for
    fin_finish_enter_(&block, 0);
    begin(&block);
    return unused;
}

static void handled(void *unused) { returns(unused); }

static void run_thread(void *(*fn)(void *)) {
    fin_mutex_init(&mutex);
    fin_sem_init(&sem, 0);
    fin_event_init(&event);
    if (fn) {
        pthread_t t;
        CHECK_EQ(pthread_create(&t, NULL, fn, NULL), 0);
        CHECK_EQ(pthread_join(t, NULL), 0);
    } else {
        struct fin_thread_handle t;
        CHECK_EQ(fin_thread_start(&t, handled, NULL), 0);
        fin_thread_join_nc(&t);
    }
    char back[8];
    CHECK_EQ(write(streams[1], "abc", 3), 3);
    CHECK_EQ(recv(streams[0], back, sizeof back, MSG_DONTWAIT), 3);
    int client = tcp_connect(&address), server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(client >= 0 && server >= 0);
    close(client);
    close(server);
}

int main(void) {
    void *(*const ways[])(void *) = {exits, returns, NULL};
    alarm(60);
    stream_pair(streams);
    listener = tcp_listen(&address, 8);
    int before = open_descriptors();
    for (int i = 0; i < 30; i++)
        run_thread(ways[i % 3]);
    for (int i = 0; i < EACH; i++)
        CHECK_EQ(places[i].bytes[0], 0);
    CHECK_EQ(open_descriptors(), before);
    return 0;
}
