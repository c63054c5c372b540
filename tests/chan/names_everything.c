// SPDX-License-Identifier: BSD-2-Clause
// A process that listens, with AWEs of several threads that accept in every form, and children of a fork that accept there,
// too, and are killed; and one with AWEs that connect. Both are cancelled at random, and lack descriptors. The listener is
// closed while clients are in line, and listens there again. In the end nobody is cancelled: then each client is served, and
// it is told to both sides alike; and nothing is left over, nor the name.
#include "operations.h"

#include <sys/stat.h>

enum { CLIENTS = 5, SERVERS = 3, THREADS = 2, EPOCHS = 4, VISITS = 8, TRIES = 10, BYE = 1000, RUDE };
enum accept_form { ACCEPT, ACCEPT_NC, ACCEPT_ON, ACCEPT_FORMS };

static struct shared {
    unsigned epoch, served, visited;
    bool calm; // no child accepts any more
} *shared;

static struct fin_chan_listener *listener;
static char name[100], folder[64];
static unsigned client_count, server_count, thread_count, epochs;
static bool forks, is_path, with_rude, leaves; // leaves: somebody has left the name behind

// One that accepts or connects.
struct one {
    struct op op;
    struct fin_chan *chan;
    unsigned left; // times that it may be cancelled, or befallen
    bool leaves;   // it ends when its block is cancelled
};

static struct one *one_of(struct op *o) { return (struct one *)(void *)o; }

#define OURS(result, condition) HOLDS_OF("epoch", (int)READ(shared->epoch), (condition) || says(result), #condition)

static bool says(ssize_t result) {
    fprintf(stderr, "%s: kills %d starves %d forks %d path %d: %zd\n", in_b ? "B" : "A", kills, starves, forks, is_path,
            result);
    return false;
}

static enum style some_style(struct one *p) {
    if (!p->left)
        return AS_IT_IS;
    p->left--;
    if (starves && chance(6) == 0)
        starve();
    return chance(STYLES);
}

// ---- who serves

static void accept_in_form(struct op *o) {
    struct one *p = one_of(o);
    if (o->form == ACCEPT)
        o->result = fin_chan_accept(listener, &p->chan);
    else if (o->form == ACCEPT_NC)
        o->result = fin_chan_accept_nc(listener, &p->chan);
    else
        o->result = fin_chan_accept_on(listener, &p->chan, &o->on, ended_on, &o, sizeof o);
}

static ssize_t receive(struct fin_chan *c, uint32_t *number) {
    ssize_t n;
    while (is_short(n = fin_chan_recv_nc(c, number, sizeof *number)))
        after_shortage();
    return n;
}

// The client says its number, and hears it; then it has been served. One that was cancelled has gone. True: none follows.
static bool serve(struct one *p) {
    uint32_t number = 0;
    ssize_t n = receive(p->chan, &number);
    OURS(n, n == sizeof number || n == -ECONNRESET);
    if (n > 0 && number == RUDE) { // it is killed, whenever that is
        fin_chan_send_nc(p->chan, &number, sizeof number);
        n = receive(p->chan, &number);
        OURS(n, n == -ESHUTDOWN || n == -ECONNRESET);
    } else if (n > 0 && number != BYE) {
        ADD(shared->served, 1);
        OURS(n, fin_chan_send_nc(p->chan, &number, sizeof number) == 0);
        n = receive(p->chan, &number);
        OURS(n, n == -ESHUTDOWN);
    }
    OURS(n, fin_chan_close(p->chan) == 0);
    return number == BYE;
}

// True: it is to go on.
static bool accept_one(struct one *p) {
    enum style style = some_style(p);
    p->op.run = accept_in_form;
    do
        p->op.form = chance(ACCEPT_FORMS);
    while (p->op.form == ACCEPT_NC && (p->leaves || style != AS_IT_IS)); // nobody may come
    p->op.explicit = p->op.form == ACCEPT_ON;
    perform(&p->op, style);
    int r = (int)p->op.result;
    if (r == 0)
        return !serve(p);
    OURS(r, (r == -ECANCELED && (style != AS_IT_IS || p->leaves)) || is_short(r));
    if (is_short(r))
        after_shortage();
    return !fin_cancelled();
}

static void accepts(void *leaves) {
    struct one *p = calloc(1, sizeof *p);
    p->leaves = leaves;
    p->left = p->leaves ? 1000 : chance(TRIES);
    while (accept_one(p))
        ;
    OURS(p->left, p->leaves || !fin_cancelled());
    free(p);
}

struct shift {
    unsigned servers, salt;
    bool last;
};

