// SPDX-License-Identifier: BSD-2-Clause
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <fin/chan.h>

#include "rows.h"

// Two processes of their own, which print what they measured.
static void table_mpi(const char *what, const char *title, long n) {
    static const struct {
        const char *program, *name;
    } rivals[] = {{"openmpi", "Open MPI"}, {"mpich", "MPICH"}};
    struct bench_row rows[BENCH_COUNT(rivals)];
    char table[16];
    size_t count = 0;
    unpin(); // two that poll for one another on one processor take for ever
    for (size_t i = 0; i < BENCH_COUNT(rivals); i++) {
        double v[3];
        const char *why = bench_rival(rivals[i].program, what, bench_options.quick ? n / 4 : n, v, 3);
        if (why) {
            bench_skip(rivals[i].name, why);
            continue;
        }
        rows[count++] = (struct bench_row){.name = rivals[i].name,
                                           .median = v[0] * BENCH_CYCLES_PER_TICK,
                                           .lo = v[1] * BENCH_CYCLES_PER_TICK,
                                           .hi = v[2] * BENCH_CYCLES_PER_TICK};
    }
    snprintf(table, sizeof table, "mpi-%s", what);
    if (count > 0)
        bench_print(table, title, "cycles", rows, count);
}

static void table_trip(void) {
    struct bench_row rows[] = {
        {"bare: a cache line each way, by hand", trip_bare, 2000},
        {"fin_chan between threads, blocking receive on both sides", trip_pair, 2000, "1274 (AC), 2780 (MPI)", 1, 1.15},
        {"fin_chan as between processes", trip_process, 2000, NULL, 1, 1.15},
        {"bare: a line with 56 bytes each way, by hand", trip_message, 2000, NULL, 1},
        {"pipe", trip_pipe, 100},
        {"Unix socket", trip_socket, 100},
        {NULL},
        {NULL},
        {NULL},
    };
    size_t count = BENCH_COUNT(rows) - 3;
    if (have_zeromq) {
        rows[count++] = (struct bench_row){"ZeroMQ, a pair within the process", trip_zeromq, 50};
        rows[count++] = (struct bench_row){"ZeroMQ, a pair as between processes", trip_zeromq_ipc, 50};
    }
    if (have_rte_ring)
        rows[count++] = (struct bench_row){"rte_ring (DPDK), a line as four elements", trip_rte_ring, 2000};
    bench_table("trip", "round trip of one line between two processors", "cycles", rows, count);
    if (!have_zeromq)
        bench_skip("ZeroMQ", "libzmq is not there");
    if (!have_rte_ring)
        bench_skip("rte_ring", "DPDK is not there");
    bench_skip("libfipc", "not packaged, not run here; on such a machine it took 830 to 890");
    table_mpi("trip", "the same by MPI, between two processes", 2000);
}

static void table_local(void) {
    struct bench_row rows[] = {
        {"fin_chan_send_recv: the stack is handed over", trip_handed, 20000, NULL, 0, 0, 60},
        {"fin_chan_send, fin_chan_recv", trip_local, 20000},
        {"fin_rpc_call between AWEs of one thread", call_local, 20000},
    };
    bench_table("local", "round trip between two AWEs of one thread", "cycles", rows, BENCH_COUNT(rows));
}

