// SPDX-License-Identifier: BSD-2-Clause
// Ids of AWEs: directed and no-dispatch yields by id; stale, forged, unsaved and removed ids are error codes.
#include <string.h>

#include <fin.h>

#include "check.h"

static void ping_pong(void) {
    uint32_t a, b;
    fin_shared int turns = 0;
    CHECK_EQ(fin_awe_id_create(&a), 0);
    CHECK_EQ(fin_awe_id_create(&b), 0);
    CHECK(a != b && a != 0 && b != 0);
    fin_finish {
        fin_async {
            CHECK_EQ(fin_yield_and_save_no_dispatch(a), 0);
            for (int i = 0; i < 1000; i++) {
                CHECK_EQ(turns++ % 2, 0);
                CHECK_EQ(fin_yield_to_id_and_save_no_dispatch(b, a), 0);
            }
            CHECK_EQ(fin_yield_to_id_no_dispatch(4321, NULL), -ESRCH);
        };
        fin_async {
            CHECK_EQ(fin_yield_to_id_and_save_no_dispatch(a, b), 0);
            for (int i = 0; i < 1000; i++) {
                CHECK_EQ(turns++ % 2, 1);
                CHECK_EQ(fin_yield_to_id_and_save(a, b), 0);
            }
        };
    }
    CHECK_EQ(turns, 2000);
    CHECK_EQ(fin_awe_id_remove(a), 0);
    CHECK_EQ(fin_awe_id_remove(b), 0);
    CHECK_EQ(fin_awe_id_remove(a), -ESRCH);
}

static void what_is_not_there(void) {
    uint32_t id, other;
    CHECK_EQ(fin_awe_id_create(&id), 0);
    CHECK(fin_awe_id_get(id) == NULL);
    CHECK_EQ(fin_yield_to_id(id), -ESRCH);    // never saved
    CHECK_EQ(fin_yield_to_id(0), -ESRCH);     // never an id
    CHECK_EQ(fin_yield_to_id(12345), -ESRCH); // forged
    CHECK_EQ(fin_yield_and_save(0), -ESRCH);
    CHECK_EQ(fin_yield_to_id_and_save(id, 777), -ESRCH);
    CHECK_EQ(fin_awe_id_remove(id), 0);
    CHECK_EQ(fin_yield_to_id(id), -ESRCH);
    CHECK_EQ(fin_awe_id_set(id, NULL), -ESRCH);
    CHECK_EQ(fin_awe_id_create(&other), 0);
    CHECK(other != id);
    CHECK_EQ(fin_awe_id_remove(other), 0);
}

// Whatever the bits are, in a thread that has no ids at all.
static void before_the_first(void) {
    const uint32_t forged[] = {0, 1, 2, 3, 1u << 20, UINT32_MAX - 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        CHECK_EQ(fin_awe_id_set(forged[i], NULL), -ESRCH);
        CHECK_EQ(fin_awe_id_remove(forged[i]), -ESRCH);
        CHECK_EQ(fin_yield_and_save(forged[i]), -ESRCH);
        CHECK_EQ(fin_yield_to_id_and_save(forged[i], forged[i]), -ESRCH);
    }
}

// However an AWE is resumed, its id names none afterwards.
static void resumed_otherwise(void) {
    uint32_t id;
    CHECK_EQ(fin_awe_id_create(&id), 0);
    fin_finish {
        fin_async { CHECK_EQ(fin_yield_and_save(id), 0); };
        CHECK(fin_awe_id_get(id) != NULL);
        fin_yield();
        CHECK(fin_awe_id_get(id) == NULL);
        CHECK_EQ(fin_yield_to_id(id), -ESRCH);
    }
    // removing an id leaves its AWE as it is
    fin_finish {
        fin_async {
            CHECK_EQ(fin_yield_and_save(id), 0);
            LOG("ran ");
        };
        CHECK_EQ(fin_awe_id_remove(id), 0);
    }
    CHECK_LOG("ran ");
}

