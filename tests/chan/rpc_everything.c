// SPDX-License-Identifier: BSD-2-Clause
// Two processes, one of two threads, whose AWEs, with stacks and without, call one another by chance in every way there is,
// answer in every way, also nobody's call, and give up; in some rounds a thread closes its ends, or a process ends or is
// killed. Each call has its own answer or a defined error, and ends; all ids are free at the end; as many answers have come
// as were sent.
#include "rpc_everything_calls.h"
#include "rpc_everything_serve.h"

enum { LOCAL_LINK, THREADS_LINK, PROCESSES_LINK, OTHERS_LINK, LINKS };

struct link {
    struct fin_chan_options options;
    int fds[2];
    struct side ends[2];
};

static struct link links[LINKS];
static struct thread threads[3]; // of A; of A; of B
static uint64_t violent_after;
static bool forks;

// ---- what is by chance, before the processes part

static void make_link(int n, struct thread *one, struct thread *two, unsigned *state) {
    struct link *l = &links[n];
    static const size_t sizes[] = {4096, 4096, 8192, 65536};
    bool shared = n != LOCAL_LINK && below(state, 2);
    unsigned who = below(state, 4);
    l->options = (struct fin_chan_options){sizes[below(state, 4)], shared ? FIN_CHAN_SHARED : 0};
    for (int i = 0; i < 2; i++) {
        struct side *s = &l->ends[i];
        *s = (struct side){.thread = i ? two : one, .number = 2 * n + i, .shared = shared};
        s->seed = next_random(state) * 31;
        s->calls = who >= 2 || who == (unsigned)i;
        s->serves = s->peer_calls = who >= 2 || who != (unsigned)i;
        s->client = !s->serves && below(state, 2);
        s->base = (enum base)below(state, BASES);
        s->grouped = s->in_group = s->serves && s->base == GROUP;
    }
    if (n >= PROCESSES_LINK)
        CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, l->fds), 0);
}

static void make_world(void) {
    unsigned state = seed * 2654435761u;
    next_random(&state);
    violence = seed % 3 ? NO_VIOLENCE : 1 + below(&state, VIOLENCES - 1);
    violent_after = below(&state, 3000) * FIN_US;
    forks = below(&state, 4) == 0 && !ON_TSAN && !on_valgrind();
    for (int i = 0; i < 3; i++)
        threads[i] = (struct thread){.seed = next_random(&state)};
    threads[1].may_die = violence == THREAD_CLOSES;
    threads[2].may_die = violence == B_CLOSES;
    make_link(LOCAL_LINK, &threads[0], &threads[0], &state);
    make_link(THREADS_LINK, &threads[0], &threads[1], &state);
    make_link(PROCESSES_LINK, &threads[0], &threads[2], &state);
    make_link(OTHERS_LINK, &threads[1], &threads[2], &state);
}

// ---- the end of a side

static void serve_base(void *side) {
    static void (*const bases[])(void *) = {serve, serve_on, accept_all, accept_all_on, poll_all};
    struct side *s = side;
    if (s->base != GROUP)
        bases[s->base](s);
}

// A request that is never given up: its answer.
static uint64_t control(struct side *s, enum how how) {
    struct request q = {how, 8, ++s->serial, 0, sizeof q};
    uint64_t y = 0;
    ssize_t n = fin_rpc_call(s->rpc, &q, sizeof q, &y, sizeof y);
    if (n < 0) {
        ends(s, n);
        return 0;
    }
    EQUALS(s, n, sizeof y);
    if (how != FINAL)
        HOLDS(s, y == answer_to(q.x));
    s->got++;
    return y;
}

static bool lives(const struct side *s) { return !s->broken && !fin_cancelled(); }

// All that was asked is answered, also what nobody wants to know any more.
static void all_come(struct side *s) {
    while (lives(s) && in_use(s->rpc) > 0) {
        control(s, FLUSH);
        if (in_use(s->rpc) > 0)
            fin_sleep_nc(50 * FIN_US);
    }
}

static void conclude(struct side *s) {
    if (s->calls) {
        all_come(s);
        if (s->peer_calls && lives(s)) {
            control(s, DONE);
            while (lives(s) && !s->peer_done)
                fin_sleep_nc(50 * FIN_US);
            all_come(s);
        }
        s->final_asked = true;
        uint64_t answers = lives(s) ? control(s, FINAL) : 0;
        if (lives(s)) {
            EQUALS(s, in_use(s->rpc), 0);
            EQUALS(s, answers, s->got + s->lost + s->unheard + fin_rpc_strays(s->rpc));
        }
    }
    while (s->peer_calls && lives(s) && !s->final_told)
        fin_sleep_nc(50 * FIN_US);
}

