// SPDX-License-Identifier: BSD-2-Clause
// What the examples over channels share: a process of our own, and a channel to it.
#ifndef FIN_EXAMPLES_PEER_H
#define FIN_EXAMPLES_PEER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sched.h>
#include <sys/socket.h>

#include <fin.h>

#include "example.h"

struct peer {
    void (*run)(struct fin_chan *, struct peer *);
    pid_t pid;
    int ours, theirs, processor; // processor: -1: any
    struct fin_chan *chan;
};

// The nth processor that we may use, around and around.
static inline void run_on(int n) {
    cpu_set_t all, one;
    EXPECT(sched_getaffinity(0, sizeof all, &all) == 0);
    n %= CPU_COUNT(&all);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && n-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
}

static inline FIN_BLOCKING void peer_main(void *arg) {
    struct peer *p = arg;
    struct fin_chan *c;
    close(p->ours);
    if (p->processor >= 0)
        run_on(p->processor);
    if (fin_chan_take(&c, p->theirs, 0) == 0)
        p->run(c, p);
}

// As start_process: before this thread's first use of Fin. peer_open follows when all have been started.
static inline void peer_start(struct peer *p, void (*run)(struct fin_chan *, struct peer *), int processor) {
    int fd[2];
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) == 0);
    *p = (struct peer){.run = run, .ours = fd[0], .theirs = fd[1], .processor = processor};
    p->pid = start_process(peer_main, p);
    EXPECT(p->pid > 0);
    close(p->theirs);
}

static inline void peer_open(struct peer *p) { EXPECT(fin_chan_offer(&p->chan, p->ours, NULL) == 0); }

// A service: an AWE that answers the requests of one channel, each with fn, until the other side closes it. While there is
// none it has no stack.
struct peer_service {
    struct fin_rpc_on on;
    struct fin_rpc *rpc;
    fin_rpc_fn *fn;
    void *arg;
};

static inline struct peer_service *peer_service(struct fin_chan *c, fin_rpc_fn *fn, void *arg) {
    struct peer_service *s = malloc(sizeof *s);
    EXPECT(s && fin_rpc_open(&s->rpc, c, 0) == 0);
    s->fn = fn;
    s->arg = arg;
    return s;
}

static inline void peer_service_ends(void *state, int why) {
    struct peer_service *s = *(struct peer_service **)state;
    if (why == -ECONNRESET) { // it was killed; whom it had started ends with it
        if (!was_started)
            fprintf(stderr, "a process at the other end was killed\n");
        exit(1);
    }
    EXPECT(why == -ESHUTDOWN && fin_rpc_close(s->rpc) == 0);
    free(s);
    fin_cont_end();
}

// fin_async_cont(serve_peer, &service, sizeof service)
static inline void serve_peer(void *state, int result) {
    struct peer_service *s = *(struct peer_service **)state;
    (void)result;
    fin_rpc_serve_on(s->rpc, s->fn, s->arg, &s->on, peer_service_ends, &s, sizeof s);
}

static inline void peer_ended(struct peer *p) {
    int status;
    EXPECT(waitpid(p->pid, &status, 0) == p->pid && status == 0);
}

#endif
