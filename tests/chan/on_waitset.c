// SPDX-License-Identifier: BSD-2-Clause
// Waitsets dispatched with continuations, beside dispatchers with stacks, on one thread and on two: each event is handled
// once, cancels take none, a shutdown ends them all, and nobody sleeps on an event.
#include "chan.h"

enum { CHANNELS = 6, LOOPS = 4, MESSAGES = 2000 };

struct line {
    struct fin_chan *from, *to;
    unsigned sent, handled;
};
struct loop {
    struct fin_chan_on on;
    unsigned ended;
};

static struct fin_waitset *w;
static struct line lines[CHANNELS];
static struct loop loops[LOOPS];
static unsigned handled, cancelled, shut;
static struct fin_sem all_handled = FIN_SEM_INIT(0);
static unsigned wanted, seed = 5;

static void handle(void *arg) {
    struct line *l = arg;
    unsigned number;
    CHECK_EQ(fin_chan_recv_nc(l->to, &number, sizeof number), sizeof number);
    CHECK_EQ(number, l->handled);
    l->handled++;
    if (number % 16 == 3)
        fin_yield();
    if (__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED) == wanted)
        fin_sem_post(&all_handled);
}

static void next(void *state, int r) {
    struct loop *l = *(struct loop **)state;
    if (r != 0) {
        CHECK(r == -ECANCELED || r == -ESHUTDOWN);
        __atomic_add_fetch(r == -ECANCELED ? &cancelled : &shut, 1, __ATOMIC_RELAXED);
        l->ended++;
        fin_cont_end();
    }
    fin_waitset_dispatch_on(w, &l->on, next, &l, sizeof l);
    CHECK(false);
}

static void with_stack(void *unused) {
    (void)unused;
    while (fin_waitset_dispatch(w) == 0) {
    }
}

static void on_thread(void *unused) {
    (void)unused;
    static struct loop there;
    struct loop *l = &there;
    fin_finish {
        fin_async_cont(next, &l, sizeof l);
    }
    CHECK(l->ended > 0);
}

static void send_one(void) {
    struct line *l = &lines[next_random(&seed) % CHANNELS];
    CHECK_EQ(fin_chan_send_nc(l->from, &l->sent, sizeof l->sent), 0);
    l->sent++;
}

static void begin(enum kind kind, unsigned flags) {
    handled = cancelled = shut = 0;
    CHECK_EQ(fin_waitset_new(&w), 0);
    for (int i = 0; i < CHANNELS; i++) {
        open_kind(kind, 0, flags);
        lines[i] = (struct line){.from = a, .to = b};
        CHECK_EQ(fin_waitset_add(w, b, handle, &lines[i]), 0);
    }
}

static void end(void) {
    fin_waitset_close(w);
    for (int i = 0; i < CHANNELS; i++) {
        CHECK_EQ(lines[i].handled, lines[i].sent);
        CHECK_EQ(fin_chan_close(lines[i].from), 0);
        CHECK_EQ(fin_chan_close(lines[i].to), 0);
    }
}

static void cancels(unsigned rounds) {
    unsigned total = 0;
    for (unsigned i = 0; i < rounds; i++) {
        cancelled = 0;
        fin_finish {
            for (int k = 0; k < LOOPS; k++) {
                struct loop *l = &loops[k];
                CHECK(fin_async_cont(next, &l, sizeof l) != NULL);
            }
            for (unsigned n = next_random(&seed) % 5; n; n--) {
                send_one();
                total++;
                if (next_random(&seed) % 2)
                    fin_yield();
            }
            if (next_random(&seed) % 4 == 0)
                CHECK_EQ(fin_sleep_nc(1), 0);
            fin_cancel();
        }
        CHECK_EQ(cancelled, LOOPS);
    }
    while (handled < total) // what no loop was left for is still an event
        CHECK_EQ(fin_waitset_dispatch_nonblock(w), 0);
    CHECK_EQ(handled, total);
}

// Two dispatchers without a stack here and one with, and one on another thread, until the set is shut down.
static void together(bool thread) {
    struct fin_thread_handle t;
    wanted = few(MESSAGES);
    fin_finish {
        for (int k = 0; k < 2; k++) {
            struct loop *l = &loops[k];
            CHECK(fin_async_cont(next, &l, sizeof l) != NULL);
        }
        fin_async_call(with_stack, NULL);
        if (thread)
            CHECK_EQ(fin_thread_start(&t, on_thread, NULL), 0);
        for (unsigned i = 0; i < wanted; i++) {
            send_one();
            if (next_random(&seed) % 64 == 0)
                CHECK_EQ(fin_sleep_nc(1000), 0); // all of them sleep
        }
        fin_sem_wait_nc(&all_handled);
        fin_waitset_shutdown(w);
    }
    if (thread)
        fin_thread_join_nc(&t);
    CHECK_EQ(shut, thread ? 3 : 2);
    wanted = 0;
}

// It looks for some turns before it sleeps, as one with a stack does.
static void looks(int turns, bool sleeps) {
    struct loop *l = &loops[0];
    struct fin_stats s;
    shut = 0;
    fin_stats_clear();
    fin_finish {
        CHECK(fin_async_cont(next, &l, sizeof l) != NULL);
        for (int i = 0; i < turns; i++)
            fin_yield();
        fin_stats(&s);
        CHECK_EQ(s.blocks[FIN_FOR_MESSAGE].with_continuation, sleeps);
        CHECK(s.blocks[FIN_FOR_LOOK].with_continuation > 0);
        send_one();
        while (handled == 0)
            fin_yield();
        fin_waitset_shutdown(w);
    }
    CHECK_EQ(shut, 1);
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        begin(kind, 0);
        cancels(few(200));
        end();
        begin(kind, 0);
        together(false);
        end();
    }
    for (enum kind kind = PAIR; kind < KINDS; kind++) {
        begin(kind, FIN_CHAN_SHARED);
        together(true);
        end();
        for (int sleeps = 0; sleeps < 2; sleeps++) {
            begin(kind, 0);
            looks(sleeps ? 200 : 4, sleeps);
            end();
        }
    }
    return 0;
}
