// SPDX-License-Identifier: BSD-2-Clause
// Ends the running AWE in the middle of its async body. It may have to wait first, so it is compiled like code that blocks.
#include <fin/async.h>

#include "core/dispatch.h"

// Waits for the end of the innermost finish block, not in the frame of its owner: so it goes on on the stack where it is,
// and a stack of the block's cannot be given back before that one has been left. Returns the list of those.
static struct fin_finish_block *end_block(struct fin_finish_block *b, struct fin_finish_block *left) {
    struct fin_finish_block *away = b->away;
    b->away = NULL;
    fin_finish_leave_(b);
    struct fin_poller *p = fin_here()->poller;
    if (b->flags & FIN_FINISH_TIMED && p)
        p->left(p, b);
    if (!away)
        return left;
    away->parent = left;
    return away;
}

// What a catch clause was handling, which is not left: the exception is lost, but nobody else is to be taken for who has it.
static void forget_exceptions(struct fin_runtime *rt) {
    void **e = fin_exceptions(rt);
    if (e && !fin_no_exceptions_(e))
        e[0] = e[1] = NULL;
}

// The functions that the library called in the innermost block, and that do not return.
static void leave_called(struct fin_runtime *rt, const struct fin_body *body) {
    for (struct fin_link *l = rt->called.next, *next; l != &rt->called; l = next) {
        struct fin_called *c = FIN_CALLED_OF(l);
        next = l->next;
        if (c->body != body || c->block != rt->thread.current)
            continue;
        fin_called_end(c);
        c->left(c);
    }
}

// On the scheduler's stack, as where a body that has blocked returns.
static void has_ended(void *body) { fin_core_async_done(((struct fin_body *)body)->block, body); }

// What a body that has blocked returns to is left alone: its function may have returned before (fin/thc.h), and where a
// compiler does not optimize, code at that place writes to the function's frame.
FIN_BLOCKING void fin_end_(void) {
    struct fin_runtime *rt = fin_here();
    struct fin_body *body = running_body(rt, pending_of(rt->thread.current));
    while (!body) { // outside any async: there is nothing to go back to
        struct fin_awe *never;
        fin_await(&never);
    }
    struct fin_finish_block *block = body->block, *left = NULL;
    for (leave_called(rt, body); rt->thread.current != block; leave_called(rt, body))
        left = end_block(rt->thread.current, left);
    for (struct fin_finish_block *next; left; left = next) {
        next = left->parent;
        fin_stack_put(rt, left);
    }
    forget_exceptions(rt);
    if (block->flags & FIN_FINISH_CONT) {
        fin_cont_over(rt, body);
        return;
    }
    if (fin_tracking(rt))
        fin_track_drop(rt);
    if (body_of(block) != body)
        fin_arch_on_stack(rt->thread.scheduler, has_ended, body);
    const struct fin_awe *a = &block->awe; // see back_to_site in finish.c
    bool eager = block->flags & FIN_FINISH_EAGER;
    go(rt, fin_arch_site(body), body, eager ? a->context.fp : block->fp, eager ? a->bx : block->bx);
}
