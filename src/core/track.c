// SPDX-License-Identifier: BSD-2-Clause
// The hooks for ASan, TSan and valgrind: all of them, and nowhere else. The sanitizers' functions are weak: a program
// without them pays nothing and one Fin serves both. In a sanitized program every async is eager, so a stack is what they
// call a fiber.
//
// They are told of a change of stack just before it, or just after; the few instructions between are not instrumented. What
// the core does on a stack never returns, so the library is built without the instrumentation of frames: src/meson.build.
#include <signal.h>

#include "core/runtime.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else // built where valgrind is not: its users will hear of stacks that it does not know
#define RUNNING_ON_VALGRIND 0
#define VALGRIND_STACK_REGISTER(lo, last) ((void)(lo), (void)(last))
#define VALGRIND_MAKE_MEM_NOACCESS(p, size) ((void)(p), (void)(size))
#define VALGRIND_MAKE_MEM_UNDEFINED(p, size) ((void)(p), (void)(size))
#define VALGRIND_MAKE_MEM_DEFINED(p, size) ((void)(p), (void)(size))
#endif

#define WEAK __attribute__((weak))
WEAK void __asan_handle_no_return(void);
WEAK void __asan_unpoison_memory_region(const volatile void *p, size_t size);
WEAK void *__asan_get_current_fake_stack(void);
WEAK void *__asan_addr_is_in_fake_stack(void *fake_stack, void *addr, void **begin, void **end);
WEAK void __lsan_register_root_region(const void *p, size_t size);
WEAK void __lsan_unregister_root_region(const void *p, size_t size);
WEAK void __sanitizer_start_switch_fiber(void **save, const void *lo, size_t size);
WEAK void __sanitizer_finish_switch_fiber(void *saved, const void **lo, size_t *size);
WEAK void __tsan_acquire(void *at);
WEAK void __tsan_release(void *at);
WEAK void *__tsan_get_current_fiber(void);
WEAK void *__tsan_create_fiber(unsigned flags);
WEAK void __tsan_destroy_fiber(void *fiber);
WEAK void __tsan_switch_to_fiber(void *fiber, unsigned flags);
WEAK int __sigaction(int signal, const struct sigaction *now, struct sigaction *before); // glibc's other name for it

// Takes the place of the exception state: never zero, so that every switch takes the slow path.
void *fin_track_always[2] = {fin_track_always, fin_track_always};

bool fin_on_valgrind;

static void forget_fiber(struct fin_runtime *rt, struct fin_stack *s) {
    (void)rt;
    s->fiber = NULL;
}

// In the child of a fork TSan knows only the fiber that called it. The other stacks get new ones; an AWE of the parent's
// that goes on there is not followed as well as it was.
static void forked(void) {
    struct fin_runtime *rt = fin_self ? fin_rt(fin_self) : NULL;
    if (!rt || !fin_tracking(rt))
        return;
    rt->os_stack.fiber = NULL;
    fin_stack_each(rt, forget_fiber);
    rt->running->fiber = __tsan_get_current_fiber();
}

void fin_track_begin(struct fin_runtime *rt) {
    if (RUNNING_ON_VALGRIND) {
        fin_on_valgrind = true; // written nowhere else: it races with nothing but itself
        rt->watched = FIN_WATCHED_VALGRIND;
    }
    if (!__sanitizer_start_switch_fiber && !__tsan_create_fiber)
        return;
    rt->thread.exceptions = fin_track_always;
    rt->watched |= FIN_WATCHED_SANITIZER;
    // runtimes are used again and never freed, and LSan does not know what is not malloc's
    if (__lsan_register_root_region && !rt->running)
        __lsan_register_root_region(rt, sizeof *rt);
    rt->running = &rt->os_stack;
    if (__tsan_get_current_fiber) {
        rt->os_stack.fiber = __tsan_get_current_fiber();
        if (fin_host_on_fork(forked) != 0)
            fin_host_die("the system refuses what a thread's runtime needs");
    }
    fin_host_os_stack(&rt->os_stack.lo, &rt->os_stack.size);
}

// Memory of a stack that is written before the stack pointer moves there. Valgrind takes it for what an older frame left.
void fin_track_use(void *p, size_t size) {
    VALGRIND_MAKE_MEM_UNDEFINED(p, size);
}

// Memory that holds what valgrind did not see written: by the kernel through an io_uring.
void fin_track_written(void *p, size_t size) {
    VALGRIND_MAKE_MEM_DEFINED(p, size);
}

// The frame of a body that has ended is still in use: see keep_outer_body. Its size is not known here.
void fin_track_keep(struct fin_body *body) {
    enum { ENOUGH = 4096 };
    fin_track_written((char *)body - ENOUGH, ENOUGH);
}

// With its guard below it. Valgrind takes that for memory as well, and its search for leaks would try each word of it.
void fin_track_stack(struct fin_stack *s, void *lo, size_t size, size_t guard) {
    if (fin_on_valgrind) {
        VALGRIND_STACK_REGISTER(lo, (char *)lo + size - 1);
        VALGRIND_MAKE_MEM_NOACCESS((char *)lo - guard, guard);
    }
    s->lo = lo;
    s->size = size;
    if (__lsan_register_root_region)
        __lsan_register_root_region(lo, size);
}