// Where the other side is gone, all that wait are to be told so; nobody cancels them.
static void live(void *side) {
    struct side *s = side;
    s->hoard = malloc(HOARD_MOST * sizeof *s->hoard);
    fin_finish_as(servers) {
        if (s->serves) {
            fin_async_call(serve_base, s);
            for (unsigned n = chance(s, 4); n; n--)
                fin_async_call(come_and_go, s);
        }
        fin_finish {
            for (unsigned n = s->calls ? 1 + chance(s, 6) : 0; n; n--)
                fin_async_call(calls, s);
        }
        conclude(s);
        s->over = true;
        if (!s->broken)
            fin_cancel_as(servers);
    }
    while (s->in_group || s->in_work > 0)
        fin_sleep_nc(20 * FIN_US);
    EQUALS(s, fin_rpc_close(s->rpc), 0);
    free(s->hoard);
}

// ---- threads and processes

static void open_end(struct side *s, struct fin_chan *c) {
    EQUALS(s, fin_rpc_open(&s->rpc, c, s->client ? FIN_RPC_CLIENT : 0), 0);
}

static void dies_in_time(struct thread *t) {
    fin_sleep_nc(violent_after);
    for (int i = 0; i < 2 * LINKS; i++) {
        struct side *s = &links[i / 2].ends[i % 2];
        if (s->thread == t)
            s->over = true;
    }
}

static void lingers(void) {
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        usleep(next_random(&threads[0].seed) % 20000);
        _exit(0);
    }
}

static void thread_lives(void *thread) {
    struct thread *t = thread;
    struct group g = {.thread = t};
    fin_finish_as(all) {
        for (int i = 0; i < 2 * LINKS; i++) {
            struct side *s = &links[i / 2].ends[i % 2];
            if (s->thread != t)
                continue;
            if (s->grouped)
                g.sides[g.count++] = s;
            fin_async_call(live, s);
        }
        fin_async_call(poll_group, &g);
        if (forks && t != &threads[1]) {
            fin_sleep_nc(below(&t->seed, 2000) * FIN_US);
            lingers();
        }
        if (t->may_die) {
            dies_in_time(t);
            fin_cancel_as(all);
        } else if (t == &threads[2] && violence) {
            fin_sleep_nc(violent_after);
            if (violence == EXITS)
                _exit(0);
            if (violence == IS_KILLED)
                kill(getpid(), SIGKILL);
        }
    }
}

static void hangs(int unused) {
    (void)unused;
    fprintf(stderr, "hangs: FIN_SEED=%u FIN_ROUNDS=1\n", seed);
    for (int i = 0; i < 2 * LINKS; i++) {
        struct side *s = &links[i / 2].ends[i % 2];
        fprintf(stderr, "%d, side %d: calls %d serves %d base %d work %u over %d broken %d hoarded %u in use %u head %d\n",
                (int)getpid(), i, s->calls, s->serves, (int)s->base, s->in_work, s->over, s->broken, s->hoarded,
                s->rpc ? in_use(s->rpc) : 0, s->rpc ? s->rpc->head : 0);
    }
    abort();
}

static void be_a(void) {
    struct fin_thread_handle h;
    struct fin_chan *one, *two;
    struct link *l = &links[LOCAL_LINK];
    l->options.flags = FIN_CHAN_LOCAL;
    for (int i = 0; i < PROCESSES_LINK; i++) {
        CHECK_EQ(fin_chan_pair(&one, &two, &links[i].options), 0);
        open_end(&links[i].ends[0], one);
        open_end(&links[i].ends[1], two);
    }
    for (int i = PROCESSES_LINK; i < LINKS; i++) {
        close(links[i].fds[1]);
        CHECK_EQ(fin_chan_offer(&one, links[i].fds[0], &links[i].options), 0);
        open_end(&links[i].ends[0], one);
    }
    CHECK_EQ(fin_thread_start(&h, thread_lives, &threads[1]), 0);
    thread_lives(&threads[0]);
    fin_thread_join_nc(&h);
}

static void be_b(void) {
    struct fin_chan *c;
    for (int i = PROCESSES_LINK; i < LINKS; i++) {
        close(links[i].fds[0]);
        CHECK_EQ(fin_chan_take(&c, links[i].fds[1], links[i].options.flags), 0);
        open_end(&links[i].ends[1], c);
    }
    thread_lives(&threads[2]);
}

static void one_round(void) {
    make_world();
    pid_t pids[2] = {start(be_a), start(be_b)};
    for (int i = PROCESSES_LINK; i < LINKS; i++)
        for (int k = 0; k < 2; k++)
            close(links[i].fds[k]);
    await_both(pids, violence == IS_KILLED);
}

int main(void) {
    make_pattern();
    run_rounds(20, one_round);
    return 0;
}
