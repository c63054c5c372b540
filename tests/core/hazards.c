// SPDX-License-Identifier: BSD-2-Clause
// The hazards of the lazy technique that DESIGN.md lists and that one file can show. Each function is named after its
// hazard.
#include <stdint.h>
#include <string.h>

#include <fin.h>

#include "check.h"

static void yields(void *n) {
    fin_yield();
    ++*(int *)n;
}

// macros must be variadic: commas in bodies
static void commas_in_bodies(void) {
    fin_shared int sum = 0;
    fin_finish {
        fin_async {
            int a = 1, b = 2, c[] = {3, 4};
            fin_yield();
            sum += a + b + c[0] + c[1];
        };
    }
    CHECK_EQ(sum, 10);
}

// over-aligned locals: Clang uses rbx as base pointer then, GCC realigns the frame
static void over_aligned_locals(void) {
    _Alignas(128) volatile char wide[256];
    fin_shared int ran = 0;
    memset((void *)wide, 7, sizeof wide);
    fin_finish {
        for (int i = 0; i < 10; i++) {
            fin_async_call(yields, &ran);
            CHECK_EQ((uintptr_t)wide % 128, 0);
            for (size_t k = 0; k < sizeof wide; k++)
                CHECK_EQ(wide[k], 7 + i);
            memset((void *)wide, 8 + i, sizeof wide);
        }
    }
    CHECK_EQ(wide[200], 17);
    CHECK_EQ(ran, 10);
}

#ifdef __BLOCKS__
// closures are per iteration: a block is made anew in the same place, and a body that blocked still needs its own
static void closures_of_blocks(void) {
    struct wide {
        _Alignas(64) char bytes[300];
    };
    fin_shared int ended = 0;
    fin_finish {
        for (int i = 0; i < 10; i++) {
            struct wide w;
            memset(w.bytes, i, sizeof w.bytes);
            fin_async {
                fin_yield();
                CHECK_EQ((uintptr_t)w.bytes % 64, 0);
                for (size_t k = 0; k < sizeof w.bytes; k++)
                    CHECK_EQ(w.bytes[k], i);
                ended++;
            };
            fin_async_eager {
                fin_yield();
                CHECK_EQ(w.bytes[299] + i, 2 * i);
                ended++;
            };
        }
    }
    CHECK_EQ(ended, 20);
}
#else // a GNU C body shares its function's variables
static void closures_of_blocks(void) {}
#endif

// 16-byte alignment at every entry, of bodies, of continuations and after a resume
static __attribute__((noinline)) void aligned(void) {
    _Alignas(16) volatile char sse[16];
    CHECK_EQ((uintptr_t)sse % 16, 0);
    CHECK_EQ((uintptr_t)__builtin_frame_address(0) % 16, 0);
}
static void aligned_body(void *n) {
    aligned();
    fin_yield();
    aligned();
    ++*(int *)n;
}
static void alignment_at_every_entry(void) {
    fin_shared int ran = 0;
    fin_finish {
        fin_async_call(aligned_body, &ran);
        aligned();
        fin_async_eager_call(aligned_body, &ran);
        aligned();
        fin_async {
            aligned();
            fin_yield();
            aligned();
        };
        aligned();
        fin_async_eager {
            aligned();
            fin_async { aligned_body(&ran); };
            aligned();
        };
        aligned();
    }
    aligned();
    CHECK_EQ(ran, 3);
}

// the red zone: a function that calls nothing that the compiler can see may keep locals below its stack pointer. (fin_yield
// can call fin_thread_begin_: this is the rest of it.)
static __attribute__((noinline)) long leaf(long a, long b, long c, long d) {
    volatile long kept[12] = {a, b, c, d, a + b, a + c, a + d, b + c, b + d, c + d, a * b, c * d};
    FIN_AWE_HERE_(here);
    FIN_ARCH_BLOCK_(fin_core_yield_, here, fin_self, fin_any_(), fin_any_());
    long sum = 0;
    for (int i = 0; i < 12; i++)
        sum += kept[i];
    return sum;
}
static void red_zone(void) {
    fin_shared long sum = 0;
    fin_finish {
        for (long i = 0; i < 50; i++) {
            fin_async {
                long mine = i;
                long s = leaf(mine, mine + 1, mine + 2, mine + 3);
                CHECK_EQ(s, (4 * mine + 6) * 4 + mine * (mine + 1) + (mine + 2) * (mine + 3));
                sum += s;
            };
        }
    }
    CHECK(sum > 0);
}

// the finish ends on the stack that entered it, and locals live in one frame whatever stack runs the function
static void locals_across_stacks(void) {
    fin_shared int ran = 0;
    unsigned here = 1;
    char *before = (char *)__builtin_frame_address(0);
    fin_finish {
        for (int i = 0; i < 20; i++) {
            here = here * 3 + (unsigned)i;
            fin_async_call(yields, &ran);
            CHECK((char *)__builtin_frame_address(0) == before);
        }
    }
    unsigned expected = 1;
    for (unsigned i = 0; i < 20; i++)
        expected = expected * 3 + i;
    CHECK_EQ(here, expected);
    CHECK_EQ(ran, 20);
}

// a large frame, with a call of many arguments on the stack while the owner runs elsewhere
static __attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}
static void large_frame(void) {
    volatile char big[20000];
    fin_shared int ran = 0;
    memset((void *)big, 1, sizeof big);
    fin_finish {
        fin_async_call(yields, &ran);
        CHECK_EQ(many(1, 2, 3, 4, 5, 6, 7, 8, 9, big[19999]), 1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 + 81 + 10);
        fin_async_call(yields, &ran);
        for (size_t k = 0; k < sizeof big; k++)
            CHECK_EQ(big[k], 1);
    }
    CHECK_EQ(ran, 2);
}

// what a body changes after its call came back is seen by the owner: GCC must not reason from the body's code about the call
static void effects_of_a_blocked_body(void) {
    fin_shared int first = 0, second = 0;
    fin_finish {
        fin_async {
            fin_yield();
            first = 1;
        };
        fin_async_eager {
            fin_yield();
            second = 2;
        };
        while (first == 0 || second == 0)
            fin_yield();
    }
    CHECK_EQ(first + second, 3);
}

// loops of blocks, recursion through blocks and bodies
static int recurse(int depth) {
    fin_shared int below = 0;
    if (depth == 0)
        return 1;
    fin_finish {
        fin_async {
            fin_yield();
            below += recurse(depth - 1);
        };
        fin_async { below += recurse(depth - 1); };
    }
    return below;
}

int main(void) {
    for (int i = 0; i < 50; i++) {
        commas_in_bodies();
        over_aligned_locals();
        closures_of_blocks();
        alignment_at_every_entry();
        red_zone();
        locals_across_stacks();
        large_frame();
        effects_of_a_blocked_body();
    }
    CHECK_EQ(recurse(10), 1024);
    return 0;
}
