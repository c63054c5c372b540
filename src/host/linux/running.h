// SPDX-License-Identifier: BSD-2-Clause
// What runs on a thread, for reports about it.
#ifndef FIN_HOST_RUNNING_H
#define FIN_HOST_RUNNING_H

#include "core/runtime.h"

struct fin_running {
    const char *name;  // of the AWE, by fin_set_name; or NULL
    const char *how;   // what `at` is, in words: ", entry ", ", started in " or ""
    const void *at;    // code that tells which async it is; NULL outside any
    const void *state; // of a continuation: what its state begins with
};

// Of the calling thread. May be called from a signal handler, at any instruction of the program's own code.
struct fin_running fin_running(struct fin_runtime *rt);
// Of a body of that thread; named: its name has been set.
struct fin_running fin_running_body(struct fin_runtime *rt, const struct fin_body *body, bool named);
// Of one that waits on a thread that sleeps. Nothing in memory is relied on.
struct fin_running fin_running_asleep(struct fin_runtime *rt, const struct fin_body *body);

// Writes the name of what `at` is in; of a coroutine its own, and not that of the continuation of them all. Returns buffer.
const char *fin_running_name(const struct fin_running *r, char *buffer, size_t size);
// Is it the continuation of all coroutines? Its name is looked up.
bool fin_running_is_coroutine(const void *cont);
// Where the coroutine goes on whose state begins with the address of its frame; `cont` if it is no coroutine's. Nothing in
// memory is relied on.
const void *fin_running_coroutine(const void *cont, const void *frame);

// The instruction that a signal came before. context: the third argument of its handler.
void *fin_interrupted_at(const void *context);

// The program's continuation of an AWE that waits with `cont`, and a state that begins with *state: that of the program's
// own state, afterwards. Nothing in memory is relied on.
const void *fin_running_cont(const void *cont, const void **state);

#endif
