// SPDX-License-Identifier: BSD-2-Clause
// Block-structured cancellation (ac 2.2, 4.3). A block's list holds its cancel items and, as an item of its own kind, each
// block inside it that has some. A block is linked to those around it when the first item appears in it, so that blocks
// without cancellable work never touch a list. Invariant: one whose list is in use is marked as cancelled where one around
// it, up to a fin_finish_nc, has been; between the two only the items of that cancel run.
#include "core/dispatch.h"
#include "core/locks.h"
#include "core/probe.h"

// Of an item that is a block; its argument is the thread's runtime. It is not called: no stack is as deep as blocks may be
// nested.
static void nested(void *runtime) { (void)runtime; }

// Of an item that is counted in the body whose frames it lies in: its function's address has the other half's highest bit.
#define COUNTED ((uintptr_t)1 << (8 * sizeof(uintptr_t) - 1))
typedef void item_fn(void *);
static item_fn *turned(item_fn *fn) { return (item_fn *)((uintptr_t)fn ^ COUNTED); }
static bool is_counted(const struct fin_cancel_item *item) {
    return ((uintptr_t)item->fn ^ (uintptr_t)nested) & COUNTED;
}

// Those of a block inside before what is behind it in the list.
static void run_items(struct fin_finish_block *outermost) {
    struct fin_finish_block *b = outermost;
    for (;;) {
        b->flags |= FIN_FINISH_CANCELLED;
        if (fin_link_empty(&b->items)) {
            if (b == outermost)
                return;
            b = written_block(b->parent);
            continue;
        }
        // An item may add and remove others: only the head is ever looked at.
        struct fin_cancel_item *item = (struct fin_cancel_item *)b->items.next;
        fin_link_remove(&item->link);
        item->link.next = item->link.prev = NULL;
        item->fn = is_counted(item) ? turned(item->fn) : item->fn;
        if (item->fn == nested) {
            b = (struct fin_finish_block *)((char *)item - offsetof(struct fin_finish_block, inner));
            continue;
        }
        fin_rt(fin_self)->stats.cancelled++;
        item->fn(item->fn == fin_cont_cancel ? item : item->arg); // an explicit AWE has something else there
    }
}

// Whose waits it would end in the wrong thread. Where nothing waits in the block another thread's runtime goes unnoticed.
static bool is_of_another_thread(const struct fin_finish_block *b) {
    return !fin_self || (b->flags & FIN_FINISH_LISTS && b->inner.arg != fin_rt(fin_self));
}

void fin_cancel_block_(struct fin_finish_block *b) {
    if (FIN_UNLIKELY(is_of_another_thread(b)))
        fin_host_die("fin_cancel of another thread's finish block: let an AWE in the block wait for a fin_event, which any "
                     "thread may advance, and cancel");
    if (b->flags & FIN_FINISH_CANCELLED)
        return;
    b->flags |= FIN_FINISH_CANCELLED;
    FIN_PROBE(cancel, b);
    if (FIN_UNLIKELY(fin_trace_is_on()))
        fin_trace_cancelled();
    if (b->flags & FIN_FINISH_LISTS) {
        struct fin_runtime *rt = fin_rt(fin_self);
        rt->cancelling++;
        run_items(b);
        rt->cancelling--;
    }
}

bool fin_cancelled(void) { return cancelled_here(); }

void fin_cancel_begin(struct fin_finish_block *b) {
    struct fin_finish_block *inside = NULL;
    for (;; b = written_block(b->parent)) {
        bool known = b->flags & FIN_FINISH_LISTS;
        if (!known) {
            b->flags |= FIN_FINISH_LISTS;
            fin_link_init(&b->items);
            b->inner = (struct fin_cancel_item){.fn = nested, .arg = fin_rt(fin_self)};
        }
        if (inside)
            fin_link_front(&b->items, &inside->inner.link);
        if (known || !b->parent || (b->flags & FIN_FINISH_NC))
            return;
        inside = b;
    }
}

// The body that runs must not give up its frames while the item is there. Whether one still is is looked for then
// (fin_frames_have_items), where more have been added than removed: a cancel takes them off its list, too.
static bool note_in_frames(struct fin_runtime *rt, const struct fin_cancel_item *item) {
    struct fin_finish_block *p = pending_of(rt->thread.current);
    struct fin_body *body = running_body(rt, p);
    if (!body || !lies_in_frames(rt, body, item))
        return false;
    if (p)
        p->pending = (void *)((uintptr_t)p->pending | FIN_PENDING_ITEMS);
    else
        body->inner += (body->inner & FIN_BODY_ITEMS) != FIN_BODY_ITEMS ? FIN_BODY_ITEM : 0;
    return true;
}

// So that nothing is looked for where an AWE adds and removes one each time it waits. What another AWE has added was not
// counted here.
static void forget_in_frames(struct fin_runtime *rt, const struct fin_cancel_item *item) {
    struct fin_body *body = is_counted(item) ? rt->body : NULL;
    size_t items = body && !pending_of(rt->thread.current) ? body->inner & FIN_BODY_ITEMS : 0;
    if (items != 0 && items != FIN_BODY_ITEMS && lies_in_frames(rt, body, item))
        body->inner -= FIN_BODY_ITEM;
}

bool fin_frames_have_items(const struct fin_runtime *rt, struct fin_body *body) {
    const struct fin_finish_block *b = written_block(body->block);
    if (b->flags & FIN_FINISH_LISTS)
        for (const struct fin_link *l = b->items.next; l != &b->items; l = l->next)
            if (lies_in_frames(rt, body, l))
                return true;
    if (body_of(body->block) != body)
        body->inner &= ~FIN_BODY_ITEMS;
    return false;
}

void fin_cancel_add(struct fin_cancel_item *item, void (*fn)(void *), void *arg) {
    struct fin_runtime *rt = fin_here();
    struct fin_finish_block *b = written_block(rt->thread.current);
    item->fn = fn;
    item->arg = arg;
    if (block_cancelled(b)) {
        item->link.next = item->link.prev = NULL;
        rt->stats.cancelled++;
        fn(arg);
        return;
    }
    cancel_link(b, item);
}

void fin_cancel_item_add(struct fin_cancel_item *item, void (*fn)(void *), void *arg) {
    bool counted = note_in_frames(fin_here(), item);
    fin_cancel_add(item, fn, arg);
    if (counted)
        item->fn = turned(fn);
}

bool fin_cancel_remove(struct fin_cancel_item *item) {
    if (item->link.next == NULL)
        return false;
    fin_link_remove(&item->link);
    item->link.next = NULL;
    return true;
}

bool fin_cancel_item_remove(struct fin_cancel_item *item) {
    bool was_there = fin_cancel_remove(item);
    if (was_there)
        forget_in_frames(fin_rt(fin_self), item);
    return was_there;
}

// The block ends: it leaves the list of the one around it. Items that the program forgot become invalid with the block; they
// are marked as removed, so that a late removal does nothing.
void fin_cancel_leave(struct fin_finish_block *b) {
    if (!(b->flags & FIN_FINISH_LISTS))
        return;
    b->flags &= ~(uint32_t)FIN_FINISH_LISTS;
    if (b->inner.link.next)
        fin_link_remove(&b->inner.link);
    for (struct fin_link *l = b->items.next, *next; l != &b->items; l = next) {
        next = l->next;
        l->next = NULL;
    }
}
