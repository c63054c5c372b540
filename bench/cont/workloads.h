// SPDX-License-Identifier: BSD-2-Clause
// Three programs whose blocks are counted. Each runs in the calling thread until its work is done.
#ifndef FIN_BENCH_CONT_WORKLOADS_H
#define FIN_BENCH_CONT_WORKLOADS_H

void quote_server(void *unused); // a server of stock quotes and its clients, the clients in a thread of their own
void file_tree(void *unused);    // every file of a tree is opened, read and summed
void rpc_service(void *unused);  // clients call a few servers; one call in four waits for a disk

#endif
