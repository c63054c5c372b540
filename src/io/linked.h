// SPDX-License-Identifier: BSD-2-Clause
#ifndef FIN_IO_LINKED_H
#define FIN_IO_LINKED_H

#include "io/uring.h"

struct chain;

struct step {
    struct request request; // first
    struct chain *chain;
};

void fin_linked_completed(struct step *s, bool cancellation, int result);
void fin_linked_cut(struct step *s); // the kernel has taken what is before it in the queue, and not this one
FIN_BLOCKING void fin_linked_closes(struct io *io, int fd); // pre: the close has begun. See linked.c
void fin_linked_in_child(struct step *s); // of a fork, whose parent has cancelled it

#endif
