// SPDX-License-Identifier: BSD-2-Clause
// Random operations by many AWEs of two or three threads, with stacks and without, on objects that they share, and by
// another thread; cancelled at random: by their blocks, by the blocks around these, by time, and because another thread
// asks. What each is told is compared with what is known: who has an object is alone there and has overtaken nobody,
// nothing is lost that was counted, who was told -ECANCELED was cancelled and has nothing, and all end.
//
//     stress SEED ROUNDS [counts]    others, and more; and how often each wait was granted and cancelled
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "stress_more.h"

// ---- clients

static void goes_on(struct client *c);

static void woken(void *state, int result) {
    struct client *c = *(struct client **)state;
    look_at(c);
    no_longer_waits(c);
    memset(&c->on, 0x5a, sizeof c->on); // it is the program's again
    HOLDS(!kept_in_frames(c));
    if (c->what == ITEM || c->what == ROOM)
        c->in_frames &= ~(1u << BUFFER);
    if (c->what == JOIN && result == 0) { // does not wait any more
        c->turn = now;
        fin_thread_join_nc(&c->thread);
        HOLDS(c->turn == now);
    }
    look_at(c);
    is_told(c, result);
    goes_on(c);
}

static void rests(void *state, int result) {
    struct client *c = *(struct client **)state;
    look_at(c);
    HOLDS(!c->in_frames && (result == 0 || result == -ECANCELED));
    goes_on(c);
}

// It runs on by itself.
static void begins(void *state, int result) {
    HOLDS(result == 0);
    goes_on(*(struct client **)state);
}

static void begins_with_stack(void *client) { goes_on(client); }

static struct client *new_client(struct group *g, unsigned *state) {
    struct client *c = &g->clients[g->used++];
    *c = (struct client){.group = g, .random = next_random(state), .ops = 1 + below(state, 16), .op = &idle, .what = WAITS};
    g->left++;
    o->began++;
    return c;
}

static void ends(struct client *c) {
    HOLDS(!c->has && !c->in_frames && !c->opened);
    o->ended++;
    if (--c->group->left == 0)
        fin_event_advance(&c->group->bell, 1);
    if (is_explicit())
        fin_cont_end();
}

// ---- finish blocks that an AWE without a stack is in from one step to a later one

static __thread struct client *opened[SLOTS];
enum { MOST = 12 };

static bool step_opens(struct client *c) {
    unsigned how = below(&c->random, 4), i = below(&c->random, SLOTS);
    uint64_t ns = below(&c->random, 100) * FIN_US;
    if (!is_explicit() || c->opened || opened[i]) {
        HOLDS(is_explicit() || fin_finish_open(&c->block) == -EINVAL);
        return false;
    }
    HOLDS((how == 0   ? fin_finish_open(&c->block)
           : how == 1 ? fin_finish_open_nc(&c->block)
           : how == 2 ? fin_timeout_open(&c->block, ns)
                      : fin_deadline_open(&c->block, fin_now() + ns)) == 0);
    HOLDS(how != 1 || !fin_cancelled());
    c->can_be_late = how > 1;
    c->opened = true;
    opened[i] = c;
    if (below(&c->random, 2) && c->group->used < MOST) {
        struct client *beside = new_client(c->group, &c->random);
        beside->beside = true;
        HOLDS(fin_async_cont_beside(begins, &beside, sizeof beside) != NULL);
    }
    return false;
}

static bool step_closes(struct client *c) {
    if (!c->opened)
        return false;
    if (c->phase == 0) {
        for (int i = 0; i < SLOTS; i++)
            opened[i] = opened[i] == c ? NULL : opened[i];
        int r = below(&c->random, 2) ? fin_finish_close(&c->block) : -EBUSY;
        HOLDS(r == 0 || r == -EBUSY || (r == 1 && c->can_be_late));
        if (r == -EBUSY) {
            then_waits(c, CLOSE, 1);
            return c->nc = true;
        }
    }
    c->opened = false;
    memset(&c->block, 0x5a, sizeof c->block);
    return false;
}

static bool step_cancels(struct client *c) {
    const struct client *other = opened[below(&c->random, SLOTS)];
    if (other) {
        fin_finish_cancel((struct fin_finish_on *)(uintptr_t)&other->block);
        look_at(c);
    }
    return false;
}

// ---- what a client does

