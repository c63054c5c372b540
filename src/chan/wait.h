// SPDX-License-Identifier: BSD-2-Clause
// The slow half of UMP, for those who use it. One AWE at a time for each side of a ring.
#ifndef FIN_CHAN_WAIT_H
#define FIN_CHAN_WAIT_H

#include <errno.h>

#include <fin/finish.h>

#include "chan/ump.h"

// How often a wait looks before it sleeps: twice, for about as long together as a sleep costs. It pauses between looks, so
// that the sender can get ahead. It yields to others at most so often, and gives others of its processor a turn meanwhile.
enum { SPIN_LOOKS = 200, SPIN_YIELDS = 50, LOOKS_A_TURN = 50 };

// Can this process's waiters have barriers happen on other processors? Asked once before the first ring is used.
bool fin_ump_barriers(void);

// Is there room after what the receiver has taken meanwhile? Looks at all else that the receiver tells, too.
bool fin_ump_refresh(struct ump_tx *tx, uint32_t lines);
void fin_ump_no_receiver(struct ump_tx *tx, int why);

static inline int fin_ump_broken(const struct ump_rx *rx) { return !rx->broken ? 0 : rx->why ? rx->why : -EPROTO; }
bool fin_ump_arrived(struct ump_rx *rx); // a message, or what makes every call fail
int fin_ump_end_of(struct ump_rx *rx);   // why nothing comes any more, for who is told of it; -EAGAIN while the sender lives
// Is a barrier to follow? One serves many that were armed. After that the ring must be looked at again.
bool fin_ump_arm(struct ump_rx *rx);
void fin_ump_barrier(void);
void fin_ump_disarm(struct ump_rx *rx);

// 0: there is a message; -ESHUTDOWN, -ECONNRESET: the sender closed or died, and there is none; -EPROTO, -ECANCELED, a
// shortage; -EBUSY where a waitset waits for it.
FIN_BLOCKING int fin_ump_await_message(struct ump_rx *rx, bool nc);
// 0: there is room; -EPIPE, -EPROTO, -ECANCELED, a shortage. `word`: of a call's message (rpc.h), or 0.
FIN_BLOCKING int fin_ump_await_room(struct ump_tx *tx, uint32_t lines, uint64_t word, bool nc);

// Looks for a while where this thread has nothing else to do, and nobody has the turn. Is there something?
bool fin_ump_spin(struct ump_rx *rx);
bool fin_ump_spin_long(struct ump_rx *rx); // as long again, and then gives others of this processor turns
bool fin_ump_others(void); // has it something else to do?
FIN_BLOCKING void fin_ump_yield(void); // as fin_yield, which is no block here
void fin_ump_give_turn(void); // to others of this processor; not for a while after one that was long

// doze.c: waits some microseconds more without executing instructions, where the processor can: a hyperthread beside it has
// the core to itself. May there be something? Pre: this thread has nothing else to do.
bool fin_ump_doze(struct ump_rx *rx);

void fin_ump_end(struct ump_tx *tx, struct ump_rx *rx);

#endif