static void table_asleep(void) {
    struct bench_row rows[] = {
        {"futex", trip_futex, 50},
        {"fin_chan", trip_asleep, 50, NULL, 1, 1.2},
    };
    bench_table("asleep", "a sleeping receiver: from the send to the answer", "cycles", rows, BENCH_COUNT(rows));
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
        {"bare: lines through a ring of 64 KiB, by hand", stream_bare, 200000},
        {"fin_chan_send, fin_chan_recv of 56 bytes", stream_chan, 200000, NULL, 1, 0, 20},
        {"the same in place: reserve, commit, peek, release", stream_in_place, 50000, NULL, 1},
        {"bare: a ring of 256 KiB, by hand", stream_bare_wide, 200000},
        {"fin_chan of 256 KiB", stream_chan_wide, 200000, NULL, 4, 0, 20},
        {"fin_chan of 16 KiB", stream_chan_narrow, 200000},
        {"pipe, 64 bytes", stream_pipe, 2000},
        {"Unix socket, 64 bytes", stream_socket, 2000},
        {NULL},
        {NULL},
        {NULL},
        {NULL},
    };
    size_t count = BENCH_COUNT(rows) - 4;
    if (have_lockfree)
        rows[count++] = (struct bench_row){"boost::lockfree::spsc_queue of 64 bytes", stream_lockfree, 200000};
    if (have_zeromq)
        rows[count++] = (struct bench_row){"ZeroMQ, a pair within the process", stream_zeromq, 2000};
    if (have_rte_ring) {
        rows[count++] = (struct bench_row){"rte_ring (DPDK), a line as four elements", stream_rte_ring, 100000};
        rows[count++] = (struct bench_row){"the same, 32 at a time", stream_rte_bursts, 200000};
    }
    bench_table("stream", "messages one way between two processors", "cycles", rows, count);
    if (!have_lockfree)
        bench_skip("boost::lockfree::spsc_queue", "Boost is not there");
    if (!have_zeromq)
        bench_skip("ZeroMQ", "libzmq is not there");
    if (!have_rte_ring)
        bench_skip("rte_ring", "DPDK is not there");
    table_mpi("stream", "messages of 56 bytes one way, by MPI", 20000);
}

static void table_shared(void) {
    struct bench_row rows[] = {
        {"fin_chan, an end of one thread", stream_chan, 200000},
        {"fin_chan, an end for several (FIN_CHAN_SHARED)", stream_shared, 100000, NULL, 1},
        {"by hand: lines claimed by compare-and-swap", stream_claimed, 100000, NULL, 1},
    };
    bench_table("shared", "n:1: messages one way from where several threads may send, one of which does", "cycles", rows,
                BENCH_COUNT(rows));
}

// More threads than processors: each repetition is disturbed, by design, so none is taken again.
static void table_senders(void) {
    enum { ROWS = 14, TIMES = 11 };
    double samples[ROWS][TIMES];
    struct bench_row rows[] = {
        {"fin_chan, FIN_CHAN_SHARED: 1 sender", senders_shared_1, 4000, NULL, 3},
        {"an end of one thread and a mutex: 1", senders_locked_1, 4000, NULL, 3},
        {"lines claimed by compare-and-swap: 1", senders_claimed_1, 4000},
        {"fin_chan, FIN_CHAN_SHARED: 2 senders", senders_shared_2, 4000, NULL, 6},
        {"an end of one thread and a mutex: 2", senders_locked_2, 4000, NULL, 6},
        {"lines claimed by compare-and-swap: 2", senders_claimed_2, 4000},
        {"fin_chan, FIN_CHAN_SHARED: 4 senders", senders_shared_4, 4000, NULL, 9},
        {"an end of one thread and a mutex: 4", senders_locked_4, 4000, NULL, 9},
        {"lines claimed by compare-and-swap: 4", senders_claimed_4, 4000},
        {"fin_chan, FIN_CHAN_SHARED: 8 senders", senders_shared_8, 4000, NULL, 12},
        {"an end of one thread and a mutex: 8", senders_locked_8, 4000, NULL, 12},
        {"lines claimed by compare-and-swap: 8", senders_claimed_8, 4000},
        {"fin_chan, FIN_CHAN_SHARED: 8 AWEs in 2 threads", senders_awes_8, 4000, NULL, 12},
        {"fin_chan, an end of one thread: 1 sender", senders_own_1, 4000, NULL, 3},
    };
    _Static_assert(BENCH_COUNT(rows) == ROWS, "a row of samples for each");
    for (int k = 0; k < TIMES; k++)
        for (int i = 0; i < ROWS; i++)
            samples[i][k] = rows[i].run(rows[i].n);
    for (int i = 0; i < ROWS; i++) {
        bench_sort(samples[i], TIMES);
        rows[i].median = bench_at(samples[i], TIMES, 0.5);
        bench_range(samples[i], TIMES, &rows[i].lo, &rows[i].hi);
    }
    bench_print("senders", "n:1: messages one way from threads to one, all on any processor, each row 11 times", "cycles",
                rows, ROWS);
}