// ASan may have a frame's variables elsewhere: then the frame.
const void *fin_track_in_stack(const void *p) {
    void *fake = __asan_get_current_fake_stack ? __asan_get_current_fake_stack() : NULL, *begin, *end;
    void *frame = fake ? __asan_addr_is_in_fake_stack(fake, (void *)(uintptr_t)p, &begin, &end) : NULL;
    return frame ? frame : p;
}

// Memory that is no stack and may hold the only pointer to something.
void fin_track_memory(void *p, size_t size, bool begins) {
    if (begins && __lsan_register_root_region)
        __lsan_register_root_region(p, size);
    if (!begins && __lsan_unregister_root_region)
        __lsan_unregister_root_region(p, size);
}

// Memory that something maps out of TSan's sight, which would take what the thread before did there for a race.
void fin_track_mapping(bool begins) {
    static char order;
    if (__tsan_acquire)
        (begins ? __tsan_acquire : __tsan_release)(&order);
}

// sigaction(2), for a handler that is FIN_UNTRACKED throughout and makes system calls itself. TSan keeps a signal until the
// fiber that it came to calls a function that TSan knows; but that one's AWE may be waiting for this very signal. So TSan
// does not hear of the handler.
int fin_track_sigaction(int signal, const struct sigaction *now, struct sigaction *before) {
    return (__tsan_create_fiber && __sigaction ? __sigaction : sigaction)(signal, now, before);
}

// The flags of sigaction(2) for a handler that may run on the thread's other stack. Not on valgrind, which knows of no such
// stack: where another thread runs or ends while a handler is there, it takes the next growth of the stack that this one was
// called on for a change of stacks, and what is written there for invalid.
int fin_track_on_other_stack(void) { return RUNNING_ON_VALGRIND ? 0 : SA_ONSTACK; }

static void tell_asan(struct fin_stack *from, struct fin_stack *to) {
    __sanitizer_start_switch_fiber(from ? &from->fake_stack : NULL, to->lo, to->size);
    __sanitizer_finish_switch_fiber(to->fake_stack, NULL, NULL);
}

void fin_track_stack_end(struct fin_runtime *rt, struct fin_stack *s) {
    if (__lsan_unregister_root_region)
        __lsan_unregister_root_region(s->lo, s->size);
    if (__asan_unpoison_memory_region) // frames that have not returned have poison there, and other memory comes there
        __asan_unpoison_memory_region(s->lo, s->size);
    if (__tsan_destroy_fiber && s->fiber)
        __tsan_destroy_fiber(s->fiber);
    if (__sanitizer_start_switch_fiber && s->fake_stack) {
        // the only way to free one is to leave it for good
        tell_asan(rt->running, s);
        tell_asan(NULL, rt->running);
    }
}

static void change(struct fin_runtime *rt, struct fin_stack *to) {
    struct fin_stack *from = rt->running;
    if (from == to)
        return;
    rt->running = to;
    if (__sanitizer_start_switch_fiber)
        tell_asan(from, to);
    if (__tsan_create_fiber) {
        if (!to->fiber)
            to->fiber = __tsan_create_fiber(0);
        __tsan_switch_to_fiber(to->fiber, 0);
    }
}

// Called last before execution goes on at `sp`.
void fin_track_switch(struct fin_runtime *rt, void *sp) {
    char *lo = rt->os_stack.lo;
    bool os = (size_t)((char *)sp - lo) < rt->os_stack.size;
    change(rt, os ? &rt->os_stack : (struct fin_stack *)fin_stack_top(rt, sp));
}

// Called first on a stack that execution came to without fin_track_switch: behind an async whose body has just ended.
void fin_track_landed_(void) {
    struct fin_runtime *rt = fin_rt(fin_self);
    if (fin_tracking(rt))
        fin_track_switch(rt, __builtin_frame_address(0));
}

// The thread ends. Where that is in the middle of an AWE it is no longer on the AWE's stack: pthread_exit leaves that for
// the one that the thread came with, and for frames there that have not returned.
void fin_track_end(struct fin_runtime *rt) {
    struct fin_stack *os = &rt->os_stack;
    if (rt->running == os)
        return;
    change(rt, os);
    if (__asan_unpoison_memory_region)
        __asan_unpoison_memory_region(os->lo, os->size);
}

// The frames on the running stack will not return: their poison goes, and TSan's idea of them with the fiber, when it is
// next used.
void fin_track_drop(struct fin_runtime *rt) {
    if (__asan_handle_no_return)
        __asan_handle_no_return();
    rt->running->dropped = true;
}

void fin_track_eager_call_(struct fin_finish_block *top) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_stack *to = (struct fin_stack *)top;
    if (!fin_tracking(rt))
        return;
    if (to->dropped && to->fiber) {
        if (rt->running == to) // who ended there, in the midst of its body, was followed by who begins there
            change(rt, &rt->os_stack);
        __tsan_destroy_fiber(to->fiber);
        to->fiber = NULL;
    }
    to->dropped = false;
    change(rt, to);
}
