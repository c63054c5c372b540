// SPDX-License-Identifier: BSD-2-Clause
// For order_everything.c: what the running AWE does next is drawn among all that is allowed where the model is, and done to
// the model first. A program never waits for what cannot come: where nobody else can run, it makes somebody run.
#ifndef FIN_TESTS_CORE_ORDER_OPS_H
#define FIN_TESTS_CORE_ORDER_OPS_H

#include "order_model.h"

enum kind {
    YIELD, YIELD_SAVE, YIELD_TO, TO_ID, TO_ID_SAVE, SAVE_ALONE, TO_ID_ALONE, TO_ID_SAVE_ALONE, SUSPEND, SUSPEND_THEN,
    SCHEDULE, ID_CREATE, ID_REMOVE, ID_SET, ID_GET, ID_CHURN, ITEM_ADD, ITEM_REMOVE, CANCEL_BLOCK, IS_CANCELLED,
    SEM_P, SEM_TRY, SEM_V, LOCK_GET, LOCK_TRY, UNLOCK, WAIT_COND, SIGNAL, ENTER, AWAIT_TURN, LEAVE_QUEUE, AWAIT_COUNT,
    ADVANCE, CALL, IN_FRAME, TRY, BLOCK, ASYNC_OP, NEST, KINDS, FINISH = KINDS, THROW, RETHROW, LEAVE, RETURN
};
static const char *const kind_names[] = {
    "yield", "yield and save", "yield to", "yield to id", "yield to id and save", "save, no dispatch",
    "to id, no dispatch", "to id and save, no dispatch", "suspend", "suspend then", "schedule", "id create", "id remove",
    "id set", "id get", "id churn", "item add", "item remove", "cancel", "cancelled?", "sem p", "sem try", "sem v", "lock",
    "trylock", "unlock", "cond wait", "signal", "enter", "await turn", "leave queue", "await count", "advance", "call",
    "item in a frame", "try",
    "block", "async", "nested async", "THCFinish", "throw", "rethrow", "leave", "return"};
enum place { IN_BLOCK, IN_BODY, IN_CALL, IN_CATCH };
enum form { FINISH_THC, FINISH_TAG, FINISH_NX, FINISH_FIN, FINISH_AS, FINISH_NC, TIMEOUT, DEADLINE, FORMS };

struct op {
    enum kind kind;
    int a, b;            // AWE, block, item, object
    uint32_t to, from;   // ids
    uint64_t ns;
    unsigned style;      // which of several functions that do the same
    bool x;              // cancellable, or broadcast, or at the head
    int result;
    struct fin_awe *at;
};

static int last_thrown;
static unsigned op_counts[RETURN + 1];
static bool soon;   // this program has timers
static bool throws; // this program has exceptions
static bool lost;   // one of them perhaps, for good
static bool never_loses; // a tool would say so
static int keeper;  // of such a program: yields until all others have ended, and makes somebody run where nobody can

static bool can_wake(const struct model_block *b) {
    if (!b->open || b->asked || b->timed != 3)
        return false;
    for (int i = 0; i < b->n; i++)
        if (b->entry[i] >= OF_AWE && b->entry[i] < OF_BLOCK && m.awes[b->entry[i] - OF_AWE].waits != COND)
            return true;
    return false;
}

// Can anybody run when this one stops?
static bool others(void) {
    if (m.aside.n > 0 || m.queue.n > 0)
        return true;
    for (int b = 0; soon && b < m.block_count; b++)
        if (can_wake(&m.blocks[b]))
            return true;
    return false;
}

// And when its body ends: others end with it, perhaps.
static bool others_after_end(int a) {
    for (;;) {
        const struct model_awe *w = &m.awes[a];
        if (!w->counted)
            return true;
        const struct model_block *b = &m.blocks[w->base];
        const struct model_awe *owner = &m.awes[b->owner];
        if (b->count > 1 || owner->state != BUSY || owner->waits != END || owner->block != w->base)
            return others();
        if (!owner->ends)
            return true;
        for (int k = b->parent; k != owner->base; k = m.blocks[k].parent)
            if (m.blocks[k].count > 0)
                return others();
        a = b->owner;
    }
}

