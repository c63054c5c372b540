// SPDX-License-Identifier: BSD-2-Clause
// Producers and consumers on several threads around one bounded buffer, with waits that are cancelled all the time: every
// item arrives once, and nobody waits for ever.
#include <errno.h>

#include <fin.h>

#include "check.h"

enum { ITEMS = 6000, SIDES = 2, AWES = 3, SLOTS = 4 };

static struct fin_mutex m = FIN_MUTEX_INIT;
static struct fin_cond not_full = FIN_COND_INIT, not_empty = FIN_COND_INIT;
static int slots[SLOTS], used, produced, consumed;
static unsigned char seen[ITEMS];

// One try; the block around it may be cancelled while it waits.
static int put(void) {
    int r = fin_mutex_lock(&m);
    if (r != 0)
        return r;
    while (used == SLOTS && produced < ITEMS && r == 0)
        r = fin_cond_wait(&not_full, &m);
    if (r == 0 && produced < ITEMS) {
        slots[used++] = produced++;
        fin_cond_signal(&not_empty);
    } else if (r == 0) {
        r = 1;
    }
    if (produced == ITEMS) {
        fin_cond_broadcast(&not_full);
        fin_cond_broadcast(&not_empty);
    }
    fin_mutex_unlock(&m);
    return r;
}

static int get(void) {
    int r = fin_mutex_lock(&m);
    if (r != 0)
        return r;
    while (used == 0 && produced < ITEMS && r == 0)
        r = fin_cond_wait(&not_empty, &m);
    if (r == 0 && used) {
        seen[slots[--used]]++;
        consumed++;
        fin_cond_signal(&not_full);
    } else if (r == 0) {
        r = 1;
    }
    fin_mutex_unlock(&m);
    return r;
}

// Of a few tries at once the first that succeeds cancels the others: as many cancels as items, against signals of other
// threads.
static void side(void *arg) {
    int (*step)(void) = arg;
    fin_shared int over = 0;
    while (!over) {
        fin_finish {
            for (int i = 0; i < AWES; i++) {
                fin_async {
                    int r = step();
                    CHECK(r == 0 || r == 1 || r == -ECANCELED);
                    over |= r == 1;
                    if (r == 0)
                        fin_cancel();
                };
            }
        }
    }
}

int main(void) {
    struct fin_thread_handle t[2 * SIDES];
    for (int i = 0; i < 2 * SIDES; i++)
        CHECK_EQ(fin_thread_start(&t[i], side, i % 2 ? (void *)put : (void *)get), 0);
    for (int i = 0; i < 2 * SIDES; i++)
        CHECK_EQ(fin_thread_join(&t[i]), 0);
    while (get() == 0) {
    }
    CHECK_EQ(consumed, ITEMS);
    for (int i = 0; i < ITEMS; i++)
        CHECK_EQ(seen[i], 1);
    return 0;
}
