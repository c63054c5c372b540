// SPDX-License-Identifier: BSD-2-Clause
// Messages while a thread runs steps, of another thread, and as of another process: they are found by looking, and their
// sender does not ring. As soon as the thread does something else the sender rings again: it sleeps, it enables alerts,
// others of it run, the set is no longer monitored. Steps that commit and steps that always run plainly; more channels than
// steps look at, and more than one step looks at; a channel that is removed, moved, closed or whose sender goes meanwhile;
// one whose message nobody handles.
#include "alert.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "chan/chan.h"
#include "chan/lines.h"
#include "core/runtime.h"

enum { ROUNDS = 50, MANY = FIN_LINES + 20, ABORTS = 3 };

static struct fin_chan *near[MANY], *far[MANY];
static unsigned got[MANY], sent[MANY], ended;
static struct fin_sem told;
static enum kind kind;
static bool plainly;
static unsigned work;

static void count(void *place) {
    unsigned i = (unsigned)((struct fin_chan **)place - near), number;
    ssize_t n = fin_chan_try_recv(near[i], &number, sizeof number);
    if (n == sizeof number) {
        CHECK_EQ(number, got[i]);
        got[i]++;
        handled++;
        CHECK_EQ(fin_sem_post(&told), 0);
    } else {
        CHECK_EQ(n, -ESHUTDOWN);
        ended++;
    }
}

static void step(void *unused) {
    (void)unused;
    if (plainly)
        syscall(SYS_getppid);
    work++;
}

static int one_step(void) {
    unsigned before = work;
    int aborts = fin_monitored_step(step, NULL);
    CHECK_EQ(work, before + 1);
    return aborts;
}

static void send_to(unsigned i) {
    CHECK_EQ(fin_chan_send_nc(far[i], &sent[i], sizeof sent[i]), 0);
    sent[i]++;
}

static unsigned lines(void) { return fin_here()->lines.count; }
static unsigned most_lines(void) { return kind == PAIR ? 16 : FIN_LINES; } // FEW in lines.c
static bool looks(void) { return fin_here()->lines.on; }

static void open_near(unsigned i) {
    open_kind(kind, 4096, 0);
    far[i] = a;
    near[i] = b;
    got[i] = sent[i] = 0;
    CHECK_EQ(fin_waitset_add(w, near[i], count, &near[i]), 0);
}

static void close_near(unsigned i) {
    CHECK_EQ(fin_chan_close(near[i]), 0);
    CHECK_EQ(fin_chan_close(far[i]), 0);
}

// The scenes run while an AWE serves a set of so many channels.
static void served(unsigned channels, void (*scenes)(void)) {
    handled = ended = 0;
    fin_sem_init(&told, 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    for (unsigned i = 0; i < channels; i++)
        open_near(i);
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        scenes();
        fin_cancel_as(all);
    }
    fin_waitset_close(w);
    CHECK_EQ(lines(), 0);
    for (unsigned i = 0; i < channels; i++)
        close_near(i);
}

static uint64_t rings(void) {
    struct ump_rx *rx = &near[0]->in.ump;
    fin_bell_empty(rx);
    return rx->meeting ? fin_event_read(&rx->meeting->message) : rx->rings;
}

static void no_ring(void) {
    one_step();
    CHECK_EQ(lines(), 1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        send_to(0);
        one_step();
        CHECK_EQ(handled, sent[0]);
        CHECK_EQ(lines(), 1);
    }
    CHECK_EQ(rings(), 0);
}

static void sleep_for_it(void) {
    fin_sem_wait_nc(&told);
    CHECK(!looks());
}

static void run_others(void) {
    for (unsigned i = 0; i < 2 * FIN_TICKS * FIN_LINES_LOOKS; i++)
        fin_yield();
    CHECK(!looks());
    while (handled != sent[0])
        fin_yield();
}

static void compute_for_it(void) { compute_until(sent[0]); }

static void no_longer(void) {
    fin_waitset_poll(w);
    CHECK_EQ(lines(), 0);
    fin_sem_wait_nc(&told);
    CHECK_EQ(fin_waitset_monitor(w), 0);
}

// One that was armed meanwhile is looked at again.
static void no_longer_for_a_moment(void) {
    one_step();
    CHECK_EQ(lines(), 1);
    fin_waitset_poll(w);
    CHECK_EQ(lines(), 0);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    one_step();
    CHECK_EQ(lines(), 1);
}

static void poll_it(void *unused) {
    (void)unused;
    fin_waitset_poll(w);
}

static void no_longer_for_another(void) {
    struct fin_thread_handle other;
    CHECK_EQ(fin_thread_start(&other, poll_it, NULL), 0);
    fin_thread_join_nc(&other);
    CHECK_EQ(lines(), 0);
    fin_sem_wait_nc(&told);
    CHECK_EQ(fin_waitset_monitor(w), 0);
}

static unsigned volatile turn;

