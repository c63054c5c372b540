// SPDX-License-Identifier: BSD-2-Clause
// The end of a finish block, and the end of an async body that had blocked (ac 4.1, figure 6; rules Pool-1 to Pool-3).
#include "core/dispatch.h"

// The owner is done with the stack that it came to when a body blocked on its own.
static inline void come_home(struct fin_runtime *rt, struct fin_awe *a, struct fin_finish_block *b) {
    fin_stack_put(rt, b->away);
    b->away = NULL;
    a->context.sp = (struct fin_body *)b->home_sp + 1;
}

// The owner arrived at the end of its block and something is left to do. It goes on, on the stack that it entered the block
// on, when no body is left.
static __attribute__((noinline)) void wait_slow(struct fin_runtime *rt, struct fin_awe *a, struct fin_finish_block *b) {
    if (b->away) {
        if (FIN_UNLIKELY(!fin_stack_has(rt, b->away, a->context.sp)))
            fin_host_die(
                "the stack changed inside a fin_finish block: a variable-length array or alloca() between the start "
                "of the block and its end; move it into the async body or before the block");
        come_home(rt, a, b);
    }
    if (b->count == 0) {
        fin_cancel_leave(b);
        rt->thread.current = b;
        if (fin_tracking(rt))
            fin_track_switch(rt, a->context.sp);
        fin_arch_resume(&a->context);
        return;
    }
    struct fin_finish_block *p = stop(rt, a, FIN_AWE_BUSY);
    b->flags |= FIN_FINISH_WAITING;
    rt->finish_waits++;
    if (p)
        fin_continue_pending(rt, p);
    else
        dispatch(rt);
}

FIN_ENTRY void fin_finish_wait_(struct fin_awe *a, struct fin_finish_block *b) {
    struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_awe *next = next_plain(rt);
    if (FIN_UNLIKELY(!next || !b->count || (b->away && !fin_stack_has(rt, b->away, a->context.sp))) ||
        FIN_UNLIKELY(!fin_no_exceptions(rt) || pending_of(b))) {
        wait_slow(rt, a, b);
        return;
    }
    if (b->away)
        come_home(rt, a, b);
    stop_plain(rt, a, FIN_AWE_BUSY, 0);
    b->flags |= FIN_FINISH_WAITING;
    rt->finish_waits++;
    run_plain(rt, next);
}

// The body, and all that was started directly inside it, is done with its stack: it is free, unless it is the one that the
// owner entered the block on. Returns the body of the same block around it, if any.
static struct fin_body *free_body(struct fin_runtime *rt, struct fin_body *body) {
    struct fin_finish_block *block = body->block;
    if (block->flags & FIN_FINISH_EAGER) {
        struct fin_body *outer = block->home_sp;
        fin_stack_put(rt, block);
        return outer;
    }
    if (body != block->home_sp)
        fin_stack_put(rt, fin_stack_top(rt, body));
    return NULL;
}

// Goes back to the site of an async whose body never blocked.
static void back_to_site(struct fin_runtime *rt, struct fin_finish_block *block, struct fin_body *body) {
    const struct fin_awe *a = &block->awe; // where the eager site left the owner's registers
    bool eager = block->flags & FIN_FINISH_EAGER;
    block->pending = body;
    if (FIN_UNLIKELY(fin_on_valgrind)) // the return has left it
        fin_track_written((void **)body - 1, sizeof(void *));
    go(rt, fin_arch_site(body), body, eager ? a->context.fp : block->fp, eager ? a->bx : block->bx);
}

// A body ended after it had blocked; or its block's note of it carries a flag. Where an async directly inside it blocked and
// has not ended, the body counts as blocked itself: its frame has to stay. Runs on the scheduler's stack.
static __attribute__((noinline)) void done_slow(struct fin_runtime *rt, struct fin_finish_block *block,
                                                struct fin_body *body) {
    if (body_of(block) == body) {
        if (!((uintptr_t)block->pending & FIN_PENDING_INNER) || body->inner == 0) {
            back_to_site(rt, block, body);
            return;
        }
        body->ended = 1;
        if (FIN_UNLIKELY(fin_on_valgrind))
            fin_track_keep(body);
        block->pending = (void *)((uintptr_t)block->pending & ~(uintptr_t)FIN_PENDING_ITEMS);
        fin_continue_pending(rt, block);
        return;
    }
    struct fin_finish_block *b = written_block(block);
    body->inner &= ~FIN_BODY_ITEMS;
    body->ended = 1;
    if (FIN_UNLIKELY(fin_on_valgrind) && body->inner)
        fin_track_keep(body);
    while (body && body->ended && body->inner == 0) {
        body = free_body(rt, body);
        b->count--;
        if (body)
            body->inner--;
    }
    if (FIN_UNLIKELY(b->flags & FIN_FINISH_CLOSING))
        fin_finish_on_left(rt, b);
    if (b->count == 0 && (b->flags & FIN_FINISH_WAITING)) {
        b->flags &= ~(uint32_t)FIN_FINISH_WAITING;
        fin_cancel_leave(b);
        if (fin_traced(rt))
            fin_trace_resumes(rt, &b->awe);
        resume(rt, &b->awe);
    } else {
        dispatch(rt);
    }
}

// The last body, where its owner waits.
FIN_ENTRY void fin_core_async_done(struct fin_finish_block *block, struct fin_body *body) {
    struct fin_runtime *rt = fin_rt(fin_self);
    bool eager = block->flags & FIN_FINISH_EAGER;
    struct fin_finish_block *b = eager ? block->parent : block;
    if (FIN_UNLIKELY(body_of(block) == body || body->inner || rt->watched || block->flags & FIN_FINISH_CONT) ||
        block->home_sp != (eager ? NULL : body) || b->count != 1 ||
        (b->flags & (FIN_FINISH_EAGER | FIN_FINISH_WAITING | FIN_FINISH_LISTS)) != FIN_FINISH_WAITING ||
        FIN_UNLIKELY(fin_state(&b->awe) & FIN_AWE_EXTRA)) {
        done_slow(rt, block, body);
        return;
    }
    if (eager)
        fin_stack_put(rt, block);
    b->count = 0;
    b->flags &= ~(uint32_t)FIN_FINISH_WAITING;
    resume_plain(rt, &b->awe);
}
