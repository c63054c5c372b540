// SPDX-License-Identifier: BSD-2-Clause
// Programs whose blocks are counted. Each runs in the calling thread until its work is done.
#ifndef FIN_BENCH_CONT_WORKLOADS_H
#define FIN_BENCH_CONT_WORKLOADS_H

#include <fin/stats.h>

#include "bench.h"

void quote_server(void *unused);        // the server of examples/quotes.c; its clients in a thread of their own
void file_tree(void *unused);           // every file of a tree is opened, read and summed, as examples/checksum.c does
void rpc_service(void *unused);         // clients call servers of the same thread; one call in four is answered from a disk
void rpc_clients(void *unused);         // the same of clients, whose servers are in a process
void rpc_server(struct fin_stats *out); // what that process counted, afterwards

static inline int few(int n) { return bench_options.quick ? n / 4 : n; }

#endif
