// SPDX-License-Identifier: BSD-2-Clause
// A receive with a continuation that is under way when the process forks. Who includes this has RECV_ON, pairs, bytes and
// results.
#ifndef FIN_TESTS_IO_FORK_WAITS_H
#define FIN_TESTS_IO_FORK_WAITS_H

static struct fin_on on;

static void received(void *state, int result) {
    (void)state;
    results[RECV_ON] = result;
    fin_cont_end();
}

static void receives(void *state, int result) {
    CHECK_EQ(result, 0);
    fin_recv_on(&on, pairs[RECV_ON][0], bytes[RECV_ON], 8, 0, received, state, 0);
}

#endif
