// SPDX-License-Identifier: BSD-2-Clause
// AWEs of several threads suspend, and are resumed by whoever is asked to, or by many at once: from their own thread and
// from others, by fin_schedule, directed yields, ids and <fin/thc.h>, by cancel items of blocks that are cancelled at
// random, by a thread without a runtime, while threads end and begin. Each runs once for each suspension, on its thread,
// and sees what its waker wrote; who tries in vain is told why. Each burst ends in a phase in which no timer runs and
// nothing is cancelled, and each thread sleeps where it has nothing to do: so a wake-up that is lost hangs.
#include "process.h"
#include "threads_everything.h"

// ---- servers: each wakes what lies in its thread's box

static void serve_saved(unsigned *state, struct contest *c) {
    HOLDS(c->thread == me && !c->resumed);
    c->e.awe = fin_awe_id_get(c->e.id);
    HOLDS(c->e.awe != NULL);
    contest_show(state, c);
    for (unsigned n = below(state, 4); n > 0 && !c->resumed; n--)
        fin_yield();
    if (below(state, 2) && !c->resumed) {
        c->directed++;
        HOLDS(fin_yield_to_id(c->e.id) == 0 && c->resumed);
    } else if (below(state, 2)) {
        c->unknown++;
        (below(state, 2) ? THCSchedule : THCScheduleBack)(c->e.awe);
    } else {
        race_directed(c);
    }
    c->refs--;
}

// Once it has been made to run it is gone.
static void serve_single(unsigned *state, struct entry *e) {
    e->payload = e->wanted * 3 + 1;
    unsigned how = below(state, me == STRANGER ? 2 : 5);
    if (how == 0)
        HOLDS(fin_schedule_front(e->awe) == 0);
    else if (how == 3)
        HOLDS(fin_yield_to(e->awe) == 0);
    else if (how == 4)
        (below(state, 2) ? THCSchedule : THCScheduleBack)(e->awe);
    else
        HOLDS(fin_schedule(e->awe) == 0);
}

static void handle(unsigned *state, struct entry *e) {
    handled++;
    passes(state, 100);
    if (e->kind == SINGLE)
        serve_single(state, e);
    else if (e->kind == CONTEST)
        race(state, (struct contest *)(void *)e, true);
    else
        serve_saved(state, (struct contest *)(void *)e);
}

static void release_latch(void *latch) { fin_latch_release(latch); }

static void server(void *arg) {
    unsigned state = *(unsigned *)arg;
    struct box *b = &boxes[me];
    for (;;) {
        fin_latch_acquire(&b->latch);
        struct entry *e = b->first;
        if (e && e->next && below(&state, 2))
            e = e->next;
        if (e) {
            box_take(b, e);
            fin_latch_release(&b->latch);
            if (below(&state, 8) == 0)
                fin_yield();
            handle(&state, e);
        } else if (b->stops) {
            b->open = false;
            fin_latch_release(&b->latch);
            return;
        } else {
            fin_suspend_then(&b->server, release_latch, &b->latch);
        }
    }
}

static void server_stop(int box) {
    struct box *b = &boxes[box];
    fin_latch_acquire(&b->latch);
    b->stops = true;
    struct fin_awe *waits = b->server;
    b->server = NULL;
    fin_latch_release(&b->latch);
    wake_server(waits);
}

// A thread without a runtime.
static void *stranger(void *arg) {
    unsigned state = *(unsigned *)arg;
    struct box *b = &boxes[STRANGER];
    me = STRANGER;
    for (bool over = false; !over;) {
        fin_latch_acquire(&b->latch);
        struct entry *e = b->first;
        if (e)
            box_take(b, e);
        else if (b->stops)
            over = !(b->open = false);
        fin_latch_release(&b->latch);
        struct contest *c = below(&state, 4) ? NULL : contest_find(&state);
        if (c)
            race(&state, c, false);
        if (e)
            handle(&state, e);
        else
            usleep(20);
    }
    return NULL;
}

// ---- clients

struct client {
    unsigned state;
    int depth;
};

static void group(unsigned *state, int depth);

static void client(void *arg) {
    struct client *c = arg;
    unsigned state = c->state;
    int depth = c->depth;
    for (unsigned n = 1 + below(&state, 8); n > 0; n--) {
        bool cancellable = !quiet && below(&state, 2);
        int box = (int)below(&state, BOXES);
        struct contest *other;
        switch (below(&state, 8)) {
        case 0:
        case 1:
        case 2:
            wait_single(&state, box, cancellable);
            break;
        case 3:
        case 4:
            wait_contested(&state, box, cancellable);
            break;
        case 5:
            wait_saved();
            break;
        case 6:
            other = contest_find(&state);
            if (other)
                race(&state, other, false);
            break;
        default:
            if (depth > 0)
                group(&state, depth - 1);
            else
                fin_yield();
        }
    }
}

