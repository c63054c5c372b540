// SPDX-License-Identifier: BSD-2-Clause
// The report of a stack overflow. A program that handles SIGSEGV itself keeps its handler.
#ifndef FIN_HOST_OVERFLOW_H
#define FIN_HOST_OVERFLOW_H

void fin_overflow_begin(void);        // once a process
void fin_overflow_thread_begin(void); // once a thread: a signal stack
void fin_overflow_thread_end(void);

#endif
