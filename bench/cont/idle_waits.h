// SPDX-License-Identifier: BSD-2-Clause
// What idle AWEs wait in, with their stacks or without. idle_waits.c
#ifndef FIN_BENCH_CONT_IDLE_WAITS_H
#define FIN_BENCH_CONT_IDLE_WAITS_H

#include <stdbool.h>
#include <stddef.h>

struct idle_wait {
    void (*body)(void *slot); // an AWE; slot: where fin_schedule finds it, or its number
    size_t object;            // bytes beside the AWE that each waits in, of the program's memory
    long (*begin)(long n);    // what they wait for. Returns for how many there can be one
    void (*wake)(long n);
};

extern const struct idle_wait waits_plainly, waits_for_sem, waits_in_recv, waits_in_chan, waits_in_rpc;
extern const struct idle_wait stack_plainly, stack_for_sem, stack_in_recv, stack_in_chan, stack_in_rpc;

extern long idle_woken;

// Memory for the slots, which is not counted, and for objects, which is as it is used.
void idle_waits_begin(const struct idle_wait *w, long n);
void *idle_slot(long i);

#endif
