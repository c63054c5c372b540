// SPDX-License-Identifier: BSD-2-Clause
// The next event of a set, without its handler, awaited with continuations: who is told runs before any other AWE of the
// thread, so the message is still there, however many wait; beside such as wait with a stack, or dispatch. A set that always
// has an event lets others run; a shutdown ends all waits.
#include <pthread.h>

#include "chan.h"

enum { CHANNELS = 5, LOOPS = 3, MESSAGES = 3000 };

struct line {
    struct fin_chan *from, *to;
    unsigned sent, received;
};
struct loop {
    struct fin_chan_on on;
    void *event;
    int result;
};

static struct fin_waitset *w;
static struct line lines[CHANNELS];
static struct loop loops[LOOPS];
static unsigned received, seed = 5;

static void receive(struct line *l) {
    unsigned number;
    CHECK_EQ(fin_chan_try_recv(l->to, &number, sizeof number), sizeof number); // it is there
    CHECK_EQ(number, l->received);
    l->received++;
    received++;
}

static void next(void *state, int r) {
    struct loop *l = *(struct loop **)state;
    l->result = r;
    if (r != 0)
        fin_cont_end();
    receive(l->event);
    if (received % 8 == 1)
        fin_yield(); // as it has been received
    fin_waitset_next_on(w, &l->event, &l->on, next, &l, sizeof l);
    CHECK(false);
}

static void first(void *state, int unused) {
    struct loop *l = *(struct loop **)state;
    (void)unused;
    fin_waitset_next_on(w, &l->event, &l->on, next, &l, sizeof l);
    CHECK(false);
}

static void handle(void *line) { receive(line); }

static void with_stack(void *unused) {
    void *event;
    (void)unused;
    while (fin_waitset_next(w, &event) == 0)
        receive(event);
}

static void dispatches(void *unused) {
    (void)unused;
    while (fin_waitset_dispatch(w) == 0) {
    }
}

static void start(struct fin_finish_block *block) {
    for (int i = 0; i < LOOPS; i++) {
        struct loop *l = &loops[i];
        CHECK(fin_cont_start_(block, first, &l, sizeof l) != NULL);
    }
}

static void send_one(void) {
    struct line *l = &lines[next_random(&seed) % CHANNELS];
    CHECK_EQ(fin_chan_send_nc(l->from, &l->sent, sizeof l->sent), 0);
    l->sent++;
}

static void open_all(enum kind kind) {
    received = 0;
    CHECK_EQ(fin_waitset_new(&w), 0);
    for (int i = 0; i < CHANNELS; i++) {
        open_kind(kind, 0, 0);
        lines[i] = (struct line){.from = a, .to = b};
        CHECK_EQ(fin_waitset_add(w, b, handle, &lines[i]), 0);
    }
}

static void close_all(void) {
    fin_waitset_close(w);
    for (int i = 0; i < CHANNELS; i++) {
        CHECK_EQ(lines[i].received, lines[i].sent);
        CHECK_EQ(fin_chan_close(lines[i].from), 0);
        CHECK_EQ(fin_chan_close(lines[i].to), 0);
    }
}

// others: with a stack, as well. Some messages are there at once, others come when all sleep.
static void together(bool others) {
    unsigned messages = few(MESSAGES), sent = 0;
    received = 0;
    struct fin_stats s;
    fin_finish {
        start(FIN_CONT_BLOCK_);
        if (others) {
            fin_async_call(with_stack, NULL);
            fin_async_call(dispatches, NULL);
        }
        CHECK_EQ(fin_sleep_nc(FIN_MS), 0);
        fin_stats(&s);
        if (!others)
            CHECK_EQ(s.stacks_used, 1);
        while (sent < messages) {
            for (unsigned n = next_random(&seed) % 6; n; n--, sent++)
                send_one();
            pause_a_while(&seed, 4, 16);
        }
        while (received < sent)
            CHECK_EQ(fin_sleep_nc(FIN_MS / 10), 0);
        fin_cancel();
    }
    for (int i = 0; i < LOOPS; i++)
        CHECK_EQ(loops[i].result, -ECANCELED);
}

// A body that has a stack until then: its owner goes on, and takes what is there; so who was told must have run before.
static void becomes_one(void *loop) {
    struct loop *l = loop;
    fin_waitset_next_on(w, &l->event, &l->on, next, &l, sizeof l);
    CHECK(false);
}

