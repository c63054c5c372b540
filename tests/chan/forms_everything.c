// SPDX-License-Identifier: BSD-2-Clause
// Messages in every form there is, copied and in place, of no bytes to half a ring, with descriptors and regions, by several
// who send and several who receive at each end, over channels of a thread, of a process, and between two, which are opened
// in every way. What can be cancelled is cancelled at random; a process may be killed, fork, or lack descriptors. All comes
// in bursts, each of which ends when nothing is cancelled any more and no timer runs: so who is not told of a message, of
// room, or of an end hangs. What came is what was sent, in order, and only that; what was not sent, as the sender was told,
// did not come; and in the end no descriptor and no memory is left. moves_everything.c has those who wait in sets.
#include "forms_everything_open.h"
#include "forms_everything_receive.h"
#include "forms_everything_send.h"
#include "forms_everything_talk.h"

static struct role roles[MOST * 4 * ROLES];
static unsigned role_count;

// ---- a child of a fork

static void close_copies(void) {
    for (struct channel *c = channels; c < channels + channel_count; c++)
        for (int side = 0; side < 2; side++)
            if ((c->kind == SOCKET ? side == in_b : !in_b) && READ(c->end[side].left) == 0)
                return; // it may just be closed
    for (struct channel *c = channels; c < channels + channel_count; c++)
        for (int side = 0; side < 2; side++)
            if (c->kind == SOCKET ? side == in_b : !in_b)
                fin_chan_close(c->end[side].chan); // which does nothing where somebody was in a call
}

// It has copies of all that its parent has, and lasts longer.
static void forks_child(void) {
    static unsigned children;
    if (!READ(shared->b) || ADD(children, 1) > CHILDREN) // all ends are open: else a child may have what is under way
        return;
    bool closes = chance(2);
    char byte;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid != 0)
        return;
    for (unsigned i = 0; i < channel_count * 2; i++)
        for (int k = 0; k < 2; k++)
            close(channels[i / 2].way[i % 2].acks[k]);
    if (closes)
        close_copies();
    while (read(over[0], &byte, 1) < 0 && errno == EINTR)
        ;
    _exit(0);
}

// ---- roles

// The last one closes the end.
static void leave(struct role *r) {
    if (ADD(r->e->left, -1u) == 0)
        HOLDS(r->c, fin_chan_close(r->e->chan) == 0);
}

static void be(void *role) {
    struct role *r = role;
    if (!r->c->talks)
        (r->sends ? sends : receives)(r);
    else
        ((int)r->c->closes_first == r->d->side ? calls : answers)(r);
    leave(r);
}

static int thread_of(const struct role *r) { return r->sends ? r->e->sends_at : r->e->receives_at; }

static bool is_shared(const struct role *r) { return r->e->flags & FIN_CHAN_SHARED; }

static void thread(void *number) {
    int me = (int)(intptr_t)number;
    own_seed = seed * 977 + (unsigned)me * 7919 + in_b * 31;
    fin_finish {
        for (unsigned i = 0; i < role_count; i++)
            if (is_shared(&roles[i]) ? i % thread_count[in_b] == (unsigned)me : thread_of(&roles[i]) == me)
                fin_async_call(be, &roles[i]);
    }
}

static void add_role(struct channel *c, int side, bool is_sender, unsigned index) {
    struct role *r = &roles[role_count];
    *r = (struct role){.c = c, .e = &c->end[side], .index = index, .sends = is_sender};
    r->d = &c->way[is_sender ? side : !side];
    r->buffer = malloc(IN_ROOM);
    r->e->left++;
    role_count++;
}

static void add_roles(struct channel *c, int side) {
    if (c->talks) {
        add_role(c, side, true, 0);
        return;
    }
    for (unsigned i = 0; i < c->way[side].senders; i++)
        add_role(c, side, true, i);
    for (unsigned i = 0; i < c->way[!side].receivers; i++)
        add_role(c, side, false, i);
}

static void end_direction(struct direction *d) {
    bool received_here = d->c->kind == SOCKET ? d->side != in_b : !in_b;
    if (received_here && !d->c->talks && (int)d->c->closes_first == d->side)
        check_all(d, !kills);
    for (int k = 0; k < 2; k++)
        close(d->acks[k]);
}

