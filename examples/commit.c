// SPDX-License-Identifier: BSD-2-Clause
// Two-phase commit between processes, as Barrelfish uses it for its capabilities (ac 5.2, figure 10): the first process asks
// all others to prepare, waits for their votes, tells them the decision, and waits until they have it. Four times the same:
//
//   Seq     one after the other
//   Event   callbacks: what Seq keeps in its variables is in a structure, and the steps are functions that name the next
//   Async   Seq, with an async around what is done for each
//   Batch   Async, which first sends to all and then waits for all
//
//   commit [--short]
#include "peer.h"

enum { MOST = 7 };
enum kind { PREPARE = 1, YES, NO, COMMIT, ABORT, DONE };

struct message {
    uint64_t kind, capability;
};

static int others;
static struct peer peers[MOST];

// ---- the others

static FIN_BLOCKING void take_part(struct fin_chan *c, struct peer *unused) {
    struct message m;
    uint64_t prepared = 0;
    (void)unused;
    while (fin_chan_recv(c, &m, sizeof m) == sizeof m) {
        if (m.kind == PREPARE) {
            prepared = m.capability;
            m.kind = m.capability % 8 == 0 ? NO : YES;
        } else {
            EXPECT(m.capability == prepared);
            m.kind = DONE;
        }
        EXPECT(fin_chan_send(c, &m, sizeof m) == 0);
    }
    fin_chan_close(c);
}

static FIN_BLOCKING void tell(int i, enum kind kind, uint64_t capability) {
    EXPECT(fin_chan_send(peers[i].chan, &(struct message){kind, capability}, sizeof(struct message)) == 0);
}

static FIN_BLOCKING enum kind hear(int i) {
    struct message m;
    EXPECT(fin_chan_recv(peers[i].chan, &m, sizeof m) == sizeof m);
    return (enum kind)m.kind;
}

// ---- one after the other

static FIN_BLOCKING bool commit_seq(uint64_t capability) {
    bool yes = true;
    for (int i = 0; i < others; i++) {
        tell(i, PREPARE, capability);
        yes &= hear(i) == YES;
    }
    for (int i = 0; i < others; i++) {
        tell(i, yes ? COMMIT : ABORT, capability);
        EXPECT(hear(i) == DONE);
    }
    return yes;
}

// ---- the same with asyncs

static FIN_BLOCKING bool commit_async(uint64_t capability) {
    fin_shared bool yes = true;
    fin_finish {
        for (int i = 0; i < others; i++) {
            fin_async {
                int me = i;
                tell(me, PREPARE, capability);
                bool vote = hear(me) == YES;
                yes &= vote; // here, not before hear(): others have voted meanwhile
            };
        }
    }
    fin_finish {
        for (int i = 0; i < others; i++) {
            fin_async {
                int me = i;
                tell(me, yes ? COMMIT : ABORT, capability);
                EXPECT(hear(me) == DONE);
            };
        }
    }
    return yes;
}

// ---- in batches

static FIN_BLOCKING void tell_all(enum kind kind, uint64_t capability) {
    fin_finish {
        for (int i = 0; i < others; i++) {
            fin_async { tell(i, kind, capability); };
        }
    }
}

static FIN_BLOCKING bool hear_all(enum kind wanted) {
    fin_shared bool all = true;
    fin_finish {
        for (int i = 0; i < others; i++) {
            fin_async {
                bool good = hear(i) == wanted;
                all &= good;
            };
        }
    }
    return all;
}

static FIN_BLOCKING bool commit_batch(uint64_t capability) {
    tell_all(PREPARE, capability);
    bool yes = hear_all(YES);
    tell_all(yes ? COMMIT : ABORT, capability);
    EXPECT(hear_all(DONE));
    return yes;
}

// ---- with callbacks

struct operation {
    uint64_t capability;
    int waiting;
    bool yes, over;
    void (*next)(struct operation *, enum kind);
};

static struct operation *running;
static struct fin_waitset *events;

static void on_done(struct operation *o, enum kind kind) {
    EXPECT(kind == DONE);
    o->over = --o->waiting == 0;
}

