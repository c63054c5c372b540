// SPDX-License-Identifier: BSD-2-Clause
// The table of <fin/stats.h>: with FIN_STATS=1 in the environment.
#ifndef FIN_HOST_STATS_H
#define FIN_HOST_STATS_H

void fin_stats_begin(void); // once a process

#endif
