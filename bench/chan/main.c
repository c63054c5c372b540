// SPDX-License-Identifier: BSD-2-Clause
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"

static void table_trip(void) {
    struct bench_row rows[] = {
        {"bare: a cache line each way, by hand", trip_bare, 2000},
        {"fin_chan between threads, blocking receive on both sides", trip_pair, 2000, "1274 (AC), 2780 (MPI)", 1, 1.15},
        {"fin_chan as between processes", trip_process, 2000, NULL, 1, 1.15},
        {"pipe", trip_pipe, 100},
        {"Unix socket", trip_socket, 100},
        {"ZeroMQ, a pair within the process", trip_zeromq, 50},
        {"ZeroMQ, a pair as between processes", trip_zeromq_ipc, 50},
    };
    bench_table("trip", "round trip of one line between two processors", "cycles", rows,
                BENCH_COUNT(rows) - (have_zeromq ? 0 : 2));
    if (!have_zeromq)
        bench_skip("ZeroMQ", "libzmq is not there");
    struct bench_row local[] = {
        {"fin_chan between AWEs of one thread", trip_local, 20000, NULL, 0, 0, 60},
        {"fin_rpc_call between AWEs of one thread", call_local, 20000},
    };
    bench_table("local", "round trip between two AWEs of one thread", "cycles", local, BENCH_COUNT(local));
    struct bench_row asleep[] = {
        {"futex", trip_futex, 50},
        {"fin_chan", trip_asleep, 50, NULL, 1, 1.2},
    };
    bench_table("asleep", "a sleeping receiver: from the send to the answer", "cycles", asleep, BENCH_COUNT(asleep));
}

// The papers' unit is messages in 10,000 cycles: 20, 15 and 17.
static void table_calls(void) {
    struct bench_row rows[] = {
        {"bare: a cache line each way, by hand", trip_bare, 2000},
        {"one after the other", call_sync, 2000, "500"},
        {"from 16 AWEs, lazy asyncs", call_many, 4000, "667"},
        {"from 16 AWEs, eager asyncs", call_many_eager, 4000, "588"},
    };
    bench_table("calls", "fin_rpc_call to another processor", "cycles", rows, BENCH_COUNT(rows));
}

static void table_stream(void) {
    struct bench_row rows[] = {
        {"bare: lines through a ring, by hand", stream_bare, 200000},
        {"fin_chan_send, fin_chan_recv of 56 bytes", stream_chan, 200000, NULL, 0, 0, 20},
        {"the same in place: reserve, commit, peek, release", stream_in_place, 50000},
        {"pipe, 64 bytes", stream_pipe, 2000},
        {"Unix socket, 64 bytes", stream_socket, 2000},
        {NULL},
        {NULL},
    };
    size_t count = BENCH_COUNT(rows) - 2;
    if (have_lockfree)
        rows[count++] = (struct bench_row){"boost::lockfree::spsc_queue of 64 bytes", stream_lockfree, 200000};
    if (have_zeromq)
        rows[count++] = (struct bench_row){"ZeroMQ, a pair within the process", stream_zeromq, 2000};
    bench_table("stream", "messages one way between two processors", "cycles", rows, count);
    if (!have_lockfree)
        bench_skip("boost::lockfree::spsc_queue", "Boost is not there");
    if (!have_zeromq)
        bench_skip("ZeroMQ", "libzmq is not there");
    struct bench_row large[] = {
        {"memcpy in and out, on one processor", stream_copy, 2000},
        {"bare: memcpy in here, out there, by hand", stream_large_bare, 2000, NULL, 1},
        {"fin_chan", stream_large, 2000, NULL, 1, 1.5},
        {"pipe", stream_pipe_large, 1000},
    };
    bench_table("large", "messages of 4 KiB one way", "cycles", large, BENCH_COUNT(large));
}

static void table_waits(void) {
    struct bench_row rows[] = {
        {"fin_waitset, 1 channel", waitset_1, 2000},
        {"fin_waitset, 30 channels", waitset_30, 2000},
        {"fin_waitset, 1,000 channels", waitset_1000, 2000},
        {"epoll, 1 eventfd", epoll_1, 500},
        {"epoll, 1,000 eventfds", epoll_1000, 500},
    };
    bench_table("waits", "send, find the event among so many, receive; one processor", "cycles", rows, BENCH_COUNT(rows));
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            bench_options.quick = true;
        else if (strcmp(argv[i], "--csv") == 0 && i + 1 < argc)
            bench_options.csv = argv[++i];
        else
            return printf("usage: %s [--quick] [--csv FILE]\n", argv[0]), 2;
    }
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0 || CPU_COUNT(&cpus) < 2) {
        fprintf(stderr, "skipped: there is one processor only\n");
        return 77;
    }
    bench_begin("fin-bench-chan");
    table_trip();
    table_calls();
    table_stream();
    table_waits();
    for (int channels = 1; channels <= 100; channels *= 10)
        table_alerts(channels);
    table_rtm();
    bench_end();
    return 0;
}