// ---- ids

static int find_id(uint32_t value) {
    for (int i = 0; i < IDS; i++)
        if (m.ids[i].live && m.ids[i].value == value)
            return i;
    return -1;
}

// Also one that is gone, one that differs from another in a bit, and none.
static uint32_t any_id(void) {
    uint32_t id = m.ids[below(IDS)].value;
    return one_in(16) ? next_random() << below(12) : one_in(8) ? id ^ 1u << below(32) : id;
}

static void names(int id, int a) {
    if (m.awes[a].id >= 0 && m.ids[m.awes[a].id].names == a)
        m.ids[m.awes[a].id].names = -1;
    m.ids[id].names = a;
    m.awes[a].id = id;
}

// An AWE that is on no list must keep its name: nobody would find it.
static bool loses_last(int id) {
    return id >= 0 && m.ids[id].names >= 0 && m.awes[m.ids[id].names].state == SAVED && !m.awes[m.ids[id].names].known;
}

static int any_known(void) {
    int found = -1, n = 0;
    for (int i = 0; i < m.awe_count; i++)
        if (m.awes[i].known && one_in(++n))
            found = i;
    return found;
}

// All yields.
static bool draw_yield(int me, struct op *op) {
    enum kind k = op->kind;
    bool alone = k >= SAVE_ALONE;
    bool by_id = k == TO_ID || k == TO_ID_SAVE || k == TO_ID_ALONE || k == TO_ID_SAVE_ALONE;
    bool saves = k == YIELD_SAVE || k == TO_ID_SAVE || k == SAVE_ALONE || k == TO_ID_SAVE_ALONE;
    int target = -1;
    op->to = any_id();
    op->from = one_in(8) ? op->to : any_id();
    int to = find_id(op->to), from = find_id(op->from);
    if (k == YIELD_TO) {
        target = op->a = any_known();
        if (target < 0)
            return false;
        op->at = m.awes[target].at;
    }
    if (by_id)
        target = to >= 0 ? m.ids[to].names : -1;
    if ((by_id && target < 0) || (saves && from < 0)) {
        op->result = -ESRCH;
        if (!(op->style & 1 && (k == YIELD_SAVE || k == SAVE_ALONE))) // thc.h yields all the same
            return true;
        saves = alone = false;
    }
    if ((alone && target < 0 && !others()) || (saves && m.ids[from].names != target && loses_last(from)))
        return false;
    if (k == TO_ID_ALONE && target >= 0 && op->style & 1)
        return false; // nobody would find it
    if (target >= 0)
        HOLDS(target != me && m.awes[target].state >= QUEUED && m.awes[target].state <= SAVED);
    stops(alone ? SAVED : QUEUED);
    if (by_id)
        m.ids[to].names = -1;
    if (saves)
        names(from, me);
    if (k == TO_ID_ALONE)
        m.awes[me].known = true;
    if (target >= 0) {
        goes_to(target, me);
        return true;
    }
    if (!alone)
        row_back(&m.queue, me);
    go_on();
    return true;
}

static int any_open_block(int me) {
    if (one_in(4)) {
        int b = below(m.block_count);
        return m.blocks[b].open && b > 0 ? b : -1;
    }
    int b = m.awes[me].block;
    while (b >= 0 && one_in(3))
        b = m.blocks[b].parent;
    return b > 0 ? b : -1;
}

static void draw_deed(enum deed *deed, int *who) {
    *deed = (enum deed)below(DEEDS);
    *who = *deed == REMOVES ? below(ITEMS) : *deed == CANCELS ? below(m.block_count) : below(m.awe_count);
    if (*deed == CANCELS && !one_in(3))
        *deed = NOTHING;
}

