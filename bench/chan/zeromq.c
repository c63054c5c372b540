// SPDX-License-Identifier: BSD-2-Clause
// ZeroMQ: a pair of sockets within the process, and one as between processes.
#include "rows.h"

#if HAVE_ZEROMQ
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zmq.h>

static void *in_process[2], *between[2], *context, *near_end, *far_end;

static void use(void **ends, const char *name) {
    if (!context)
        BENCH_GOT(context = zmq_ctx_new());
    if (!ends[0]) {
        for (int i = 0; i < 2; i++)
            BENCH_GOT(ends[i] = zmq_socket(context, ZMQ_PAIR));
        BENCH_SYS(zmq_bind(ends[0], name));
        BENCH_SYS(zmq_connect(ends[1], name));
    }
    near_end = ends[0];
    far_end = ends[1];
}

static void ask(void *n) {
    char p[MESSAGE] = {0};
    for (long i = 0; i < *(long *)n; i++)
        BENCH_GOT(zmq_send(near_end, p, sizeof p, 0) == sizeof p && zmq_recv(near_end, p, sizeof p, 0) == sizeof p);
}

static void answer(void *n) {
    char p[MESSAGE];
    for (long i = 0; i < *(long *)n; i++)
        BENCH_GOT(zmq_recv(far_end, p, sizeof p, 0) == sizeof p && zmq_send(far_end, p, sizeof p, 0) == sizeof p);
}

static void send_all(void *n) {
    char p[MESSAGE] = {0};
    for (long i = 0; i < *(long *)n; i++)
        BENCH_GOT(zmq_send(near_end, p, sizeof p, 0) == sizeof p);
}

static void recv_all(void *n) {
    char p[MESSAGE];
    for (long i = 0; i < *(long *)n; i++)
        BENCH_GOT(zmq_recv(far_end, p, sizeof p, 0) == sizeof p);
}

double trip_zeromq(long n) {
    use(in_process, "inproc://fin-bench");
    return two_sides(ask, answer, &n, n);
}

double trip_zeromq_ipc(long n) {
    char name[64]; // of this process: another one that measures has its own
    snprintf(name, sizeof name, "ipc://@fin-bench-chan-%d", (int)getpid());
    use(between, name);
    return two_sides(ask, answer, &n, n);
}

double stream_zeromq(long n) {
    use(in_process, "inproc://fin-bench");
    return two_sides(send_all, recv_all, &n, n);
}

const bool have_zeromq = true;
#else
const bool have_zeromq = false;
double trip_zeromq(long n) { return (double)(0 * n); }
double trip_zeromq_ipc(long n) { return (double)(0 * n); }
double stream_zeromq(long n) { return (double)(0 * n); }
#endif
