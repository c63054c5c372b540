// SPDX-License-Identifier: BSD-2-Clause
// Bursts of all kinds of I/O by AWEs of several threads, in blocks that are cancelled at random; at the end of each burst
// all that was promised has to come while no timer runs and nothing is cancelled: so what is not told hangs. stress.c has
// something to do all the time, of which the next may tell what the last has not.
// FIN_SEED=n FIN_ROUNDS=n in the environment: others, and more.
#define _GNU_SOURCE
#include "everything_boxes.h"
#include "everything_ends.h"
#include "everything_others.h"

// TSan does not see what the kernel opens and closes for a ring, and takes a number for the file that it was before. What it
// says of calls with descriptors is that.
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) {
#define OF(call) "race:interceptor_" #call "\n"
    return OF(accept) OF(bind) OF(close) OF(connect) OF(epoll) OF(eventfd) OF(fcntl) OF(listen) OF(open) OF(pipe) OF(read)
        OF(recv) OF(send) OF(socket) OF(write);
}

static struct fin_event here, left; // threads that have come to the end of a burst; to that of the round
static unsigned takers_of[BOXES][THREADS], acceptors_of[LISTENERS][THREADS];
static bool with_children, with_streams, with_boxes, with_clients, with_others;

static void acts_once(void *unused) {
    switch (chance(with_children ? 9 : 8)) {
    case 0: has_work(unused); break;
    case 1: sleeps(unused); break;
    case 2: has_region(unused); break;
    case 3:
    case 4: has_victims(unused); break;
    case 5: has_chain(unused); break;
    case 6: connects_twice(unused); break;
    case 7: sleeps_long(unused); break;
    default: has_child(unused);
    }
}

static void burst(int me) {
    fin_finish {
        for (unsigned i = 0; i < stream_count; i++)
            if (streams[i].thread[1] == me && chance(4))
                fin_async_call(sends, &streams[i]);
        for (unsigned i = 0; i < stream_count; i++)
            if (chance(4) == 0)
                fin_async_call(forgets_number, &streams[i]);
        for (unsigned i = 0; i < box_count; i++)
            if (boxes[i].poster == me)
                fin_async_call(posts, &boxes[i]);
        for (unsigned n = with_clients ? chance(6) : 0; n; n--)
            fin_async_call(is_client, &listeners[chance(LISTENERS)]);
        for (unsigned n = with_others ? chance(4) : 0; n; n--)
            fin_async_call(acts_once, NULL);
        if (chance(2))
            pause_here();
    }
}

static void bursts(int me) {
    for (unsigned n = 1; n <= BURSTS; n++) {
        burst(me);
        if (chance(4) == 0)
            fin_sleep_nc(some_time());
        fin_event_advance(&here, 1);
        fin_event_await_nc(&here, n * thread_count);
    }
    fin_finish {
        for (unsigned i = 0; i < stream_count; i++)
            if (streams[i].thread[1] == me)
                end_stream(&streams[i]);
    }
    fin_event_advance(&left, 1);
    fin_event_await_nc(&left, thread_count);
}

static void thread(void *number) {
    int me = (int)(intptr_t)number;
    open_own(me);
    fin_finish {
        for (unsigned i = 0; i < stream_count; i++)
            if (streams[i].thread[0] == me)
                fin_async_call(receives, &streams[i]);
        for (unsigned i = 0; i < box_count; i++)
            for (unsigned n = takers_of[i][me]; n; n--)
                fin_async_call(takes, &boxes[i]);
        for (unsigned i = 0; i < LISTENERS; i++)
            for (unsigned n = acceptors_of[i][me]; n; n--)
                fin_async_call(accepts, &listeners[i]);
        bursts(me);
        over = true;
        fin_cancel();
    }
    close_acceptors();
    close_own();
}

// So many for each thread, but at least one.
static void share(unsigned of[THREADS]) {
    memset(of, 0, THREADS * sizeof *of);
    for (unsigned n = 1 + chance(4); n; n--)
        of[chance(thread_count)]++;
}