static void thread(void *shift) {
    const struct shift *s = shift;
    own_seed = seed * 53 + s->salt;
    fin_finish_as(all) {
        for (unsigned i = 0; i < s->servers; i++)
            fin_async_call(accepts, (void *)(intptr_t)!s->last);
        if (!s->last) {
            fin_sleep_nc(chance(3000) * FIN_US);
            fin_cancel_as(all);
        }
    }
}

// Several threads, some of whose AWEs accept.
static void serves(bool last) {
    struct fin_thread_handle h[THREADS];
    struct shift s[THREADS];
    for (unsigned i = 0; i < thread_count; i++)
        s[i] = (struct shift){server_count / thread_count + (i < server_count % thread_count), chance(1000), last};
    fin_finish {
        for (unsigned i = 1; i < thread_count; i++)
            CHECK_EQ(fin_thread_start(&h[i], thread, &s[i]), 0);
        thread(&s[0]);
        for (unsigned i = 1; i < thread_count; i++)
            fin_thread_join_nc(&h[i]);
    }
}

// It accepts, too, for a while; it ends, or is killed.
static pid_t start_child(void) {
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid != 0)
        return pid;
    signal(SIGALRM, hangs);
    alarm(50);
    own_seed = seed * 17 + READ(shared->epoch);
    thread_count = 1;
    serves(false);
    fin_chan_listener_close(listener);
    exit(0);
}

static void end_child(pid_t pid) {
    int status;
    if (kills) {
        usleep(chance(3000));
        kill(pid, SIGKILL);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(status == 0 || (kills && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}

static void one_epoch(unsigned epoch) {
    struct fin_chan_options options = {chance(2) ? 4096 : 0, chance(2) ? FIN_CHAN_SHARED : 0};
    bool last = epoch == epochs, has_child = forks && !last && chance(3);
    int r;
    while ((r = fin_chan_listen(&listener, name, &options)) == -EADDRINUSE && kills && !is_path)
        usleep(1000); // a child that was killed has it until the kernel lets go of its ring, and the socket is its parent's
    OURS(r, r == 0);
    __atomic_store_n(&shared->epoch, epoch, __ATOMIC_RELEASE);
    pid_t child = has_child ? start_child() : 0;
    if (child && chance(2)) {
        end_child(child);
        child = 0;
    }
    serves(last);
    if (child)
        end_child(child);
    fin_chan_listener_close(listener);
}

// One that is killed while it accepts leaves its name.
static void leave_name(void) {
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        struct fin_chan *c;
        CHECK_EQ(fin_chan_listen(&listener, name, NULL), 0);
        kill(getppid(), SIGUSR1);
        fin_chan_accept_nc(listener, &c);
        _exit(1);
    }
    int got, status;
    sigset_t told;
    sigemptyset(&told);
    sigaddset(&told, SIGUSR1);
    CHECK(sigwait(&told, &got) == 0);
    usleep(chance(300));
    CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && (!is_path || access(name, F_OK) == 0));
}

static void be_a(void) {
    sigset_t told;
    sigemptyset(&told);
    sigaddset(&told, SIGUSR1);
    CHECK_EQ(sigprocmask(SIG_BLOCK, &told, NULL), 0);
    own_seed = seed * 31;
    if (leaves)
        leave_name();
    fin_sleep_nc(1);
    int before = left_over();
    for (unsigned epoch = 1; epoch <= epochs; epoch++) {
        one_epoch(epoch);
        if (chance(2))
            usleep(chance(500));
    }
    nothing_is_left(before);
    CHECK(!is_path || access(name, F_OK) != 0);
}

// ---- who connects

static void connect_in_form(struct op *o) {
    struct one *p = one_of(o);
    o->result = o->nc ? fin_chan_connect_nc(&p->chan, name, 0) : fin_chan_connect(&p->chan, name, 0);
}

static bool nobody_listens(int r) { return r == -ECONNREFUSED || r == -ENOENT || r == -ECONNRESET; }

// Before the last epoch the listener may be closed, and with it those in line.
static void connect_somehow(struct one *p) {
    do {
        unsigned epoch = READ(shared->epoch);
        enum style style = some_style(p);
        p->op.run = connect_in_form;
        p->op.nc = chance(3) == 0;
        perform(&p->op, style);
        int r = (int)p->op.result;
        OURS(r, r == 0 || (r == -ECANCELED && style != AS_IT_IS && !p->op.nc) || is_short(r) ||
                    (nobody_listens(r) && epoch < epochs));
        if (r != 0)
            after_shortage();
    } while (p->op.result != 0);
}

// False: who served it was killed.
static bool visit(struct one *p, uint32_t number) {
    uint32_t heard;
    connect_somehow(p);
    ssize_t r = fin_chan_send_nc(p->chan, &number, sizeof number);
    OURS(r, r == 0 || (kills && r == -EPIPE));
    if (r == 0 && number != BYE) {
        r = receive(p->chan, &heard);
        OURS(r, r == sizeof heard || (kills && r == -ECONNRESET));
        OURS(heard, r < 0 || heard == number);
    }
    CHECK_EQ(fin_chan_close(p->chan), 0);
    return r >= 0;
}

static void visits(void *salt) {
    struct one *p = calloc(1, sizeof *p);
    for (uint32_t n = 0; n < VISITS; n++) {
        p->left = chance(2) ? chance(TRIES) : 0;
        if (visit(p, (uint32_t)(intptr_t)salt * VISITS + n))
            ADD(shared->visited, 1);
        if (chance(3) == 0)
            fin_sleep_nc(chance(1000) * FIN_US);
    }
    free(p);
}

// Another process, which connects until it is killed.
static pid_t start_rude(void) {
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid != 0)
        return pid;
    own_seed = seed * 7;
    starves = false;
    struct one p = {.left = TRIES};
    for (;;)
        visit(&p, RUDE);
}

