// SPDX-License-Identifier: BSD-2-Clause
// The two sides of a ring, and no channel around them: what each does can be put between any two steps of the other's.
#ifndef FIN_TESTS_CHAN_BARE_H
#define FIN_TESTS_CHAN_BARE_H

#include "chan.h"
#include "chan/bell.h"
#include "chan/wait.h"

enum { LINES = 64 };
static char ring[2 * LINES * UMP_LINE] __attribute__((aligned(128)));
static struct sender_line sender_line;
static struct receiver_line receiver_line;
static struct meeting meeting;
static const bool talks;
static struct ump_rx rx;
static struct ump_tx tx = {.ring = ring,
                           .peer = &receiver_line,
                           .own = &sender_line,
                           .limit = LINES,
                           .other = &rx.tail,
                           .lines = LINES,
                           .shift = 6,
                           .meeting = &meeting,
                           .alive = UINT64_MAX,
                           .fd = -1,
                           .registered = true};
static struct ump_rx rx = {.ring = ring,
                           .own = &receiver_line,
                           .peer = &sender_line,
                           .lines = LINES,
                           .acknowledge_at = LINES / 4,
                           .talks = &talks,
                           .shift = 6,
                           .meeting = &meeting,
                           .asks = true};

#endif
