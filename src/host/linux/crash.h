// SPDX-License-Identifier: BSD-2-Clause
// The report of a crash. A program that handles such a signal itself keeps its handler.
#ifndef FIN_HOST_CRASH_H
#define FIN_HOST_CRASH_H

void fin_crash_begin(void);        // once a process
void fin_crash_thread_begin(void); // once a thread: a signal stack
void fin_crash_thread_end(void);
enum { FIN_CRASH_ROOM = 48 * 1024 };
void fin_crash_run(void (*run)(void)); // the same about `run`; it uses so many bytes of the thread's stack
void fin_crash_thread_ended_inside(int tid); // while AWEs of it waited: what follows may come from that

#endif
