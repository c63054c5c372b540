// SPDX-License-Identifier: BSD-2-Clause
// The runtime of an OS thread: made by the first finish block of the thread, given back when the thread ends.
#include <fin/awe_id.h>

#include "core/kept.h"
#include "core/locks.h"
#include "core/trace.h"
#include "core/woken.h"

__thread struct fin_thread *fin_self __attribute__((tls_model("initial-exec")));
__thread uint64_t fin_woken_at __attribute__((tls_model("initial-exec"))) = FIN_WOKEN_UNASKED;
struct fin_runtime *fin_runtimes;
uint32_t fin_runtime_count;

// A stack of those that no thread uses: the page where the first one lies, and in the bits above that a count of changes, so
// that who takes one notices if it was taken, and given back, since it was looked at.
static uint64_t unused;
enum { PAGE_SHIFT = 12, PAGE_BITS = 52 - PAGE_SHIFT };
#define PAGES (((uint64_t)1 << PAGE_BITS) - 1)

static struct fin_runtime *first_of(uint64_t stack) { return (struct fin_runtime *)((stack & PAGES) << PAGE_SHIFT); }

static uint64_t changed(uint64_t stack, const struct fin_runtime *first) {
    return ((stack & ~PAGES) + PAGES + 1) | (uintptr_t)first >> PAGE_SHIFT;
}

static struct fin_runtime *take_unused(void) {
    uint64_t was = __atomic_load_n(&unused, __ATOMIC_ACQUIRE);
    struct fin_runtime *rt;
    while ((rt = first_of(was)) && !__atomic_compare_exchange_n(&unused, &was,
                                                                changed(was, __atomic_load_n(&rt->below, __ATOMIC_RELAXED)),
                                                                false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    }
    return rt;
}

static void give_back(struct fin_runtime *rt) {
    uint64_t was = __atomic_load_n(&unused, __ATOMIC_RELAXED);
    do {
        __atomic_store_n(&rt->below, first_of(was), __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(&unused, &was, changed(was, rt), false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

// A runtime that no thread uses, or a new one. They are never freed: a waker may still look at one whose thread has ended.
static struct fin_runtime *claim_runtime(void) {
    struct fin_runtime *rt = take_unused();
    if (rt) {
        __atomic_store_n(&rt->in_use, 1, __ATOMIC_RELAXED);
        return rt;
    }
    rt = fin_host_map(sizeof *rt, 0);
    if (!rt)
        return NULL;
    uint32_t number = __atomic_fetch_add(&fin_runtime_count, 1, __ATOMIC_RELAXED);
    if (number > FIN_AWE_RUNTIMES) {
        fin_host_unmap(rt, sizeof *rt);
        return NULL;
    }
    rt->tag = (uint32_t)FIN_AWE_WAITS + number * FIN_AWE_RUNTIME;
    rt->in_use = 1;
    rt->next = __atomic_load_n(&fin_runtimes, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&fin_runtimes, &rt->next, rt, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return rt;
}

_Static_assert(offsetof(struct fin_thread, scheduler) == 24, "FIN_THREAD_SCHEDULER in src/arch/*/switch.S");

// With link-time optimization a linker takes the members of a static library that compiled code names. What is named by
// inline assembly alone is named here, beside a function that every program calls.
static __attribute__((used)) void (*const anchors[])(void) = {
    fin_async_done_,
    (void (*)(void))fin_core_yield_,
    (void (*)(void))fin_core_yield_save_,
    (void (*)(void))fin_finish_wait_,
};

// So that there is a section of them, also in a program that has no other.
static FIN_INNER void nobodys(void *state, int result) {
    (void)state;
    (void)result;
}

// In each program that has a runtime, also where the linker collects what nothing refers to: the table, and that section.
static const struct {
    const struct fin_look_ *look;
    fin_cont *inner;
} in_each_program __attribute__((used, retain)) = {&fin_look_, nobodys};

// The mark, a count of no use, is for <fin.hpp>: a plugin may bring C++ later.
static void *no_exceptions[2] = {NULL, (void *)0x80000000};

struct fin_thread *fin_thread_begin_(void) {
    struct fin_runtime *rt = claim_runtime();
    if (!rt)
        fin_host_die("no memory for a thread's runtime");
    fin_link_init(&rt->queue);
    fin_link_init(&rt->suspended);
    fin_link_init(&rt->starved);
    rt->hungry = false;
    rt->ticks = rt->turn = FIN_TICKS;
    rt->watched = 0;
    rt->expects = FIN_EXPECTS_NOTHING; // no more than other threads, until there is a poller, which says so
    rt->waits_for = FIN_FOR_IO;
    fin_id_begin(rt);
    rt->body = NULL;
    fin_link_init(&rt->called);
    rt->served = 0;
    __atomic_store_n(&rt->computing, 0, __ATOMIC_RELAXED); // who alerted the thread before may be late
    rt->name = NULL;
    rt->inner[0] = __start_fin_inner;
    rt->inner[1] = __stop_fin_inner;
    rt->holds_most = 0;
    rt->root = (struct fin_finish_block){.flags = FIN_FINISH_CLEAN};
    rt->thread.current = &rt->root;
    rt->stats = (struct fin_stats){0};
    for (int i = 0; i < FIN_REASONS; i++)
        rt->known[i] = 0;
    rt->finish_waits = 0;
    rt->thread.exceptions = fin_host_exception_state();
    if (!rt->thread.exceptions)
        rt->thread.exceptions = no_exceptions;
    fin_track_begin(rt);
    fin_stack_begin(rt);
    if (fin_host_thread_begin(rt) != 0)
        fin_host_die("the system refuses what a thread's runtime needs");
    rt->thread.scheduler = fin_stack_take(rt);
    fin_trace_begin(rt);
    fin_self = &rt->thread;
    return fin_self;
}

void fin_runtime_end(struct fin_runtime *rt) {
    if (fin_tracking(rt))
        fin_track_end(rt);
    if (fin_traced(rt))
        fin_trace_idle();
    fin_self = NULL;
    if (rt->poller)
        rt->poller->end(rt->poller);
    fin_stats_end(rt);
    __atomic_store_n(&rt->poller, NULL, __ATOMIC_RELAXED);
    fin_id_end(rt);
    fin_cont_pool_end(rt);
    fin_stack_end(rt);
    fin_host_thread_end(rt);
    fin_holds_end(rt);
    __atomic_store_n(&rt->inbox, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&rt->in_use, 0, __ATOMIC_RELEASE);
    give_back(rt);
}

void fin_runtime_wake(struct fin_runtime *rt) {
    struct fin_poller *poller = __atomic_load_n(&rt->poller, __ATOMIC_ACQUIRE);
    if (poller)
        poller->wake(poller);
    else
        fin_host_wake(rt);
}
