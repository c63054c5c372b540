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
    int memory, pair[2];
};

// Fills in what is left out. 0 or -EINVAL.
int fin_chan_options_check(const struct fin_chan_options *o, struct fin_chan_options *out);

int fin_offer_make(struct offer *o, const struct fin_chan_options *options); // 0 or -errno
void fin_offer_drop(struct offer *o);
// It becomes the end of a channel whose other end is whoever has the other end of fd. Where that fails it stays as it was.
int fin_offer_send(struct offer *o, int fd);

#endif