static void begin_phase(struct operation *o, enum kind kind, void (*next)(struct operation *, enum kind)) {
    o->next = next;
    o->waiting = others;
    for (int i = 0; i < others; i++) // there is room for one message
        EXPECT(fin_chan_try_send(peers[i].chan, &(struct message){kind, o->capability}, sizeof(struct message)) == 0);
}

static void on_vote(struct operation *o, enum kind kind) {
    o->yes &= kind == YES;
    if (--o->waiting == 0)
        begin_phase(o, o->yes ? COMMIT : ABORT, on_done);
}

static void on_message(void *peer) {
    struct message m;
    struct peer *p = peer;
    if (fin_chan_try_recv(p->chan, &m, sizeof m) == sizeof m)
        running->next(running, (enum kind)m.kind);
}

static FIN_BLOCKING bool commit_event(uint64_t capability) {
    struct operation o = {.capability = capability, .yes = true};
    running = &o;
    begin_phase(&o, PREPARE, on_vote);
    while (!o.over)
        EXPECT(fin_waitset_dispatch(events) == 0);
    running = NULL;
    return o.yes;
}

static void listen_for_events(bool on) {
    if (on)
        EXPECT(fin_waitset_new(&events) == 0);
    for (int i = 0; i < others; i++)
        EXPECT((on ? fin_waitset_add(events, peers[i].chan, on_message, &peers[i])
                   : fin_waitset_remove(events, peers[i].chan)) == 0);
    if (!on)
        fin_waitset_close(events);
}

// ---- the measurement

static FIN_BLOCKING double microseconds(bool (*commit)(uint64_t), uint64_t times) {
    uint64_t start = fin_now();
    for (uint64_t i = 1; i <= times; i++)
        EXPECT(commit(i) == (i % 8 != 0 || others == 0));
    return (double)(fin_now() - start) / 1e3 / (double)times;
}

static FIN_BLOCKING void measure(const char *where, uint64_t times) {
    struct {
        const char *name;
        bool (*commit)(uint64_t);
    } const ways[] = {{"Seq", commit_seq}, {"Event", commit_event}, {"Async", commit_async}, {"Batch", commit_batch}};
    for (int i = 0; i < others; i++)
        peer_open(&peers[i]);
    printf("  %-28s %d others:", where, others);
    for (int w = 0; w < 4; w++) {
        bool event = ways[w].commit == commit_event;
        if (event)
            listen_for_events(true);
        microseconds(ways[w].commit, times / 10 + 1);
        printf("  %s %8.2f us", ways[w].name, microseconds(ways[w].commit, times));
        fflush(stdout);
        if (event)
            listen_for_events(false);
    }
    printf("\n");
    for (int i = 0; i < others; i++) {
        EXPECT(fin_chan_close(peers[i].chan) == 0);
        peer_ended(&peers[i]);
    }
}

struct setting {
    int others;
    bool preempted; // all on one processor: whoever waits has lost it
    uint64_t times;
};

// In a process of its own, because those that it starts are forked before it uses Fin.
static FIN_BLOCKING void one_setting(void *setting) {
    struct setting *s = setting;
    others = s->others;
    for (int i = 0; i < others; i++)
        peer_start(&peers[i], take_part, s->preempted ? 0 : 1 + i);
    run_on(0);
    measure(s->preempted ? "on one processor" : "spread over the processors", s->times);
}

// Waits for a process, which says itself what is wrong with it, and ends as it does where that is so.
static void end_as(pid_t pid) {
    int status;
    EXPECT(waitpid(pid, &status, 0) == pid);
    if (WIFSIGNALED(status))
        raise(WTERMSIG(status));
    if (status != 0)
        _exit(1);
}

int main(int argc, char **argv) {
    only_options(argc, argv, 1, OPTIONS("--short"));
    bool brief = has_option(argc, argv, "--short");
    printf("two-phase commit, time of an operation\n");
    for (int preempted = 0; preempted < 2; preempted++)
        for (int n = 1; n <= (brief ? 3 : MOST); n += 2) {
            struct setting s = {n, preempted, brief ? 20 : 2000};
            pid_t pid = start_process(one_setting, &s);
            EXPECT(pid > 0);
            end_as(pid);
        }
    return 0;
}
