// SPDX-License-Identifier: BSD-2-Clause
// Any async body may block with a continuation, wherever its stack comes from: that stack is free then, and its owner goes
// on.
#include <string.h>

#include <fin.h>

#include "check.h"

static struct fin_awe *slot;

static void second_half(void *p, int result) {
    LOG("%s%d ", *(const char **)p, result);
    fin_cont_end();
}

static void remember(struct fin_awe *a, void *arg) {
    CHECK(arg == &slot);
    slot = a;
}

static void first_half(void *name) {
    LOG("%s ", (const char *)name);
    fin_block_on_then(second_half, &name, sizeof name, remember, &slot);
    CHECK(false);
}

static void blocks_first(void *name) {
    fin_yield();
    first_half(name);
}

static uint64_t stacks(void) {
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks_used;
}

static void goes_on(void) {
    LOG("owner ");
    CHECK_EQ(fin_schedule(slot), 0);
}

static void lazy_never_blocked(void) {
    fin_finish {
        uint64_t before = stacks();
        fin_async_call(first_half, "lazy");
        CHECK_EQ(stacks(), before); // the owner's own stack was left, nothing was taken
        goes_on();
    }
    CHECK_LOG("lazy owner lazy0 ");
}

static void lazy_blocked(void) {
    fin_finish {
        fin_async_call(blocks_first, "lazy");
        fin_yield();
        goes_on();
    }
    CHECK_LOG("lazy owner lazy0 ");
}

static void second_lazy_blocked(void) {
    fin_finish {
        fin_async_call(blocks_first, "first");
        fin_async_call(blocks_first, "second");
        uint64_t before = stacks();
        fin_yield(); // "first" had the owner's stack, "second" one of Fin's
        CHECK_EQ(stacks(), before - (FIN_SANITIZED ? 2 : 1));
        goes_on();
        fin_yield();
        fin_cancel();
    }
    CHECK_LOG("first second owner second0 first-125 ");
}

static void eager_never_blocked(void) {
    fin_finish {
        uint64_t before = stacks();
        fin_async_eager_call(first_half, "eager");
        CHECK_EQ(stacks(), before);
        goes_on();
    }
    CHECK_LOG("eager owner eager0 ");
}

static void eager_blocked(void) {
    fin_finish {
        uint64_t before = stacks();
        fin_async_eager_call(blocks_first, "eager");
        fin_yield();
        CHECK_EQ(stacks(), before);
        goes_on();
    }
    CHECK_LOG("eager owner eager0 ");
}

static void in_place(void) {
    fin_finish {
        fin_async { first_half("place"); };
        goes_on();
    }
    CHECK_LOG("place owner place0 ");
}

// The inner body has not ended: the frame of the outer one is kept.
static void with_an_inner_one(void) {
    fin_finish {
        fin_async {
            fin_shared int mine = 1;
            fin_async {
                fin_yield();
                fin_yield();
                LOG("inner%d ", mine);
            };
            mine = 2;
            first_half("outer");
        };
        goes_on();
    }
    CHECK_LOG("outer owner outer0 inner2 ");
}

// And where it goes on after the continuation has run.
static void many(void) {
    fin_finish {
        for (int i = 0; i < 1000; i++) {
            fin_async_call(first_half, "x");
            CHECK_EQ(fin_schedule(slot), 0);
            check_log[0] = 0;
        }
        fin_yield();
        check_log[0] = 0;
    }
}

int main(void) {
    void (*all[])(void) = {lazy_never_blocked, lazy_blocked, second_lazy_blocked, eager_never_blocked,
                           eager_blocked,      in_place,     with_an_inner_one,   many};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check_log[0] = 0;
        all[i]();
        CHECK_EQ(stacks(), 1);
    }
    return 0;
}