static void end_rude(pid_t pid) {
    usleep(chance(4000));
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static void half(void *unused) {
    (void)unused;
    own_seed = seed * 91;
    fin_finish {
        for (unsigned i = 1; i < client_count; i += 2)
            fin_async_call(visits, (void *)(intptr_t)i);
    }
}

static void be_b(void) {
    struct fin_thread_handle h;
    in_b = true;
    own_seed = seed * 37;
    while (READ(shared->epoch) == 0)
        usleep(100);
    pid_t rude = with_rude ? start_rude() : 0;
    fin_sleep_nc(1);
    int before = left_over();
    CHECK_EQ(fin_thread_start(&h, half, NULL), 0);
    fin_finish {
        for (unsigned i = 0; i < client_count; i += 2)
            fin_async_call(visits, (void *)(intptr_t)i);
    }
    fin_thread_join_nc(&h);
    if (rude)
        end_rude(rude);
    struct one p = {.left = 0};
    while (READ(shared->epoch) < epochs)
        usleep(100);
    for (unsigned i = 0; i < server_count; i++)
        visit(&p, BYE);
    nothing_is_left(before);
}

// ---- rounds

static void hangs(int unused) {
    (void)unused;
    fprintf(stderr,
            "%s hangs: FIN_SEED=%u FIN_ROUNDS=1; epoch %u of %u, served %u visited %u of %u; servers %u threads %u\n",
            in_b ? "B" : "A", seed, shared->epoch, epochs, shared->served, shared->visited, client_count * VISITS,
            server_count, thread_count);
    fprintf(stderr, "kills %d starves %d forks %d path %d\n", kills, starves, forks, is_path);
    abort();
}

static void make_world(void) {
    unsigned state = seed * 2654435761u;
    next_random(&state);
    memset(shared, 0, sizeof *shared);
    client_count = 1 + pick(&state, CLIENTS);
    server_count = 1 + pick(&state, SERVERS);
    thread_count = 1 + pick(&state, THREADS);
    epochs = pick(&state, 3) ? 1 + pick(&state, EPOCHS) : 1;
    starves = pick(&state, 3) == 0;
    forks = !ON_TSAN && !on_valgrind() && pick(&state, 3) == 0;
    kills = forks && pick(&state, 2);
    leaves = pick(&state, 3) == 0;
    with_rude = pick(&state, 3) == 0;
    unsigned kind = pick(&state, 3);
    is_path = kind != 0;
    if (kind == 0)
        snprintf(name, sizeof name, "@fin-names-%d-%u", (int)getpid(), seed);
    else
        snprintf(name, sizeof name, "%s%s%u", kind == 1 ? folder : "", kind == 1 ? "/" : "", seed);
}

static void one_round(void) {
    make_world();
    pid_t pids[2] = {start(be_a), start(be_b)};
    await_both(pids, false);
    if (!kills)
        CHECK_EQ(shared->served, shared->visited);
    CHECK(shared->visited == client_count * VISITS || kills);
}

int main(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    snprintf(folder, sizeof folder, "/tmp/fin-names-%d", (int)getpid());
    CHECK_EQ(mkdir(folder, 0700), 0);
    CHECK_EQ(chdir(folder), 0);
    run_rounds(20, one_round);
    CHECK_EQ(rmdir(folder), 0);
    return 0;
}