#define CLIENTS                                                                                                             \
    for (int i = 0; i < n; i++) {                                                                                           \
        if (how == 0)                                                                                                       \
            fin_async_call(client, &c[i]);                                                                                  \
        else if (how == 1)                                                                                                  \
            fin_async_eager_call(client, &c[i]);                                                                            \
        else {                                                                                                              \
            void *const it = &c[i];                                                                                         \
            ASYNC({                                                                                                         \
                void *mine = it;                                                                                            \
                client(mine);                                                                                               \
            });                                                                                                             \
        }                                                                                                                   \
    }                                                                                                                       \
    for (unsigned k = below(state, 6); k > 0; k--)                                                                          \
        fin_yield()

static void group(unsigned *state, int depth) {
    struct client c[6];
    const int n = 1 + (int)below(state, 6);
    const unsigned how = below(state, 3), kind = quiet ? 0 : below(state, 6);
    for (int i = 0; i < n; i++) {
        c[i].state = next_random(state);
        c[i].depth = depth;
    }
    if (kind == 1) {
        fin_timeout(below(state, 300) * FIN_US) { CLIENTS; }
    } else if (kind == 2) {
        fin_finish_nc { CLIENTS; }
    } else {
        fin_finish {
            CLIENTS;
            if (kind > 3)
                fin_cancel();
        }
    }
}

// ---- threads

static struct thread {
    struct fin_thread_handle handle;
    unsigned state;
    int number;
} threads[BOXES];
static struct fin_event barrier;
static _Atomic unsigned guests;

static void guest(void *arg) {
    struct thread *t = arg;
    unsigned state = t->state;
    me = t->number;
    box_open(&boxes[me]);
    fin_finish {
        fin_async_call(server, &state);
        group(&state, 1);
        server_stop(me);
    }
}

// Others that come and go meanwhile.
static void invite(unsigned *state) {
    int i = LASTING + me % GUESTS;
    struct thread *t = &threads[i];
    t->state = next_random(state);
    t->number = i;
    HOLDS(fin_thread_start(&t->handle, guest, t) == 0);
    guests++;
    group(state, 1);
    fin_thread_join_nc(&t->handle);
}

// All that last have come so far.
static void meet(int n) {
    fin_event_advance(&barrier, 1);
    fin_event_await_nc(&barrier, (uint64_t)(n * LASTING));
}

enum { BURSTS = 3 };

static void lasting(void *arg) {
    struct thread *t = arg;
    unsigned state = t->state;
    me = t->number;
    box_open(&boxes[me]);
    fin_finish {
        fin_async_call(server, &state);
        meet(1);
        for (int i = 0; i < BURSTS; i++) {
            quiet = false;
            for (unsigned n = 1 + below(&state, 3); n > 0; n--)
                group(&state, 2);
            if (below(&state, 2))
                invite(&state);
            meet(2 + 2 * i);
            quiet = true;
            group(&state, 1);
            meet(3 + 2 * i);
        }
        server_stop(me);
    }
    struct fin_stats s;
    fin_stats(&s);
    HOLDS(s.stacks_used == 1);
}

static void one_round(void) {
    unsigned state = seed * 2654435761u;
    pthread_t other;
    put = handled = withdrawn = 0;
    fin_event_init(&barrier);
    box_open(&boxes[STRANGER]);
    threads[STRANGER].state = next_random(&state);
    HOLDS(pthread_create(&other, NULL, stranger, &threads[STRANGER].state) == 0);
    for (int i = 0; i < LASTING; i++) {
        threads[i].state = next_random(&state);
        threads[i].number = i;
        HOLDS(fin_thread_start(&threads[i].handle, lasting, &threads[i]) == 0);
    }
    for (int i = 0; i < LASTING; i++)
        fin_thread_join_nc(&threads[i].handle);
    server_stop(STRANGER);
    HOLDS(pthread_join(other, NULL) == 0);
    HOLDS(put == handled + withdrawn);
    for (int i = 0; i < TABLE; i++)
        HOLDS(!table[i].contest);
}

static void hangs(int unused) {
    (void)unused;
    fprintf(stderr, "hangs: seed %u: %ld put, %ld handled, %ld withdrawn\n", seed, put, handled, withdrawn);
    abort();
}

// FIN_SEED=n FIN_ROUNDS=n in the environment: others, and more. An argument: how much has come about.
int main(int argc, char **argv) {
    const char *first = getenv("FIN_SEED"), *many = getenv("FIN_ROUNDS");
    unsigned rounds = many ? (unsigned)atoi(many) : on_valgrind() ? 3 : getenv("FIN_FEW") || FIN_SANITIZED ? 15 : 50;
    long all = 0, back = 0;
    (void)argv;
    signal(SIGALRM, hangs);
    seed = first ? (unsigned)atoi(first) : 1;
    for (unsigned round = 0; round < rounds; round++, seed++) {
        alarm(60);
        one_round();
        all += put;
        back += withdrawn;
    }
    if (argc > 1)
        printf("%ld waits, %ld withdrawn, %ld contests, %ld races lost, %u guests\n", all, back, (long)contests,
               (long)lost_races, guests);
    return 0;
}
