// SPDX-License-Identifier: BSD-2-Clause
// An end that is ready to be offered to whoever comes.
#ifndef FIN_CHAN_OFFER_H
#define FIN_CHAN_OFFER_H

#include <errno.h>

#include "chan/chan.h"

struct offer {
    struct fin_chan *chan;
    struct shared_map *map;
    uint32_t lines;
};

// An end that is not begun. Its sockets are its own from when they are in c->sockets: the child of a fork has none of them.
struct fin_chan *fin_chan_new(unsigned flags); // NULL: no memory
void fin_chan_drop(struct fin_chan *c);        // NULL or one that is not begun: closes its sockets
// Waits for an offer over its connection. Where none comes it is dropped.
FIN_BLOCKING int fin_chan_take_at(struct fin_chan *c, struct fin_chan **out, bool nc);

// Fills in what is left out. 0 or -EINVAL.
int fin_chan_options_check(const struct fin_chan_options *o, struct fin_chan_options *out);

int fin_offer_make(struct offer *o, const struct fin_chan_options *options); // 0 or -errno
void fin_offer_drop(struct offer *o);
// fd is the offer's from here on, until it is sent or turned away.
static inline void fin_offer_to(struct offer *o, int fd) { o->chan->sockets[FIN_CHAN_TO_TAKER] = fd; }
// It becomes the end of a channel whose other end is whoever has the other end of that. After an error it can be tried
// again.
int fin_offer_send(struct offer *o);
void fin_offer_turn_away(struct offer *o);

#endif