static void make_world(void) {
    own_seed = seed * 2654435761u;
    next_random(&own_seed);
    over = false;
    thread_count = 1 + chance(THREADS);
    HOLDS(fin_offload_threads(chance(3) ? 32 : 1 + chance(2)) > 0);
    with_children = chance(3) == 0;
    with_streams = chance(4);
    with_boxes = chance(4);
    with_clients = chance(2);
    with_others = chance(2);
    stream_count = with_streams ? 1 + chance(STREAMS) : 0;
    box_count = with_boxes ? 1 + chance(BOXES) : 0;
    region_count = 0;
    region_file = nameless_file();
    fin_event_init(&here);
    fin_event_init(&left);
    for (unsigned i = 0; i < stream_count; i++)
        open_stream(&streams[i]);
    for (unsigned i = 0; i < box_count; i++) {
        open_box(&boxes[i]);
        share(takers_of[i]);
    }
    for (unsigned i = 0; i < LISTENERS; i++) {
        open_listener(&listeners[i]);
        share(acceptors_of[i]);
    }
}

static void end_world(void) {
    for (unsigned i = 0; i < box_count; i++)
        close_box(&boxes[i]);
    for (unsigned i = 0; i < LISTENERS; i++)
        close_listener(&listeners[i]);
    close_both_ways();
    close(region_file);
    free_acts();
}

static void one_round(void) {
    make_world();
    on_all_threads(thread);
    end_world();
}

static void hangs(int unused) {
    (void)unused;
    fprintf(stderr, "hangs: FIN_SEED=%u FIN_ROUNDS=1; %u threads, %d at the end of a burst, %d of the round\n", seed,
            thread_count, (int)here.count, (int)left.count);
    for (struct stream *s = streams; s < streams + stream_count; s++)
        fprintf(stderr, "stream %c %d -> %d, threads %d -> %d: promised %zu sent %zu received %zu%s\n", s->kind, s->fd[1],
                s->fd[0], s->thread[1], s->thread[0], (size_t)s->promised, s->sent, s->received,
                s->receiver ? ", has a receiver" : "");
    for (struct box *b = boxes; b < boxes + box_count; b++)
        fprintf(stderr, "box %c %d: posted %d heard %d\n", b->kind, b->fd[0], (int)b->posted, (int)b->heard.count);
    for (struct listener *l = listeners; l < listeners + LISTENERS; l++)
        fprintf(stderr, "listener %d%s: clients %u served %d%s%s\n", l->fd, l->is_unix ? " (Unix)" : "", l->clients,
                (int)l->served.count, l->cancelled ? ", some have been cancelled" : "",
                poll(&(struct pollfd){.fd = l->fd, .events = POLLIN}, 1, 0) > 0 ? ", one is not accepted" : "");
    for (int i = 0; i < act_count && i < ACTS; i++)
        if (acts[i] && acts[i]->waits)
            show(acts[i]);
    abort();
}

// What the library closes by a thread is closed soon.
static void expect_descriptors(int n) {
    for (int i = 0; i < 20000 && open_descriptors() != n && !ON_TSAN; i++)
        usleep(100);
    if (open_descriptors() == n || ON_TSAN) // which may have begun to look for names meanwhile
        return;
    fprintf(stderr, "%d descriptors, not %d\n", open_descriptors(), n);
    hangs(0);
}

int main(void) {
    const char *first = getenv("FIN_SEED"), *many = getenv("FIN_ROUNDS");
    unsigned rounds = many ? (unsigned)atoi(many) : getenv("FIN_FEW") || on_valgrind() ? 3 : 40;
    int descriptors = 0;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, hangs);
    pattern_file = make_pattern(pattern, PATTERN);
    seed = first ? (unsigned)atoi(first) : 1;
    fin_abandon(&(struct fin_process){.fd = -1}); // its thread and its epoll stay
    open_what_stays();
    for (unsigned round = 0; round < rounds; round++, seed++) {
        alarm(30);
        one_round();
        if (round > 0)
            expect_descriptors(descriptors);
        else
            descriptors = settled_descriptors();
    }
    return 0;
}
