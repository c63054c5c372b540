// SPDX-License-Identifier: BSD-2-Clause
// The two sides of a null call over a channel, in the ways in which they can wait. sides.c
#ifndef FIN_BENCH_CONT_SIDES_H
#define FIN_BENCH_CONT_SIDES_H

#include <fin.h>

struct end {
    struct fin_chan_on on;
    struct fin_chan *chan;
    struct fin_waitset *set;
    ssize_t got;
    long in, out, left;
};

// A way. Of each side either a body, which has a stack, or a continuation.
struct way {
    void (*calls)(void *end), (*serves)(void *end);
    fin_cont *calls_on, *serves_on;
};

extern const struct way stacks_in_two; // fin_chan_send, fin_chan_recv
extern const struct way stacks_in_one; // fin_chan_send_recv
extern const struct way explicit_in_two;
extern const struct way explicit_in_one;
extern const struct way explicit_in_set; // fin_chan_send, and a waitset says when to receive: nobody is recognized

// Of processes: the server computes before it answers, and the client before it calls, so that who waits sleeps. Of several
// clients none does.
extern const struct way stacks_asleep, explicit_asleep, set_asleep;
extern const struct way stacks_behind, explicit_behind;

// In a finish block.
#define BEGIN_SIDE(body, cont, of)                                                                                          \
    do {                                                                                                                    \
        struct end *side = (of);                                                                                            \
        if (cont)                                                                                                           \
            BENCH_MUST(fin_async_cont(cont, &side, sizeof side) != NULL);                                                   \
        else                                                                                                                \
            fin_async_call(body, side);                                                                                     \
    } while (0)

#endif
