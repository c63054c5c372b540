// SPDX-License-Identifier: BSD-2-Clause
// The rows of table `calls`. Each makes n calls, and returns the cycles of one.
#ifndef FIN_BENCH_CONT_CALLS_H
#define FIN_BENCH_CONT_CALLS_H

#include <fin.h>

#include "rows.h"

// here.c
double here_stacks_in_two(long n);
double here_stacks_in_one(long n);
double here_in_two(long n);
double here_in_one(long n);
double here_rpc_accepted(long n);
double here_rpc_in_turn(long n);
double here_rpc_accepted_on(long n);
double here_rpc_served(long n);
double here_rpc_served_on(long n);

// far.c
double there_with_stacks(long n);
double there_in_set(long n);
double there_in_one(long n);
double there_many_stacks(long n);
double there_many_in_one(long n);
double asleep_with_stacks(long n);
double asleep_in_set(long n);
double asleep_in_one(long n);
double asleep_many_stacks(long n);
double asleep_many_in_one(long n);

// Two processes on one processor would take what the kernel takes to switch between them, whoever calls how: then there are
// no servers.
bool far_possible(void);
// One of the second kind: its run ends with that of the server's process. False: it failed.
bool far_only(double (*run)(long), long n);
// What the caller's thread counted in the last run of such a row. False: it is not one.
bool far_counted(double (*run)(long), struct fin_stats *before, struct fin_stats *after);

#endif