static const struct op closes = {"close", step_closes};
static const struct op ops[] = {
    {"hold", step_holds},   {"hold", step_holds},       {"hold", step_holds},         {"move", step_moves},
    {"move", step_moves},   {"await", step_awaits},     {"receive", step_receives},   {"receive", step_receives},
    {"join", step_joins},   {"sleep", step_sleeps},     {"park", step_parks},         {"unpark", step_unparks},
    {"help", step_helps},   {"open", step_opens},       {"open", step_opens},         {"close", step_closes},
    {"cancel", step_cancels}, {"in frame", step_in_frame}, {"own", step_owns},
    {"doomed", step_is_doomed}, {"meddle", step_meddles}, {"meddle", step_meddles},
};

static bool takes_op(struct client *c) {
    if (c->ops > 1 && fin_cancelled() && !c->opened && below(&c->random, 2))
        c->ops = 1;
    if (c->ops == 0 && !c->opened)
        return false;
    c->op = c->ops ? &ops[below(&c->random, sizeof ops / sizeof *ops)] : &closes;
    c->ops -= c->ops > 0;
    c->phase = c->result = 0;
    return true;
}

// Returns where it keeps its stack.
static void takes_rest(struct client *c) {
    if (c->rested || below(&c->random, 4)) {
        c->rested = false;
        return;
    }
    unsigned how = below(&c->random, 6);
    uint64_t ns = below(&c->random, 20) * FIN_US;
    c->rested = true;
    c->turn = now;
    if (how == 0)
        refused(c, fin_sleep_on(&c->io, ns, rests, &c, sizeof c), c->in_frames);
    else if (how < 3)
        refused(c, fin_yield_on(rests, &c, sizeof c), c->in_frames);
    if (how == 3)
        fin_sleep(ns);
    else
        fin_yield();
    c->rested = false;
}

static void goes_on(struct client *c) {
    for (;;) {
        takes_rest(c);
        for (int i = 0; i < OBJECTS; i++)
            said_in_line(&o->lines[i]);
        if (c->op == &idle && !takes_op(c))
            break;
        look_at(c);
        if (c->op->step(c)) {
            waits(c);
        } else {
            HOLDS(!c->has && !c->in_frames);
            c->op = &idle;
        }
    }
    ends(c);
}

// ---- programs: groups of clients, and blocks of these

static void show(struct group *g, bool is_there) {
    fin_latch_acquire(&o->latch);
    for (int i = 0; i < SLOTS; i++)
        if (is_there ? o->groups[i] == NULL : o->groups[i] == g) {
            o->groups[i] = is_there ? g : NULL;
            break;
        }
    fin_latch_release(&o->latch);
}

static void pause_awhile(unsigned *state) {
    for (unsigned n = below(state, 10); n; n--)
        fin_yield();
    if (below(state, 4) == 0)
        fin_sleep(below(state, 100) * FIN_US);
}

static void group(unsigned *state) {
    struct group *const g = calloc(1, sizeof *g);
    g->clients = calloc(MOST, sizeof *g->clients);
    g->dies = below(state, 3) == 0;
    fin_event_init(&g->bell);
    fin_finish_as(all) {
        g->left = 1;
        fin_async {
            if (fin_event_await(&g->bell, 1) == 0)
                fin_cancel_as(all);
        };
        show(g, true);
        for (unsigned n = 1 + below(state, MOST - 4); n; n--) {
            struct client *c = new_client(g, state);
            unsigned how = below(state, 4);
            if (how == 0)
                fin_async_call(begins_with_stack, c);
            else if (how == 1)
                fin_async_eager_call(begins_with_stack, c);
            else
                HOLDS(fin_async_cont(begins, &c, sizeof c) != NULL);
        }
        pause_awhile(state);
        if (g->dies)
            fin_cancel_as(all);
        if (--g->left == 0)
            fin_event_advance(&g->bell, 1);
    }
    HOLDS(g->left == 0);
    show(g, false);
    memset(g->clients, 0x5a, MOST * sizeof *g->clients);
    free(g->clients);
    free(g);
}

struct program {
    unsigned state;
    int depth;
};

static void blocks(void *program);

static void block(unsigned *state, int depth) {
    struct program inner[2];
    for (int i = 0; i < 2; i++)
        inner[i] = (struct program){next_random(state), depth - 1};
    switch (depth > 0 ? below(state, 5) : 0) {
    case 0:
        group(state);
        break;
    case 1:
        fin_timeout(below(state, 300) * FIN_US) {
            group(state);
            group(state);
        }
        break;
    case 2:
        fin_deadline(fin_now() + below(state, 300) * FIN_US) {
            for (int i = 0; i < 2; i++)
                fin_async_call(blocks, &inner[i]);
            pause_awhile(state);
        }
        break;
    case 3:
        fin_finish {
            for (int i = 0; i < 2; i++)
                fin_async_eager_call(blocks, &inner[i]);
            pause_awhile(state);
            fin_cancel();
        }
        break;
    default:
        fin_finish_nc {
            group(state);
        }
    }
}