static void kills_b(void *unused) {
    (void)unused;
    while (!READ(shared->b))
        usleep(100);
    fin_sleep_nc(chance(20000) * FIN_US);
    if (killed_after == 0)
        kill(READ(shared->b), SIGKILL);
}

static void run_threads(void) {
    struct fin_thread_handle h[THREADS];
    unsigned count = thread_count[in_b];
    fin_finish {
        if (kills && !in_b)
            fin_async_call(kills_b, NULL);
        for (unsigned i = 1; i < count; i++)
            CHECK_EQ(fin_thread_start(&h[i], thread, (void *)(intptr_t)i), 0);
        thread(NULL);
        for (unsigned i = 1; i < count; i++)
            fin_thread_join_nc(&h[i]);
    }
}

static void be_one(void) {
    own_seed = seed * 31 + in_b;
    close(over[1]);
    fin_sleep_nc(1);
    int before = left_over();
    for (struct channel *c = channels; c < channels + channel_count; c++)
        before -= c->kind == SOCKET && !c->named ? 2 : 0;
    open_all();
    for (struct channel *c = channels; c < channels + channel_count; c++)
        for (int side = 0; side < 2; side++)
            if (c->kind == SOCKET ? side == in_b : !in_b)
                add_roles(c, side);
    if (in_b)
        __atomic_store_n(&shared->b, getpid(), __ATOMIC_RELEASE);
    run_threads();
    fin_trace_stop();
    for (struct channel *c = channels; c < channels + channel_count; c++)
        for (int side = 0; side < 2; side++)
            end_direction(&c->way[side]);
    for (unsigned i = 0; i < role_count; i++)
        free(roles[i].buffer);
    nothing_is_left(before);
}

// Of a pipe the side that does not use an end has none: so it ends with who uses it.
static void close_acks(struct direction *d) {
    if (d->c->kind == SOCKET) {
        close(d->acks[d->side == in_b]);
        d->acks[d->side == in_b] = -1;
    } else if (in_b) {
        close(d->acks[0]);
        close(d->acks[1]);
        d->acks[0] = d->acks[1] = -1;
    }
}

static void begin(void) {
    signal(SIGPIPE, SIG_IGN);
    for (unsigned i = 0; i < channel_count * 2; i++)
        close_acks(&channels[i / 2].way[i % 2]);
    be_one();
}
static void be_a(void) { begin(); }
static void be_b(void) {
    in_b = true;
    begin();
}

// ---- what is by chance, before the processes part

static void make_end(struct channel *c, int side, unsigned flags, unsigned *state) {
    struct end *e = &c->end[side];
    unsigned threads = thread_count[c->kind == SOCKET ? side : 0];
    e->flags = flags;
    e->sends_at = (int)pick(state, threads);
    e->receives_at = c->kind == LOCAL || c->talks ? e->sends_at : (int)pick(state, threads);
}

static void make_directions(struct channel *c, unsigned *state) {
    for (int side = 0; side < 2; side++) {
        struct direction *d = &c->way[side];
        d->c = c;
        d->side = side;
        d->number = (unsigned)c->number * 2 + (unsigned)side;
        d->senders = pick(state, 2) ? 1 : 1 + pick(state, ROLES);
        d->receivers = pick(state, 2) ? 1 : 1 + pick(state, ROLES);
        fin_event_init(&d->acknowledged);
        fin_event_init(&d->all_marked);
        CHECK_EQ(pipe(d->acks), 0);
    }
}