static void take_all(void) {
    for (struct line *l = lines; l < lines + CHANNELS; l++) {
        for (unsigned number; fin_chan_try_recv(l->to, &number, sizeof number) == sizeof number; received++)
            CHECK_EQ(number, l->received++);
    }
}

static void from_stack(void) {
    for (int eager = 0; eager < 2; eager++) {
        unsigned before = received;
        send_one();
        fin_finish {
            if (eager)
                fin_async_eager_call(becomes_one, &loops[0]);
            else
                fin_async_call(becomes_one, &loops[0]);
            take_all();
            send_one();
            while (received < before + 2)
                CHECK_EQ(fin_sleep_nc(FIN_MS / 10), 0);
            fin_cancel();
        }
        CHECK_EQ(loops[0].result, -ECANCELED);
    }
}

static struct fin_waitset_source sources[2];
static bool others_ran;
static unsigned events;

static void again(void *state, int r) {
    struct loop *l = *(struct loop **)state;
    CHECK_EQ(r, 0);
    CHECK(l->event == &sources[0]);
    CHECK(++events < 100000);
    if (others_ran)
        fin_cont_end();
    fin_waitset_trigger(&sources[0]);
    fin_waitset_next_on(w, &l->event, &l->on, again, &l, sizeof l);
    CHECK(false);
}

static void begin_again(void *state, int unused) {
    struct loop *l = *(struct loop **)state;
    (void)unused;
    fin_waitset_trigger(&sources[0]);
    fin_waitset_next_on(w, &l->event, &l->on, again, &l, sizeof l);
    CHECK(false);
}

static void always(void) {
    struct loop *l = &loops[0];
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add_source(w, &sources[0], handle, &sources[0]), 0);
    fin_finish {
        CHECK(fin_async_cont(begin_again, &l, sizeof l) != NULL);
        for (int i = 0; i < 20; i++)
            fin_yield();
        others_ran = true;
    }
    CHECK(events > 20);
    CHECK_EQ(fin_waitset_remove_source(w, &sources[0]), 0);
    fin_waitset_close(w);
}

static void never(void *state, int result) {
    (void)state, (void)result;
    CHECK(false);
}

static void refused(void *state, int unused) {
    struct loop *l = &loops[0];
    char much[FIN_CONT_STATE + 1] = "";
    (void)state, (void)unused;
    CHECK_EQ(fin_waitset_next_on(w, &l->event, &l->on, never, much, sizeof much), -E2BIG);
    CHECK_EQ(fin_waitset_next_on(w, &l->event, &l->on, NULL, NULL, 0), -EINVAL);
    fin_finish {
        CHECK_EQ(fin_waitset_next_on(w, &l->event, &l->on, never, NULL, 0), -EBUSY);
    }
    fin_cont_end();
}

static void *exits(void *unused) {
    fin_finish {
        start(FIN_CONT_BLOCK_);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        pthread_exit(unused);
    }
    return unused;
}

// A thread that ends with all three: what comes then is another's.
static void left(void) {
    pthread_t t;
    struct line *l = &lines[0];
    open_all(SOCKET);
    CHECK_EQ(pthread_create(&t, NULL, exits, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    CHECK_EQ(fin_chan_send(l->from, &l->sent, sizeof l->sent), 0);
    l->sent++;
    CHECK_EQ(fin_waitset_dispatch_nonblock(w), 0);
    CHECK_EQ(l->received, 1);
}

int main(void) {
    alarm(60);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        open_all(kind);
        together(false);
        together(true);
        from_stack();
        fin_finish {
            start(FIN_CONT_BLOCK_);
            fin_async_call(with_stack, NULL);
            CHECK_EQ(fin_sleep_nc(FIN_MS), 0);
            fin_waitset_shutdown(w);
        }
        for (int i = 0; i < LOOPS; i++)
            CHECK_EQ(loops[i].result, -ESHUTDOWN);
        close_all();
    }
    always();
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_next_on(w, &loops[0].event, &loops[0].on, never, NULL, 0), -EINVAL); // not an AWE that could
    fin_finish {
        CHECK(fin_async_cont(refused, NULL, 0) != NULL);
    }
    fin_waitset_close(w);
    left();
    return 0;
}
