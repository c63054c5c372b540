// SPDX-License-Identifier: BSD-2-Clause
// Random operations by many AWEs on two threads, on what they share, cancelled at random: by their blocks, by the blocks
// around these, by time. What each said is compared with what happened: what was sent arrives once, in order and whole; who
// was told -ECANCELED was cancelled, and has done nothing; all end, and no descriptor is lost.
// FIN_SEED=n FIN_ROUNDS=n in the environment: others, and more.
#define _GNU_SOURCE
#include "stress_others.h"

static const struct kind kinds[] = {
    {"send", take_sender, run_sender, run_sender_on, settle_sender},
    {"receive", take_receiver, run_receiver, run_receiver_on, settle_receiver},
    {"send", take_sender, run_sender, run_sender_on, settle_sender},
    {"receive", take_receiver, run_receiver, run_receiver_on, settle_receiver},
    {"change", take_change, run_change, NULL, settle_change},
    {"post", take_post, run_post, run_post_on, settle_post},
    {"fetch", take_fetch, run_fetch, run_fetch_on, settle_fetch},
    {"connect", take_connect, run_connect, run_connect_on, settle_connect},
    {"accept", take_accept, run_accept, run_accept_on, settle_accept},
    {"open", take_nothing, run_open, run_open_on, settle_descriptor},
    {"sum", take_sum, run_sum, run_sum_on, settle_sum},
    {"region", take_region, run_region, run_region_on, settle_region},
    {"record", take_record, run_record, run_record_on, settle_record},
    {"offload", take_nothing, run_offload, run_offload_on, settle_offload},
    {"poll", take_poll, run_poll, run_poll_on, settle_poll},
    {"sleep", take_time, run_sleep, run_sleep_on, settle_sleep},
};

// ---- programs: blocks of acts and of smaller programs

// The AWE has been told the result.
static void settle(struct act *a) {
    about = (struct about){a->kind->name, a->how, a->error, a->moved};
    HOLDS(a->error != -ECANCELED || fin_cancelled());
    a->kind->settle(a);
    free(a);
}

static void run(void *act) {
    struct act *a = act;
    a->kind->run(a);
    settle(a);
}

static void ended(void *state, int result) {
    struct act *a = *(struct act **)state;
    if (a->kind->run_on == run_accept_on || a->kind->run_on == run_open_on)
        a->fd = result;
    if (a->ran)
        a->error = result;
    else
        did(a, result);
    settle(a);
    fin_cont_end();
}

static void begin(void *state, int unused) {
    struct act *a = *(struct act **)state;
    (void)unused;
    HOLDS(a->kind->run_on(a) == 0 && a->is_void); // it returns only where nothing was to be done
    settle(a);
    fin_cont_end();
}

static struct act *new_act(unsigned *state) {
    struct act *a = malloc(sizeof *a);
    do {
        memset(a, 0, offsetof(struct act, data));
        a->random = next_random(state);
        a->kind = &kinds[below(state, sizeof kinds / sizeof *kinds)];
    } while (!a->kind->take(a));
    return a;
}

static void pause_awhile(unsigned *state) {
    for (unsigned n = below(state, 6); n; n--)
        fin_yield();
    unsigned n = below(state, 8);
    if (n < 4)
        fin_sleep(n ? below(state, 100000) : 1);
}

static void some_acts(unsigned *state) {
    fin_finish {
        for (unsigned n = 1 + below(state, 4); n; n--) {
            struct act *a = new_act(state);
            if (a->kind->run_on && below(state, 2))
                HOLDS(fin_async_cont(begin, &a, sizeof a) != NULL);
            else
                fin_async_call(run, a);
        }
        pause_awhile(state);
        fin_cancel();
    }
}

struct program {
    unsigned state;
    int depth;
};

static void steps(void *program);

// What it starts ends before it returns.
static void step(unsigned *state, int depth) {
    struct program inner[2];
    for (int i = 0; i < 2; i++)
        inner[i] = (struct program){next_random(state), depth - 1};
    switch (depth > 0 ? below(state, 5) : 0) {
    case 0:
        some_acts(state);
        break;
    case 1:
        fin_timeout(below(state, 200) * FIN_US) {
            some_acts(state);
            some_acts(state);
        }
        break;
    case 2:
        fin_deadline(fin_now() + below(state, 100) * FIN_US) {
            for (int i = 0; i < 2; i++)
                fin_async_call(steps, &inner[i]);
            pause_awhile(state);
        }
        break;
    case 3:
        fin_finish {
            for (int i = 0; i < 2; i++)
                fin_async_call(steps, &inner[i]);
            pause_awhile(state);
            fin_cancel();
        }
        break;
    default:
        fin_finish_nc {
            some_acts(state);
        }
    }
}

static void steps(void *program) {
    struct program *p = program;
    for (int n = 4; n; n--)
        step(&p->state, p->depth);
}

static void *thread(void *number) {
    enum { PROGRAMS = 8 };
    static struct program all[THREADS][PROGRAMS];
    int me = (int)(intptr_t)number;
    open_own(me);
    fin_finish {
        for (int i = 0; i < PROGRAMS; i++) {
            struct program *p = &all[me][i];
            *p = (struct program){seed * 1000u + (unsigned)(me * PROGRAMS + i), 2};
            fin_async_call(steps, p);
        }
    }
    close_own();
    return NULL;
}

static void one_round(void) {
    pthread_t other;
    unsigned state = seed;
    open_others();
    for (int i = 0; i < BOXES; i++)
        open_box(i);
    for (struct stream *s = streams; s < streams + STREAMS; s++)
        open_stream(s, &state);
    HOLDS(pthread_create(&other, NULL, thread, (void *)1) == 0);
    thread(NULL);
    pthread_join(other, NULL);
    for (struct stream *s = streams; s < streams + STREAMS; s++)
        close_stream(s);
    close_boxes();
    close_others();
}

static void hangs(int unused) {
    (void)unused;
    fprintf(stderr, "hangs: FIN_SEED=%u FIN_ROUNDS=1\n", seed);
    abort();
}

int main(void) {
    const char *first = getenv("FIN_SEED"), *many = getenv("FIN_ROUNDS");
    unsigned rounds = many ? (unsigned)atoi(many) : getenv("FIN_FEW") || on_valgrind() ? 2 : 10;
    int descriptors = 0;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, hangs);
    pattern_file = make_pattern(pattern, PATTERN);
    seed = first ? (unsigned)atoi(first) : 1;
    for (unsigned round = 0; round < rounds; round++, seed++) {
        alarm(50);
        one_round();
        if (round > 0)
            HOLDS(open_descriptors() == descriptors);
        descriptors = open_descriptors();
    }
    return 0;
}