// `narrow`: few packets fill it, so who sends descriptors, or a ring, finds no room.
static void make_sockets(struct channel *c, bool narrow) {
    const int least = 1;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, c->fds), 0);
    for (int i = 0; i < 2 && narrow; i++)
        CHECK_EQ(setsockopt(c->fds[i], SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
}

static void make_channel(struct channel *c, unsigned *state) {
    static const size_t sizes[] = {4096, 4096, 8192, 65536, 131072};
    bool flag = pick(state, 2);
    c->kind = ON_TSAN ? pick(state, 2) : pick(state, 5) % KINDS;
    c->talks = pick(state, 4) == 0;
    c->named = c->kind == SOCKET && pick(state, 2);
    c->offered_by_b = pick(state, 2);
    c->size = c->named ? named_size : sizes[pick(state, 5)];
    c->closes_first = pick(state, 2);
    make_end(c, 0, c->kind == LOCAL ? 0 : c->named ? named_flags : flag ? FIN_CHAN_SHARED : 0, state);
    make_end(c, 1, c->kind == LOCAL ? 0 : c->kind != SOCKET ? c->end[0].flags : pick(state, 2) ? FIN_CHAN_SHARED : 0, state);
    if (c->kind == LOCAL)
        c->end[1].sends_at = c->end[1].receives_at = c->end[0].sends_at;
    make_directions(c, state);
    named_any |= c->named;
    if (c->kind == SOCKET && !c->named)
        make_sockets(c, pick(state, 2));
}

static void make_world(void) {
    unsigned state = seed * 2654435761u;
    next_random(&state);
    memset(shared, 0, sizeof *shared);
    channel_count = 1 + pick(&state, MOST);
    for (int side = 0; side < 2; side++)
        thread_count[side] = pick(&state, 2) ? 1 : 1 + pick(&state, THREADS);
    kills = !ON_TSAN && pick(&state, 5) == 0;
    killed_after = pick(&state, 2) ? 1 + pick(&state, 800) : 0;
    starves = pick(&state, 4) == 0;
    forks = !ON_TSAN && !on_valgrind() && pick(&state, 4) == 0;
    traces = pick(&state, 4) == 0;
    with_fds = pick(&state, 2);
    with_regions = with_fds && pick(&state, 2);
    small_sizes = pick(&state, 2);
    named_flags = pick(&state, 2) ? FIN_CHAN_SHARED : 0;
    named_size = pick(&state, 2) ? 4096 : 65536;
    acceptor_count = 1 + pick(&state, ACCEPTORS);
    named_any = false;
    for (unsigned i = 0; i < channel_count; i++) {
        memset(&channels[i], 0, sizeof channels[i]);
        channels[i].number = (int)i;
        make_channel(&channels[i], &state);
    }
    CHECK_EQ(pipe(over), 0);
}

static void hangs(int unused) {
    (void)unused;
    fprintf(stderr, "%d hangs: FIN_SEED=%u FIN_ROUNDS=1; b %d kills %d %u starves %d forks %d fds %d threads %u %u\n",
            (int)getpid(), seed, in_b, kills, killed_after, starves, forks, with_fds, thread_count[0], thread_count[1]);
    for (unsigned i = 0; i < role_count; i++) {
        const struct role *r = &roles[i];
        fprintf(stderr, "channel %d kind %d named %d talks %d flags %x, %s %u: burst %u next %u left %u; sent %u seen %u\n",
                r->c->number, (int)r->c->kind, r->c->named, r->c->talks, r->e->flags, r->sends ? "sender" : "receiver",
                r->index, r->burst, r->next, r->left, sent(r->d, 0), r->last[0]);
    }
    abort();
}

static void close_in_parent(void) {
    for (struct channel *c = channels; c < channels + channel_count; c++)
        for (int k = 0; k < 2; k++) {
            if (c->kind == SOCKET && !c->named)
                close(c->fds[k]);
            for (int side = 0; side < 2; side++)
                close(c->way[side].acks[k]);
        }
    close(over[0]);
}

static void one_round(void) {
    make_world();
    pid_t pids[2] = {start(be_a), start(be_b)};
    close_in_parent();
    await_both(pids, kills);
    close(over[1]);
}

int main(void) {
    setenv("FIN_TRACE_EVENTS", "300", 1);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    for (int i = 0; i < FILES; i++) {
        struct stat s;
        files[i] = memfd_create("file", MFD_CLOEXEC);
        CHECK(files[i] >= 0 && fstat(files[i], &s) == 0);
        inodes[i] = s.st_ino;
    }
    run_rounds(20, one_round);
    return 0;
}
