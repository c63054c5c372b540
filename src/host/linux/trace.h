// SPDX-License-Identifier: BSD-2-Clause
// What trace.c records and write.c writes.
#ifndef FIN_HOST_TRACE_H
#define FIN_HOST_TRACE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FIN_TRACE_RUN, // arg: how long
    FIN_TRACE_WAKES,
    FIN_TRACE_GOES_ON, // arg of both: whom
    FIN_TRACE_SENDS,
    FIN_TRACE_RECEIVES, // arg, who2: which message
    FIN_TRACE_MARK
};

struct fin_trace_event {
    uint64_t at, who, who2, arg; // who: the AWE, by its body or record; 0 outside any
    const void *fn;              // code that tells which async it is
    int kind;
    char name[20];
};

struct fin_trace_ring {
    struct fin_trace_ring *next;
    uint64_t count, size; // a power of two; events ever recorded
    uint64_t begun;       // of these, and of those that are being written
    uint64_t before;      // of these, in earlier traces
    uint64_t since;       // when `who` began to run
    uint64_t looked;      // when the thread last began to look for events
    bool left;            // its thread has ended
    bool runs;
    int writing; // events, each in the midst of the one before it
    int tid;
    struct {
        const void *cont;
        bool is_coroutine;
    } known[16]; // continuations whose names have been looked up
    struct fin_trace_event who;
    struct fin_trace_event events[];
};

void fin_trace_begin_process(void);
void fin_trace_thread_ends(void);
// From the handler of a signal that ends the program: writes what there is. Nothing where another thread is at it.
void fin_trace_crashed(const char *signal);
// An array begins there, or goes on. 0 or -errno.
int fin_trace_make_file(const char *path, bool append);
// Appends what the rings have of this trace to the file; "+" before its name. 0 or -errno.
int fin_trace_write(const struct fin_trace_ring *rings, const char *path);
void fin_trace_unwritten(const char *path, int error); // says so

#endif
