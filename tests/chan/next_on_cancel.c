// SPDX-License-Identifier: BSD-2-Clause
// Waits for the next event without a stack, raced against cancellation: an event that no continuation was told of is still
// there, in each kind of channel and for a source.
#include <sched.h>

#include "chan.h"

enum { ROUNDS = 3000, LOOPS = 2 };

struct loop {
    struct fin_chan_on on;
    void *event;
    int result;
};

static struct fin_waitset *w;
static struct fin_waitset_source source;
static struct loop loops[LOOPS];
static unsigned sent, received, triggered, told, seed = 9;

static void handle(void *unused) {
    (void)unused;
    CHECK(false);
}

static void took(void *event) {
    unsigned number;
    if (event == &source) {
        told++;
        return;
    }
    CHECK(event == b);
    CHECK_EQ(fin_chan_try_recv(b, &number, sizeof number), sizeof number);
    CHECK_EQ(number, received);
    __atomic_store_n(&received, received + 1, __ATOMIC_RELAXED);
}

static void ended(void *state, int r) {
    struct loop *l = *(struct loop **)state;
    l->result = r;
    if (r == 0)
        took(l->event);
    fin_cont_end();
}

static void begin(void *state, int unused) {
    struct loop *l = *(struct loop **)state;
    (void)unused;
    l->result = 1;
    fin_waitset_next_on(w, &l->event, &l->on, ended, &l, sizeof l);
    CHECK(false);
}

static void something(void) {
    if (next_random(&seed) % 2) {
        CHECK_EQ(fin_chan_send_nc(a, &sent, sizeof sent), 0);
        sent++;
    }
    if (next_random(&seed) % 4 == 0) {
        triggered += triggered == told; // one event until it is told
        fin_waitset_trigger(&source);
    }
}

static void races(unsigned rounds) {
    unsigned done = 0, cancelled = 0;
    uint64_t aim = 2000;
    for (unsigned i = 0; i < rounds; i++) {
        unsigned before = done;
        fin_finish {
            fin_async {
                pause_a_while(&seed, 8, 8);
                something();
            };
            fin_finish {
                for (struct loop *l = loops; l < loops + LOOPS; l++)
                    CHECK(fin_async_cont(begin, &l, sizeof l) != NULL);
                if (next_random(&seed) % 2)
                    pause_a_while(&seed, 8, 4);
                else
                    CHECK_EQ(fin_sleep_nc(next_random(&seed) % aim), 0);
                fin_cancel();
            }
        }
        for (int k = 0; k < LOOPS; k++) {
            CHECK(loops[k].result == 0 || loops[k].result == -ECANCELED);
            ++*(loops[k].result == 0 ? &done : &cancelled);
        }
        while (sent - received > 20 || (i + 1 == rounds && (sent != received || told != triggered))) {
            void *event;
            CHECK_EQ(fin_waitset_next_nc(w, &event), 0);
            took(event);
        }
        aim = done != before ? aim - aim / 16 : aim + aim / 16;
        aim = aim < 100 ? 100 : aim > 400000 ? 400000 : aim;
    }
    CHECK_EQ(received, sent);
    CHECK_EQ(told, triggered);
    CHECK_EQ(fin_waitset_check(w), -EAGAIN);
}

// The other end in another thread.
static void sends(void *rounds) {
    unsigned seed_there = 4;
    for (unsigned i = 0; i < (unsigned)(uintptr_t)rounds; i++) {
        while (i - __atomic_load_n(&received, __ATOMIC_RELAXED) > 8 || next_random(&seed_there) % 4 == 0)
            sched_yield();
        CHECK_EQ(fin_chan_send_nc(a, &i, sizeof i), 0);
    }
}

static void races_with_thread(unsigned rounds) {
    struct fin_thread_handle t;
    unsigned cancelled = 0;
    CHECK_EQ(fin_thread_start(&t, sends, (void *)(uintptr_t)rounds), 0);
    while (received < rounds) {
        fin_finish {
            struct loop *l = &loops[0];
            CHECK(fin_async_cont(begin, &l, sizeof l) != NULL);
            pause_a_while(&seed, 8, 4);
            fin_cancel();
        }
        cancelled += loops[0].result == -ECANCELED;
    }
    CHECK(cancelled > 0);
    fin_thread_join_nc(&t);
    CHECK_EQ(fin_waitset_check(w), -EAGAIN);
}

int main(void) {
    alarm(60);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        sent = received = triggered = told = 0;
        open_kind(kind, 0, 0);
        CHECK_EQ(fin_waitset_new(&w), 0);
        CHECK_EQ(fin_waitset_add(w, b, handle, b), 0);
        CHECK_EQ(fin_waitset_add_source(w, &source, handle, &source), 0);
        races(few(ROUNDS));
        received = 0;
        if (kind != LOCAL)
            races_with_thread(few(ROUNDS));
        CHECK_EQ(fin_waitset_remove_source(w, &source), 0);
        fin_waitset_close(w);
        close_both();
    }
    return 0;
}
