// SPDX-License-Identifier: BSD-2-Clause
// The hooks for ASan and TSan: all of them, and nowhere else. The sanitizers' functions are weak: a program without them pays
// nothing and one Fin serves both. In a sanitized program every async is eager, so a stack is what they call a fiber.
#include "core/runtime.h"

#define WEAK __attribute__((weak))
WEAK void __sanitizer_start_switch_fiber(void **save, const void *lo, size_t size);
WEAK void __sanitizer_finish_switch_fiber(void *saved, const void **lo, size_t *size);
WEAK void *__tsan_get_current_fiber(void);
WEAK void *__tsan_create_fiber(unsigned flags);
WEAK void __tsan_destroy_fiber(void *fiber);
WEAK void __tsan_switch_to_fiber(void *fiber, unsigned flags);

// Takes the place of the exception state: never zero, so that every switch takes the slow path.
void *fin_track_always[2] = {fin_track_always, fin_track_always};

void fin_track_begin(struct fin_runtime *rt) {
    if (!__sanitizer_start_switch_fiber && !__tsan_create_fiber)
        return;
    rt->exceptions = fin_track_always;
    rt->running = &rt->os_stack;
    if (__tsan_get_current_fiber)
        rt->os_stack.fiber = __tsan_get_current_fiber();
    fin_host_os_stack(&rt->os_stack.lo, &rt->os_stack.size);
}

void fin_track_stack(struct fin_stack *s, void *lo, size_t size) {
    s->lo = lo;
    s->size = size;
    if (__tsan_create_fiber)
        s->fiber = __tsan_create_fiber(0);
}

void fin_track_stack_end(struct fin_stack *s) {
    if (__tsan_destroy_fiber && s->fiber)
        __tsan_destroy_fiber(s->fiber);
}

static void leave_for(struct fin_runtime *rt, struct fin_stack *to) {
    struct fin_stack *from = rt->running;
    rt->running = to;
    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(&from->fake_stack, to->lo, to->size);
    if (__tsan_switch_to_fiber && from != to)
        __tsan_switch_to_fiber(to->fiber, 0);
}

// Called last before execution goes on at `sp`.
void fin_track_switch(struct fin_runtime *rt, void *sp) {
    char *lo = rt->os_stack.lo;
    bool os = (size_t)((char *)sp - lo) < rt->os_stack.size;
    leave_for(rt, os ? &rt->os_stack : (struct fin_stack *)fin_stack_top(rt, sp));
}

// Called first on the stack that a switch came to.
void fin_track_landed_(void) {
    struct fin_runtime *rt = fin_rt(fin_self);
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(rt->running->fake_stack, NULL, NULL);
}

void fin_track_eager_call_(struct fin_finish_block *top) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_stack *to = (struct fin_stack *)top;
    to->fake_stack = NULL;
    if (fin_tracking(rt))
        leave_for(rt, to);
}

void fin_track_body_enter_(struct fin_finish_block *top) {
    (void)top;
    fin_track_landed_();
}

// The end of an eager body: where it never blocked it goes straight back to its caller.
void fin_track_body_leave_(struct fin_finish_block *top) {
    struct fin_runtime *rt = fin_rt(fin_self);
    if (fin_tracking(rt) && top->pending)
        fin_track_switch(rt, top->awe.context.sp);
}

struct tracked_call {
    void (*fn)(void *);
    void *arg;
};

void fin_tracked_body_(void *arg) {
    fin_track_landed_();
    struct tracked_call call = *(struct tracked_call *)arg;
    struct fin_finish_block *top = fin_stack_top(fin_rt(fin_self), &call);
    call.fn(call.arg);
    fin_track_body_leave_(top);
}
