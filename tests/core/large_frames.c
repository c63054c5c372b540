// SPDX-License-Identifier: BSD-2-Clause
// Frames of more than a page, up to a stack's size and more in one step, in a program that is compiled with
// -fstack-clash-protection: an overflow is reported with the AWE's name. (And the header is quiet with that option.)
#include <alloca.h>

#include <fin.h>

#include "process.h"

static volatile int endless = 1;
static size_t frame;
static bool all; // of the frame is written; otherwise its lowest byte, which lies farthest off

static int __attribute__((noinline)) recurse(int depth) {
    volatile char *room = alloca(frame);
    if (all)
        memset((char *)room, 1, frame);
    else
        room[0] = 1;
    return endless ? recurse(depth + 1) + room[0] : depth;
}

static void blocks(void *unused) {
    (void)unused;
    fin_yield();
}

static void overflows(void *name) {
    fin_set_name(name);
    recurse(0);
}

static void overflows_later(void *name) {
    fin_yield();
    overflows(name);
}

static int __attribute__((noinline)) in_blocks(int depth) {
    volatile int sum = 0;
    fin_finish {
        fin_async_call(blocks, NULL);
        sum += depth ? in_blocks(depth - 1) : recurse(0);
    }
    return sum;
}

static void overflows_in_blocks(void *name) {
    fin_set_name(name);
    in_blocks(5);
}

static void lazily(void) {
    fin_finish {
        fin_async_call(blocks, NULL);
        fin_async_call(overflows, "the large one");
    }
}

static void eagerly_later(void) {
    fin_finish {
        fin_async_eager_call(overflows_later, "the large one");
        fin_async_eager_call(blocks, NULL);
    }
}

static void deep(void) {
    fin_finish {
        fin_async_call(blocks, NULL);
        fin_async_call(overflows_in_blocks, "the large one");
    }
}

static void run(void *fn) { (*(void (**)(void))fn)(); }

static void (*chosen)(void);
static void on_a_thread(void) {
    struct fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, run, &chosen), 0);
    fin_thread_join_nc(&t);
}

static void check(void (*fn)(void), const char *stack) {
    char text[8192];
    CHECK_EQ(killed_by(fn, text, sizeof text), SIGSEGV);
    CHECK(strstr(text, "fin: stack overflow in AWE \"the large one\", entry overflows") && strstr(text, stack));
}

int main(void) {
#if FIN_SANITIZED
    SKIP("sanitizers report what faults themselves");
#endif
    static const size_t frames[] = {5000, 16384, 65536, 1 << 20};
    static void (*const ways[])(void) = {lazily, eagerly_later, deep};
    for (size_t i = 0; i < sizeof frames / sizeof *frames * 2; i++) {
        frame = frames[i / 2];
        all = i % 2;
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            chosen = ways[w];
            bool both = !getenv("FIN_FEW"), thread = (i / 2 + w) % 2;
            if (both || !thread)
                check(chosen, " KiB are used up");
            if (both || thread)
                check(on_a_thread, " KiB are used up");
        }
    }
    return 0;
}
