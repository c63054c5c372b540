// SPDX-License-Identifier: BSD-2-Clause
// Several wait for connections at one listener, and the first of them is cancelled. Until it is off the listener's list
// Linux tells it of all that come: none of them is left beside those that wait, in this thread or in others.
#include <fin/thread.h>

#include "accepts.h"

enum { OTHERS = CLIENTS };
enum how { WITH_STACK, WITHOUT_STACK, BY_ACCEPTOR, HOWS };

static struct fin_event waits, over, accepted; // waits: how many do

struct group {
    enum how how;
    int count, behind; // so many others
    struct fin_event *until;
    bool clients_come; // when it is cancelled
};

static void took(int fd) {
    if (fd == -ECANCELED)
        return;
    CHECK(fd >= 0);
    close(fd);
    fin_event_advance(&accepted, 1);
}

// It may accept what nobody has asked for.
static void takes_all(void *acceptor) {
    int fd;
    do
        took(fd = fin_acceptor_next(acceptor));
    while (fd >= 0);
}

// The cancel goes down with those that connect, before them.
static void group(void *group) {
    const struct group *g = group;
    struct fin_acceptor *a;
    struct fin_on on[OTHERS], *storage;
    CHECK_EQ(fin_acceptor_open(&a, listener, 0), 0);
    fin_finish {
        fin_event_await_nc(&waits, g->behind);
        for (int i = 0; i < g->count; i++) {
            storage = &on[i];
            if (g->how == WITHOUT_STACK)
                CHECK(fin_async_cont(begins, &storage, sizeof storage) != NULL);
            else if (g->how == WITH_STACK)
                fin_async_call(accepts, NULL);
            else
                fin_async_call(takes_all, a);
        }
        CHECK_EQ(fin_sleep_nc(FIN_MS / 10), 0); // all wait in the kernel
        fin_event_advance(&waits, g->count);
        fin_event_await_nc(g->until, 1);
        fin_cancel();
        for (int i = 0; g->clients_come && i < CLIENTS; i++)
            fin_async_call(connects, &clients[i]);
    }
    fin_event_advance(&accepted, fin_acceptor_close(a));
}

// Of the others so many wait in another thread.
static void one_is_cancelled(enum how how, enum how others, int elsewhere) {
    struct group first = {how, 1, 0, &comes, true}, here = {others, OTHERS - elsewhere, 1, &over, false},
                 there = {others, elsewhere, 1, &over, false};
    struct fin_thread_handle thread;
    struct fin_event *events[] = {&waits, &comes, &over, &accepted};
    for (int i = 0; i < 4; i++)
        fin_event_init(events[i]);
    CHECK_EQ(fin_thread_start(&thread, group, &there), 0);
    fin_finish {
        fin_async_call(group, &first);
        fin_async_call(group, &here);
        fin_event_await_nc(&waits, 1 + OTHERS);
        fin_event_advance(&comes, 1);
        fin_event_await_nc(&accepted, OTHERS);
        fin_event_advance(&over, 1);
    }
    fin_thread_join_nc(&thread);
    CHECK_EQ((int)accepted.count, OTHERS);
    close_clients();
}

int main(void) {
    for (is_tcp = false;; is_tcp = true) {
        listen_here();
        for (enum how how = 0; how < HOWS; how++)
            for (enum how others = 0; others < HOWS; others++)
                for (int elsewhere = 0; elsewhere <= OTHERS; elsewhere++)
                    one_is_cancelled(how, others, elsewhere);
        close(listener);
        if (is_tcp)
            return 0;
    }
}