// An id that comes to name another AWE goes on to name that one when the first is resumed.
static void named_over(void) {
    uint32_t id, other;
    CHECK_EQ(fin_awe_id_create(&id), 0);
    CHECK_EQ(fin_awe_id_create(&other), 0);
    fin_finish {
        fin_async { CHECK_EQ(fin_yield_and_save(id), 0); };
        fin_async { CHECK_EQ(fin_yield_and_save_no_dispatch(id), 0); };
        struct fin_awe *second = fin_awe_id_get(id), *third;
        fin_yield(); // the first ran, and ended
        CHECK(fin_awe_id_get(id) == second);
        fin_async {
            CHECK_EQ(fin_yield_and_save_no_dispatch(other), 0);
            for (int i = 0; i < 2; i++) // the second time by the fast way
                CHECK_EQ(fin_yield_to_id_and_save_no_dispatch(other, id), 0);
        };
        CHECK_EQ(fin_yield_to_id_and_save_no_dispatch(other, other), 0);
        third = fin_awe_id_get(id);
        CHECK(third != second);
        CHECK_EQ(fin_yield_to_id_and_save_no_dispatch(id, other), 0);
        CHECK(fin_awe_id_get(id) == third);
        CHECK_EQ(fin_yield_to(second), 0);
        CHECK(fin_awe_id_get(id) == third);
        CHECK_EQ(fin_yield_to_id(id), 0);
        CHECK(fin_awe_id_get(id) == NULL);
    }
    CHECK_EQ(fin_awe_id_remove(id), 0);
    CHECK_EQ(fin_awe_id_remove(other), 0);
}

static void set_and_rename(void) {
    uint32_t a, b;
    fin_shared struct fin_awe *waiter = NULL;
    CHECK_EQ(fin_awe_id_create(&a), 0);
    CHECK_EQ(fin_awe_id_create(&b), 0);
    fin_finish {
        fin_async { fin_suspend(&waiter); };
        CHECK_EQ(fin_awe_id_set(a, waiter), 0);
        CHECK_EQ(fin_awe_id_set(b, waiter), 0); // an AWE has one id: the last
        CHECK(fin_awe_id_get(a) == NULL);
        CHECK(fin_awe_id_get(b) == waiter);
        CHECK_EQ(fin_awe_id_set(b, NULL), 0);
        CHECK(fin_awe_id_get(b) == NULL);
        CHECK_EQ(fin_awe_id_set(a, waiter), 0);
        CHECK_EQ(fin_yield_to_id(a), 0);
        CHECK(fin_awe_id_get(a) == NULL);
    }
    struct fin_awe forged;
    memset(&forged, 0, sizeof forged);
    forged.owner = (struct fin_runtime *)fin_self;
    CHECK_EQ(fin_awe_id_set(a, &forged), -EINVAL);
    CHECK_EQ(fin_awe_id_remove(a), 0);
    CHECK_EQ(fin_awe_id_remove(b), 0);
}

// The table grows; it is full at a million; places are used again only after a long rest, with another generation.
static void exhaustion(void) {
    enum { MOST = 1 << 20 };
    uint32_t *ids = malloc((MOST + 1) * sizeof *ids);
    int n = 0, r;
    while (n <= MOST && (r = fin_awe_id_create(&ids[n])) == 0)
        n++;
    CHECK_EQ(r, -ENOSPC);
    CHECK_EQ(n, MOST - 1);
    uint32_t freed = ids[5000], again;
    CHECK_EQ(fin_awe_id_remove(freed), 0);
    CHECK_EQ(fin_awe_id_create(&again), 0);
    CHECK(again != freed);
    CHECK_EQ(fin_yield_to_id(freed), -ESRCH);
    ids[5000] = again;
    for (int i = 0; i < n; i++)
        CHECK_EQ(fin_awe_id_remove(ids[i]), 0);
    // a stale id stays stale for many more lives than a generation counter of one place has
    uint32_t stale = ids[100];
    for (int i = 0; i < 2000000; i++) {
        CHECK_EQ(fin_awe_id_create(&again), 0);
        CHECK(again != stale);
        CHECK_EQ(fin_awe_id_remove(again), 0);
    }
    free(ids);
}

int main(void) {
    before_the_first();
    ping_pong();
    what_is_not_there();
    resumed_otherwise();
    named_over();
    set_and_rename();
    exhaustion();
    return 0;
}
