// SPDX-License-Identifier: BSD-2-Clause
// What runs on a thread, for reports about it.
#ifndef FIN_HOST_RUNNING_H
#define FIN_HOST_RUNNING_H

#include "core/runtime.h"

struct fin_running {
    const char *name; // of the AWE, by fin_set_name; or NULL
    const char *how;  // what `at` is, in words: ", entry ", ", started in " or ""
    const void *at;   // code that tells which async it is; NULL outside any
};

// Of the calling thread. May be called from a signal handler, at any instruction of the program's own code.
struct fin_running fin_running(struct fin_runtime *rt);
// Of a body of that thread; named: its name has been set.
struct fin_running fin_running_body(struct fin_runtime *rt, const struct fin_body *body, bool named);

// The instruction that a signal came before. context: the third argument of its handler.
void *fin_interrupted_at(const void *context);

// The program's continuation of an AWE that waits with `cont`, and a state that begins with the address `kept`. Nothing in
// memory is relied on.
const void *fin_running_cont(const void *cont, const void *kept);

#endif