static void blocks(void *program) {
    struct program *p = program;
    for (int n = 3; n; n--)
        block(&p->state, p->depth);
}

// Those who wait for what only others bring about are not left alone.
static _Atomic int working;
static __thread bool over;

static void caretaker(void *state) {
    while (!over) {
        for (struct park *p = parks; p < parks + PARKS; p++)
            if (p->parked)
                unpark(p, state);
        fin_sleep_nc((1 + below(state, 60)) * FIN_US);
    }
}

static void worker(void *number) {
    enum { PROGRAMS = 3 };
    struct program all[PROGRAMS];
    me = (int)(intptr_t)number;
    unsigned state = seed + 77 * (unsigned)me;
    over = false;
    count_latched(TOGETHER);
    open_parks();
    fin_finish {
        fin_async_call(caretaker, &state);
        fin_finish {
            for (int i = 0; i < PROGRAMS; i++) {
                all[i] = (struct program){seed * 1000u + (unsigned)(me * PROGRAMS + i), 2};
                fin_async_call(blocks, &all[i]);
            }
        }
        over = true;
    }
    close_parks();
    working--;
}

// ---- the other thread

// Moves only where somebody waits for it and could not go on by himself, so that a wake-up that was lost is missed.
static void serve_buffer(unsigned *state) {
    struct place p;
    come(&o->lines[BUFFER], &p);
    fin_mutex_lock_nc(lock_of(BUFFER));
    get(&o->lines[BUFFER], &p);
    for (int side = 0; side < 2; side++)
        if (o->waiting[side] && must_wait(side)) {
            move_and_tell(!side, state);
            return;
        }
    leave(&o->lines[BUFFER]);
    fin_mutex_unlock(lock_of(BUFFER));
}

static void serve(unsigned *state) {
    int tokens = OWED + TOKENS;
    me = MAIN;
    count_latched(TOGETHER);
    for (unsigned n = 0; working > 0; n++) {
        advance(state);
        serve_buffer(state);
        give_any(state);
        wake_any(state);
        count_latched(1);
        if (below(state, 20) == 0)
            ring(state);
        if (n % 4 == 3 && tokens-- > 0)
            add_token();
        unsigned ns = below(state, 3) ? below(state, 40000) : 0;
        if (ns)
            nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
        else
            sched_yield();
    }
    while (tokens-- > 0)
        add_token();
}

static void one_round(void) {
    struct fin_thread_handle t[WORKERS];
    unsigned state = seed * 2654435761u;
    open_objects(&state);
    int workers = 2 + (int)below(&state, WORKERS - 1);
    threads_left = 6;
    working = workers;
    for (intptr_t i = 0; i < workers; i++)
        HOLDS(fin_thread_start(&t[i], worker, (void *)i) == 0);
    serve(&state);
    for (int i = 0; i < workers; i++)
        fin_thread_join_nc(&t[i]);
    all_clients += (unsigned)o->began;
    close_objects();
}

static void hangs(int unused) {
    (void)unused;
    fprintf(stderr, "hangs: seed %u: %ld of %ld clients have ended\n", seed, (long)o->ended, (long)o->began);
    abort();
}

// What never came about has not been tested.
static void check_coverage(bool shows) {
    for (int i = 0; i < WAITS; i++) {
        if (shows)
            printf("%s: granted %u, cancelled %u\n", names[i], granted[i], cancelled[i]);
        HOLDS(granted[i] > 0 && (cancelled[i] > 0 || i == CLOSE));
    }
    if (shows)
        printf("%u clients, %u refusals, %u told to run next\n", all_clients, refusals, led);
    HOLDS(refusals > 0 && led > 0);
}

// FIN_SEED=n FIN_ROUNDS=n in the environment: others, and more. An argument: also what has been covered is told.
int main(int argc, char **argv) {
    enum { ENOUGH = 5 };
    const char *first = getenv("FIN_SEED"), *many = getenv("FIN_ROUNDS");
    bool few = getenv("FIN_FEW");
    unsigned rounds = many ? (unsigned)atoi(many) : few ? 2 * ENOUGH : 50;
    (void)argv;
    seed = first ? (unsigned)atoi(first) : 1;
    signal(SIGALRM, hangs);
    for (unsigned round = 0; round < rounds; round++, seed++) {
        alarm(few ? 50 : 20);
        one_round();
    }
    if (rounds >= ENOUGH)
        check_coverage(argc > 1);
    return 0;
}
