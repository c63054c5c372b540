// SPDX-License-Identifier: BSD-2-Clause
// Finish blocks that an explicit AWE is in from one step to a later one. In the block around it such a block counts once, in
// the place of its opener; in the block itself the opener counts, as it counted around, and its step does while it runs.
// Compiled like code that blocks, for the one that waits with a stack.
#include <fin/finish_on.h>

#include "core/cont.h"

// What counts in a block in which its opener is alone, and runs.
enum { OPENER_AND_STEP = 2 };

static struct fin_finish_on *on_of(struct fin_finish_block *b) { return (struct fin_finish_on *)(void *)b; }

// The step that runs, at the base of its stack. What its frames own belongs to the block that they began in.
static int step_here(struct fin_runtime *rt, struct fin_body **step) {
    struct fin_body *body = here(rt);
    if (!running_record(body))
        return -EINVAL;
    if (rt->thread.current != body->block || (has_had_items(body) && fin_frames_have_items(rt, body)))
        return -EBUSY;
    *step = body;
    return 0;
}

// From here on it waits in the other block: its item is linked there when it does.
static void move(struct fin_cont_record *e, struct fin_finish_block *to) {
    fin_cancel_remove(item_of(e));
    e->block = to;
}

static int open_block(struct fin_finish_on *f, uint32_t flags) {
    struct fin_body *body;
    int error = step_here(fin_here(), &body);
    if (error)
        return error;
    if (body->inner & ~FIN_BODY_ITEMS) // these count in the block around
        return -EBUSY;
    struct fin_cont_record *e = body->resume;
    f->block.pending = f->block.away = f->block.home_sp = NULL;
    f->block.flags = FIN_FINISH_ON | FIN_FINISH_CLEAN | flags;
    f->block.count = OPENER_AND_STEP;
    f->block.parent = e->block;
    f->opener = awe_of(e);
    e->block->count--;
    move(e, &f->block);
    body->block->parent = &f->block;
    return 0;
}

int fin_finish_open(struct fin_finish_on *f) { return open_block(f, 0); }
int fin_finish_open_nc(struct fin_finish_on *f) { return open_block(f, FIN_FINISH_NC); }

static int opened_here(struct fin_runtime *rt, struct fin_finish_on *f, struct fin_body **step) {
    int error = step_here(rt, step);
    if (error)
        return error;
    struct fin_cont_record *e = (*step)->resume;
    return e->block == &f->block && f->block.flags & FIN_FINISH_ON && f->opener == awe_of(e) ? 0 : -EINVAL;
}

// Nobody is left. Was it late?
static bool end_block(struct fin_runtime *rt, struct fin_finish_block *b) {
    fin_cancel_leave(b);
    return b->flags & FIN_FINISH_TIMED && !(rt->poller && rt->poller->left(rt->poller, b));
}

static bool close_now(struct fin_runtime *rt, struct fin_finish_on *f, struct fin_body *step) {
    struct fin_finish_block *around = f->block.parent;
    move(step->resume, around);
    step->block->parent = around;
    around->count++;
    return end_block(rt, &f->block);
}

int fin_finish_close(struct fin_finish_on *f) {
    struct fin_runtime *rt = fin_here();
    struct fin_body *step;
    int error = opened_here(rt, f, &step);
    if (error)
        return error;
    return f->block.count == OPENER_AND_STEP ? close_now(rt, f, step) : -EBUSY;
}

static _Noreturn void ends(void *state, int result) {
    (void)state, (void)result;
    fin_cont_end();
    __builtin_unreachable();
}

// Others have a turn now and then, also where nobody is left to wait for; and whoever comes meanwhile finds the block open.
// So one is there, at the tail of the queue, that ends.
static bool others_turn(struct fin_runtime *rt, struct fin_finish_block *b) {
    return !tick(rt) && fin_cont_start_(b, ends, "", 0);
}

int fin_finish_close_on(struct fin_finish_on *f, fin_cont *cont, const void *state, size_t size) {
    struct leaving l;
    struct fin_body *step;
    int error = opened_here(fin_here(), f, &step);
    if (!error)
        error = fin_cont_begin(cont, size, false);
    if (error)
        return error;
    if (f->block.count == OPENER_AND_STEP && !others_turn(fin_here(), &f->block))
        return fin_cont_call_first(cont, state, size, close_now(fin_here(), f, step));
    error = stop_with(&l, cont, state, size);
    if (error)
        return error;
    move(l.e, f->block.parent);
    f->block.count--; // its step counts until it is left, and is not the last that does
    f->block.flags |= FIN_FINISH_CLOSING;
    f->waiter = awe_of(l.e);
    f->left = 0;
    l.e->cancellable = AT_END;
    expose_as(l.rt, l.e, FIN_AWE_BUSY); // no cancel comes here: its item is on no list
    fin_cont_leave_to_next(l.rt, l.body, FIN_FOR_FINISH);
    return 0;
}

FIN_BLOCKING int fin_finish_close_wait(struct fin_finish_on *f) {
    struct fin_runtime *rt = fin_here();
    struct fin_body *step;
    int error = opened_here(rt, f, &step);
    if (error)
        return error;
    if (f->block.count != OPENER_AND_STEP) {
        f->block.flags |= FIN_FINISH_CLOSING;
        f->left = OPENER_AND_STEP;
        rt->finish_waits++;
        fin_await(&f->waiter);
    }
    return close_now(rt, f, step);
}

// The waiter runs next, as the owner of a block in a frame does: who may still start something in the block, from outside,
// finds it open, or sees what the waiter does when it is over.
void fin_finish_on_left(struct fin_runtime *rt, struct fin_finish_block *b) {
    struct fin_finish_on *f = on_of(b);
    if (b->count != f->left)
        return;
    b->flags &= ~(uint32_t)FIN_FINISH_CLOSING;
    if (f->left == 0)
        fin_cont_result(f->waiter, end_block(rt, b));
    fin_schedule_decided_front(f->waiter);
}