static void table_large(void) {
    struct bench_row rows[] = {
        {"memcpy in and out, on one processor", stream_copy, 2000},
        {"fin_chan in and out, on one processor", large_in_and_out, 2000, NULL, 1, 1.5},
        {"bare: memcpy in here, out there, by hand", stream_large_bare, 2000, NULL, 1},
        {"fin_chan", stream_large, 2000, NULL, 1, 1.5},
        {"bare, 256 KiB", stream_large_bare_wide, 2000, NULL, 1},
        {"fin_chan of 256 KiB", stream_large_wide, 2000, NULL, 1, 1.5},
        {"pipe", stream_pipe_large, 1000},
        {"filled and summed, on one processor", stream_fill, 2000},
        {"fin_chan, filled and summed in place", stream_large_in_place, 2000, NULL, 8},
    };
    bench_table("large", "messages of 4 KiB one way", "cycles", rows, BENCH_COUNT(rows));
}

static void table_waits(void) {
    struct bench_row rows[] = {
        {"fin_waitset, 1 channel", waitset_1, 2000},         {"fin_waitset, 30 channels", waitset_30, 2000},
        {"fin_waitset, 1,000 channels", waitset_1000, 2000}, {"epoll, 1 eventfd", epoll_1, 500},
        {"epoll, 1,000 eventfds", epoll_1000, 500},
    };
    bench_table("waits", "send, find the event among so many, receive; one processor", "cycles", rows, BENCH_COUNT(rows));
}

static void table_all_alerts(void) {
    for (int channels = 1; channels <= 100; channels *= 10)
        table_alerts(channels, false);
}

static void table_all_alerts_of_processes(void) {
    for (int channels = 1; channels <= 100; channels *= 10)
        table_alerts(channels, true);
}

static const struct {
    const char *name;
    void (*run)(void);
} tables[] = {
    {"trip", table_trip},     {"local", table_local},       {"asleep", table_asleep},   {"calls", table_calls},
    {"stream", table_stream}, {"shared", table_shared},     {"senders", table_senders}, {"large", table_large},
    {"waits", table_waits},   {"alerts", table_all_alerts}, {"interrupts", table_interrupts},
    {"rtm", table_rtm},       {"beside", table_beside},       {"quiet", table_quiet},
    {"alerts-processes", table_all_alerts_of_processes},
};

static bool wanted(size_t i) { return !bench_options.table || strcmp(bench_options.table, tables[i].name) == 0; }

static int usage(const char *program) {
    printf("usage: %s [--quick] [--csv FILE] [--rivals DIR] [--table NAME]\ntables:", program);
    for (size_t i = 0; i < BENCH_COUNT(tables); i++)
        printf(" %s", tables[i].name);
    printf("\n");
    return 2;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "quiet") == 0)
        return quiet_child(strtol(argv[2], NULL, 10));
    for (int i = 1; i < argc; i++)
        if (!bench_option(argv, &i))
            return usage(argv[0]);
    bool found = false;
    for (size_t i = 0; i < BENCH_COUNT(tables); i++)
        found |= wanted(i);
    if (!found)
        return usage(argv[0]);
    cpu_set_t cpus;
    BENCH_SYS(sched_getaffinity(0, sizeof cpus, &cpus));
    if (CPU_COUNT(&cpus) < 2) {
        fprintf(stderr, "skipped: there is one processor only\n");
        return 77;
    }
    bench_begin("fin-bench-chan");
    for (size_t i = 0; i < BENCH_COUNT(tables); i++)
        if (wanted(i))
            tables[i].run();
    return bench_end();
}