static bool draw_suspend(int me, struct op *op) {
    if (op->kind == SUSPEND && !others())
        return false;
    enum deed deed = NOTHING;
    int who = me;
    if (op->kind == SUSPEND_THEN) {
        if (others() && one_in(2))
            draw_deed(&deed, &who);
        else
            deed = one_in(2) ? SCHEDULES : TO_FRONT;
    }
    stops(SUSPENDED);
    m.awes[me].known = true;
    if (op->kind == SUSPEND_THEN)
        does(-1, deed, who);
    go_on();
    return true;
}

static bool draw_schedule(int me, struct op *op) {
    (void)me;
    op->a = any_known();
    if (op->a < 0)
        return false;
    struct model_awe *w = &m.awes[op->a];
    op->at = w->at;
    op->x = one_in(2);
    bool may = w->state == SUSPENDED || (w->state == SAVED && op->style & 1);
    op->result = w->state == SUSPENDED ? 0 : -EALREADY;
    if (may)
        becomes_queued(op->a, op->x);
    return true;
}

static bool draw_id(int me, struct op *op) {
    (void)me;
    int i = op->a = below(IDS);
    op->to = any_id();
    switch (op->kind) {
    case ID_CREATE:
        if (m.ids[i].live)
            return false;
        m.ids[i].live = true;
        m.ids[i].names = -1;
        return true;
    case ID_REMOVE:
        i = find_id(op->to);
        op->result = i < 0 ? -ESRCH : 0;
        if (loses_last(i))
            return false;
        if (i >= 0) {
            m.ids[i].live = false;
            m.ids[i].names = -1;
        }
        return true;
    case ID_CHURN:
        return one_in(40);
    case ID_GET:
        i = find_id(op->to);
        op->b = i < 0 ? -1 : m.ids[i].names;
        op->x = op->b >= 0 && m.awes[op->b].known;
        if (op->b >= 0)
            m.awes[op->b].known = true;
        op->at = op->b >= 0 ? m.awes[op->b].at : NULL;
        return true;
    default:
        i = find_id(op->to);
        op->b = one_in(4) ? -1 : any_known();
        op->at = op->b < 0 ? NULL : m.awes[op->b].at;
        op->result = i < 0 ? -ESRCH : 0;
        if (loses_last(i))
            return false;
        if (i >= 0 && op->b < 0)
            m.ids[i].names = -1;
        else if (i >= 0)
            names(i, op->b);
        return true;
    }
}

static void add_item(struct model_item *t, int block) {
    t->used = true;
    t->block = block;
    draw_deed(&t->deed, &t->who);
    t->ran = is_cancelled(block);
    t->listed = !t->ran;
    if (t->listed)
        entry_add(block, (int)(t - m.items));
    else
        does((int)(t - m.items), t->deed, t->who);
}

static bool draw_cancel(int me, struct op *op) {
    struct model_awe *w = &m.awes[me];
    int i = op->a = below(ITEMS);
    for (int tries = 0; tries < 8 && m.items[i].used != (op->kind == ITEM_REMOVE); tries++)
        i = op->a = below(ITEMS);
    struct model_item *t = &m.items[i];
    switch (op->kind) {
    case ITEM_ADD:
        if (t->listed || t->in_frame)
            return false;
        t->at = &t->own;
        add_item(t, w->block);
        return true;
    case ITEM_REMOVE:
        if (!t->used || tells_time(t))
            return false;
        op->result = t->listed;
        op->b = t->ran;
        if (t->listed)
            entry_remove(t->block, i);
        t->listed = false;
        return true;
    case IS_CANCELLED:
        op->result = is_cancelled(w->block);
        return true;
    default:
        op->a = any_open_block(me);
        if (op->a < 0)
            return false;
        cancels(op->a);
        return true;
    }
}
#endif