// Also where the thread that steps is kept from running: the message comes once it no longer looks at lines.
static void send_after(void *steps) {
    const struct fin_runtime *rt = steps;
    while (__atomic_load_n(&rt->lines.on, __ATOMIC_RELAXED))
        CHECK_EQ(fin_sleep_nc(FIN_MS / 10), 0);
    CHECK_EQ(fin_sleep_nc(2 * FIN_MS), 0);
    unsigned number = turn;
    CHECK_EQ(fin_chan_send_nc(far[0], &number, sizeof number), 0);
}

// A message that comes when this thread has stepped, and then does that.
static void then(void (*does)(void)) {
    struct fin_thread_handle sender;
    for (unsigned i = 0; i < 5; i++) {
        one_step();
        CHECK_EQ(lines(), 1);
        turn = sent[0]++;
        CHECK_EQ(fin_thread_start(&sender, send_after, fin_here()), 0);
        does();
        fin_thread_join_nc(&sender);
        CHECK_EQ(handled, sent[0]);
        fin_sem_init(&told, 0);
    }
}

static void otherwise(void) {
    no_longer_for_a_moment();
    then(sleep_for_it);
    then(run_others);
    then(compute_for_it);
    then(no_longer);
    then(no_longer_for_another);
    one_step();
    CHECK_EQ(lines(), 1);
}

static void until_handled(unsigned n) {
    while (handled != n)
        one_step();
}

static void more_than_it_looks_at(void) {
    one_step();
    CHECK_EQ(lines(), most_lines());
    for (unsigned r = 1; r <= ROUNDS; r++) {
        for (unsigned i = 0; i < MANY; i++)
            send_to(i);
        until_handled(r * MANY);
        CHECK(lines() <= most_lines());
    }
    for (unsigned i = 0; i < MANY; i += 2)
        CHECK_EQ(fin_waitset_remove(w, near[i]), 0);
    CHECK(lines() <= MANY / 2);
    for (unsigned i = 1; i < MANY; i += 2)
        send_to(i);
    until_handled(ROUNDS * MANY + MANY / 2);
}

// Steps that are short look at a few of many lines: a message is found when its line has its turn.
static void by_turns(void) {
    struct fin_lines *l = &fin_here()->lines;
    unsigned late = 0;
    one_step();
    CHECK_EQ(lines(), most_lines());
    for (unsigned i = 0; i < FIN_LINES; i++) {
        unsigned steps = 0;
        l->share = FIN_LINES_LEAST;
        l->steps = UINT16_MAX; // and are not timed
        for (send_to(i); handled == i; steps++)
            one_step();
        CHECK(steps <= lines() / FIN_LINES_GROUP / FIN_LINES_LEAST + 3);
        late += steps > 1;
    }
    CHECK(late > 0);
}

// Whatever they take, none is looked at by too few.
static void timed(void) {
    struct fin_lines *l = &fin_here()->lines;
    l->steps = 0;
    for (unsigned i = 0; i < ROUNDS * 10; i++) {
        one_step();
        CHECK(l->share >= FIN_LINES_LEAST && l->share <= FIN_LINES / FIN_LINES_GROUP && l->next <= lines());
    }
    CHECK(l->steps > 0);
    l->timed = 0; // a step of hours
    l->steps = 0;
    one_step();
    CHECK_EQ(l->share, FIN_LINES / FIN_LINES_GROUP);
}

static void come_and_go(void) {
    struct fin_waitset *other;
    CHECK_EQ(fin_waitset_new(&other), 0);
    one_step();
    CHECK_EQ(lines(), 3);
    CHECK_EQ(fin_waitset_move(other, near[0]), 0);
    CHECK_EQ(lines(), 2);
    send_to(0);
    one_step();
    CHECK_EQ(handled, 0);
    CHECK_EQ(fin_waitset_dispatch(other), 0);
    CHECK_EQ(fin_waitset_move(w, near[0]), 0);
    CHECK_EQ(lines(), 3);
    for (unsigned i = 0; i < 3; i++)
        send_to(i);
    until_handled(4);
    close_near(1);
    CHECK_EQ(lines(), 2);
    open_near(1);
    one_step();
    CHECK_EQ(lines(), 3);
    send_to(1);
    send_to(2);
    CHECK_EQ(fin_chan_close(far[2]), 0);
    until_handled(6);
    while (!ended)
        one_step();
    open_kind(kind, 4096, 0);
    far[2] = a; // for who closes both
    CHECK_EQ(fin_chan_close(b), 0);
    fin_waitset_close(other);
}

// By somebody else than who serves. Of the first two the second was there before the first was received, so that no line
// changes for it; of the other two the first is not there any more when a step looks why its line has changed.
static void received_aside(void) {
    unsigned number;
    one_step();
    send_to(0);
    send_to(0);
    CHECK_EQ(fin_chan_try_recv(near[0], &number, sizeof number), sizeof number);
    got[0]++;
    until_handled(1);
    send_to(0);
    CHECK_EQ(fin_chan_try_recv(near[0], &number, sizeof number), sizeof number);
    got[0]++;
    one_step();
    send_to(0);
    until_handled(2);
    CHECK_EQ(got[0], 4);
}

