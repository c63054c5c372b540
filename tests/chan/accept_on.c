// SPDX-License-Identifier: BSD-2-Clause
// Clients accepted with continuations: several acceptors at one name, without stacks and with; while nobody comes each holds
// nothing. A shortage is told, and the client stays in line. What an ended thread left behind does not keep others from
// accepting; a child accepts at its parent's name.
#include <pthread.h>
#include <sys/resource.h>

#include "chan.h"

enum { LOOPS = 3, CLIENTS = 40 };

struct door {
    struct fin_chan_on on;
    struct fin_chan *c;
    int accepted, result;
};

static struct fin_chan_listener *l;
static char name[64];
static struct door doors[LOOPS + 1];
static int served;

static void serve(void *chan) {
    struct fin_chan *c = chan;
    unsigned word;
    CHECK_EQ(fin_chan_recv_nc(c, &word, sizeof word), sizeof word);
    word++;
    CHECK_EQ(fin_chan_send_nc(c, &word, sizeof word), 0);
    CHECK_EQ(fin_chan_recv_nc(c, &word, sizeof word), -ESHUTDOWN);
    CHECK_EQ(fin_chan_close(c), 0);
    served++;
}

static void serve_on(void *state, int unused) {
    (void)unused;
    serve(*(struct fin_chan **)state);
    fin_cont_end();
}

static void accepted(void *state, int result) {
    struct door *d = *(struct door **)state;
    d->result = result;
    if (result != 0)
        fin_cont_end();
    d->accepted++;
    CHECK(fin_async_cont_beside(serve_on, &d->c, sizeof(struct fin_chan *)) != NULL);
    d->c = NULL;
    fin_chan_accept_on(l, &d->c, &d->on, accepted, &d, sizeof d);
    CHECK(false);
}

static void begin(void *state, int unused) {
    struct door *d = *(struct door **)state;
    (void)unused;
    fin_chan_accept_on(l, &d->c, &d->on, accepted, &d, sizeof d);
    CHECK(false);
}

static void start(struct fin_finish_block *block, int loops) {
    served = 0;
    for (int i = 0; i < loops; i++) {
        struct door *d = &doors[i];
        d->accepted = d->result = 0;
        CHECK(fin_cont_start_(block, begin, &d, sizeof d) != NULL);
    }
}

static void visit(void *unused) {
    struct fin_chan *c;
    unsigned word = 7;
    (void)unused;
    CHECK_EQ(fin_chan_connect(&c, name, 0), 0);
    CHECK_EQ(fin_chan_send(c, &word, sizeof word), 0);
    CHECK_EQ(fin_chan_recv(c, &word, sizeof word), sizeof word);
    CHECK_EQ(word, 8);
    CHECK_EQ(fin_chan_close(c), 0);
}

static void until(int n) {
    while (served < n)
        CHECK_EQ(fin_sleep(FIN_MS / 10), 0);
}

static void together(void) {
    struct fin_stats s;
    fin_finish {
        int before = open_descriptors();
        start(FIN_CONT_BLOCK_, LOOPS);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_stats(&s);
        CHECK_EQ(s.stacks_used, 1);
        CHECK_EQ(open_descriptors(), before);
        fin_finish {
            for (int i = 0; i < CLIENTS; i++)
                fin_async_call(visit, NULL);
        }
        until(CLIENTS);
        fin_finish {
            fin_async {
                for (int i = 0; i < CLIENTS; i++)
                    visit(NULL);
            };
            fin_async { // one with a stack among them
                struct fin_chan *c;
                CHECK_EQ(fin_chan_accept(l, &c), 0);
                serve(c);
            };
        }
        until(2 * CLIENTS);
        fin_cancel();
    }
    int sum = 0;
    for (int i = 0; i < LOOPS; i++) {
        CHECK_EQ(doors[i].result, -ECANCELED);
        sum += doors[i].accepted;
    }
    CHECK_EQ(sum, 2 * CLIENTS - 1);
    CHECK_EQ(served, 2 * CLIENTS);
}

// It is told, once for each call, and who was in line is served when there is room again.
static void shortage(void) {
    struct rlimit limit, low;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    fin_finish {
        CHECK_EQ(fin_sleep(1), 0);
        fin_async_call(visit, NULL);
        low = limit;
        low.rlim_cur = (rlim_t)dup(0);
        close((int)low.rlim_cur);
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
        fin_finish {
            start(FIN_CONT_BLOCK_, 1);
        }
        CHECK_EQ(doors[0].result, -EMFILE);
        low.rlim_cur += 3; // for what is made, and not for the client
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
        fin_finish {
            start(FIN_CONT_BLOCK_, 1);
        }
        CHECK_EQ(doors[0].result, -EMFILE);
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
        fin_finish {
            start(FIN_CONT_BLOCK_, 1);
            until(1);
            fin_cancel();
        }
    }
    CHECK_EQ(doors[0].accepted, 1);
}

static void never(void *state, int result) {
    (void)state, (void)result;
    CHECK(false);
}

static void refused(void *state, int unused) {
    struct door *d = &doors[0];
    char much[FIN_CONT_STATE + 1] = "";
    (void)state, (void)unused;
    CHECK_EQ(fin_chan_accept_on(l, &d->c, &d->on, never, much, sizeof much), -E2BIG);
    CHECK_EQ(fin_chan_accept_on(l, &d->c, &d->on, NULL, NULL, 0), -EINVAL);
    fin_finish {
        CHECK_EQ(fin_chan_accept_on(l, &d->c, &d->on, never, NULL, 0), -EBUSY);
    }
    fin_cont_end();
}

static void *exits(void *unused) {
    fin_finish {
        start(FIN_CONT_BLOCK_, LOOPS);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        pthread_exit(unused);
    }
    return unused;
}

static void left(void) {
    int before = open_descriptors();
    for (int i = 0; i < 4; i++) {
        pthread_t t;
        CHECK_EQ(pthread_create(&t, NULL, exits, NULL), 0);
        CHECK_EQ(pthread_join(t, NULL), 0);
    }
    CHECK_EQ(open_descriptors(), before);
    fin_finish {
        start(FIN_CONT_BLOCK_, 1);
        visit(NULL);
        until(1);
        fin_cancel();
    }
    CHECK_EQ(open_descriptors(), before);
}

static void serve_in_child(void) {
    fin_finish {
        start(FIN_CONT_BLOCK_, LOOPS);
        until(CLIENTS);
        fin_cancel();
    }
    _exit(0);
}

int main(void) {
    alarm(60);
    snprintf(name, sizeof name, "@accept_on-%d", (int)getpid());
    CHECK_EQ(fin_chan_listen(&l, name, NULL), 0);
    CHECK_EQ(fin_chan_accept_on(l, &doors[0].c, &doors[0].on, never, NULL, 0), -EINVAL); // not an AWE that could
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        serve_in_child();
    for (int i = 0; i < CLIENTS; i++)
        visit(NULL);
    ended_well(child);
    together();
    if (!on_valgrind()) // which accepts, and then closes what is beyond the limit
        shortage();
    fin_finish {
        CHECK(fin_async_cont(refused, NULL, 0) != NULL);
    }
    left();
    fin_chan_listener_close(l);
    return 0;
}
