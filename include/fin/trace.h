// SPDX-License-Identifier: BSD-2-Clause
// A trace of what runs when, for Perfetto or Chrome's about:tracing: each AWE is a track, and each time that it runs is a
// slice. Arrows show who made whom go on, and the messages of channels, also between processes. docs/trace.md says how to
// read it.
//
// FIN_TRACE=file in the environment traces a program from its start. While it is off, tracing costs nothing.
#ifndef FIN_TRACE_H
#define FIN_TRACE_H

#ifdef __cplusplus
extern "C" {
#endif

// Traces the calling thread from here on, threads that begin later, and those that an earlier trace followed; each keeps its
// last 65,536 events (or as many as FIN_TRACE_EVENTS in the environment says). The file is written when the program exits or
// crashes, or fin_trace_stop is called; stderr has the reason if it cannot be, where nobody asks. "+file" appends to a file,
// so that the traces of several processes become one. Returns 0; -EALREADY if tracing is on; -ENOMEM; or -errno if the file
// cannot be written, -ENXIO: it is a pipe that nobody reads. Does not block. Any thread.
int fin_trace_start(const char *file);

// Ends the trace of all threads and writes the file, with blocking system calls. Returns 0; -EINVAL if tracing is not on; or
// -errno if the file could not be written. Any thread.
int fin_trace_stop(void);

// Marks this moment on the track of the running AWE. `name` is copied, up to 19 characters of it. Does nothing where tracing
// is off, nor on a thread that has not used the library yet. Does not block. Any thread; from a signal handler, too.
void fin_trace_mark(const char *name);

#ifdef __cplusplus
}
#endif
#endif
