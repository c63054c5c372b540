// SPDX-License-Identifier: BSD-2-Clause
// Cancellation, seen from the operations that can be cancelled (ac 2.2, 4.3). All of it concerns the calling thread, and
// does not block.
#ifndef FIN_CANCEL_H
#define FIN_CANCEL_H

#include <fin/finish.h>

#ifdef __cplusplus
extern "C" {
#endif

// Has any of the blocks around the running AWE been cancelled, up to and including the innermost fin_finish_nc? Does not
// block.
bool fin_cancelled(void);

// Adds an item: fn(arg) runs when the current finish block, or one around it up to a fin_finish_nc, is cancelled; at once if
// it is cancelled already. Items run newest first, on the stack of the AWE that cancels; fn must not block, and no C++
// exception may leave it. The item stays the caller's and must be removed before its storage ends. Does not block. Own
// thread only.
void fin_cancel_item_add(struct fin_cancel_item *item, void (*fn)(void *), void *arg);

// Removes the item. Returns false if it has run (fin_cancel_item_ran), was removed before, or its block has ended. Does not
// block. Own thread only.
bool fin_cancel_item_remove(struct fin_cancel_item *item);

// Has the item run? One that was removed, or whose block has ended, has not.
static inline bool fin_cancel_item_ran(const struct fin_cancel_item *item) {
    return item->link.next == NULL && item->link.prev == NULL;
}

#ifdef __cplusplus
}
#endif
#endif
