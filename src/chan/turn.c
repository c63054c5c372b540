// SPDX-License-Identifier: BSD-2-Clause
#include "chan/turn.h"

#include "core/locks.h"

// Who has the turn may give up its frames: a reservation is in none of them.
int fin_turn_take(struct turn *t, bool nc) {
    int r = 0;
    if (nc)
        fin_mutex_lock_nc(&t->mutex);
    else
        r = fin_mutex_lock(&t->mutex);
    if (r == 0) {
        release_lock(t->mutex.hold);
        t->mutex.hold = NULL;
    }
    return r;
}