static void open_unserved(void) {
    handled = 0;
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    open_near(0);
    one_step();
    CHECK_EQ(lines(), 1);
}

// Nothing is done for what nobody waits for, and steps go on.
static void nobody_serves(void) {
    open_unserved();
    send_to(0);
    one_step();
    for (unsigned i = 0; i < ROUNDS; i++)
        CHECK(one_step() <= ABORTS);
    CHECK_EQ(handled, 0);
    CHECK_EQ(fin_waitset_dispatch(w), 0);
    CHECK_EQ(handled, 1);
    fin_waitset_close(w);
    close_near(0);
}

// Nobody waits, and it is looked at without steps.
static void asked(void) {
    open_unserved();
    CHECK_EQ(fin_waitset_check(w), -EAGAIN);
    send_to(0);
    CHECK_EQ(fin_waitset_check(w), 0);
    CHECK_EQ(fin_waitset_dispatch_nonblock(w), 0);
    CHECK_EQ(handled, 1);
    one_step();
    send_to(0);
    CHECK_EQ(fin_waitset_dispatch_nonblock(w), 0);
    CHECK_EQ(handled, 2);
    fin_waitset_close(w);
    close_near(0);
}

static unsigned volatile waits_there;

static void serves_once(void *unused) {
    (void)unused;
    waits_there = 1;
    CHECK_EQ(fin_waitset_dispatch(w), 0);
}

// Another thread waits in the set. A sender within the process wakes that one itself, whatever this one does.
static void others_wait(bool before) {
    struct fin_thread_handle other;
    handled = waits_there = 0;
    CHECK_EQ(fin_waitset_new(&w), 0);
    open_near(0);
    if (!before)
        CHECK_EQ(fin_waitset_monitor(w), 0);
    one_step();
    CHECK_EQ(fin_thread_start(&other, serves_once, NULL), 0);
    while (!waits_there)
        sched_yield();
    usleep(5000); // it sleeps by now, as good as always
    if (before)
        CHECK_EQ(fin_waitset_monitor(w), 0);
    one_step();
    send_to(0);
    while (handled == 0)
        sched_yield();
    fin_thread_join_nc(&other);
    fin_waitset_close(w);
    close_near(0);
}

// Those between processes take no places from those of this process.
static void of_both_kinds(void) {
    enum { OTHERS = 30 };
    handled = 0;
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_monitor(w), 0);
    kind = SOCKET;
    for (unsigned i = 0; i < OTHERS; i++)
        open_near(i);
    one_step();
    kind = PAIR;
    for (unsigned i = OTHERS; i < MANY; i++)
        open_near(i);
    one_step();
    CHECK_EQ(lines(), OTHERS + most_lines());
    fin_waitset_close(w);
    for (unsigned i = 0; i < MANY; i++)
        close_near(i);
}

static unsigned messages;

static void sends_all(void *unused) {
    unsigned seed = 1;
    (void)unused;
    for (unsigned i = 0; i < messages; i++) {
        while (handled < i)
            sched_yield();
        if (next_random(&seed) % 4 == 0)
            CHECK_EQ(fin_sleep_nc(FIN_MS / 10), 0);
        for (unsigned volatile spin = next_random(&seed) % 3000; spin; spin--) {
        }
        CHECK_EQ(fin_chan_send_nc(far[0], &i, sizeof i), 0);
    }
}

// Whatever this thread does when one comes.
static void all_the_time(void) {
    struct fin_thread_handle sender;
    unsigned seed = 2;
    CHECK_EQ(fin_thread_start(&sender, sends_all, NULL), 0);
    while (handled < messages) {
        unsigned now = handled, what = next_random(&seed) % 8;
        for (unsigned n = next_random(&seed) % 64; n; n--)
            one_step();
        if (what == 0 && now == handled)
            fin_sem_wait_nc(&told);
        else if (what == 1 && now < messages)
            compute_until(now + 1);
        else if (what == 2)
            fin_yield();
        else if (what == 3)
            CHECK_EQ(fin_sleep_nc(1000), 0);
    }
    fin_thread_join_nc(&sender);
}

int main(void) {
    needs_signals();
    messages = few(3000);
    for (int i = 0; i < 4; i++) {
        plainly = i % 2;
        kind = i < 2 ? PAIR : SOCKET;
        served(1, no_ring);
        served(1, otherwise);
        served(1, received_aside);
        served(1, all_the_time);
        served(3, come_and_go);
        served(MANY, more_than_it_looks_at);
        served(FIN_LINES, by_turns);
        served(FIN_LINES, timed);
        nobody_serves();
        asked();
        if (kind == PAIR) {
            others_wait(false);
            others_wait(true);
        }
    }
    of_both_kinds();
    return 0;
}
