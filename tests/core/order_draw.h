// SPDX-License-Identifier: BSD-2-Clause
// For order_everything.c: waits for objects, blocks and bodies; and which of all operations is next.
#ifndef FIN_TESTS_CORE_ORDER_DRAW_H
#define FIN_TESTS_CORE_ORDER_DRAW_H

#include "order_ops.h"

// ---- objects

// What is held, or stood in line for, is in order: the locks, then the queues. So nobody waits for one another in a circle.
static bool may_hold(const struct model_awe *w, int rank) {
    return (w->entered < 0 || LOCKS + w->entered < rank) && w->locks >> (rank < LOCKS ? rank : LOCKS) == 0;
}

// A wait that is cancelled already, or has to be for something.
static bool waits_or_not(int me, struct op *op, bool passes, enum object what, struct row *row, int at) {
    struct model_awe *w = &m.awes[me];
    w->result = 0;
    op->x = one_in(2);
    if (op->x && is_cancelled(w->block)) {
        w->result = -ECANCELED;
        return true;
    }
    if (passes)
        return true;
    if (!others())
        return false;
    if (row)
        row_insert(row, at, me);
    waits_for(what, op->a, op->x);
    return true;
}

static bool draw_sem(int me, struct op *op) {
    int s = op->a = below(SEMS);
    if (op->kind == SEM_V) {
        if (m.at_sem[s].n > 0)
            granted(row_take(&m.at_sem[s], 0), 0);
        else if (m.sems[s]++ > 3)
            return m.sems[s]--, false;
        return true;
    }
    bool passes = m.sems[s] > 0;
    if (op->kind == SEM_TRY) {
        op->result = passes ? 0 : -EAGAIN;
        m.sems[s] -= passes;
        return true;
    }
    if (!waits_or_not(me, op, passes, SEM, &m.at_sem[s], m.at_sem[s].n))
        return false;
    if (m.current < 0 || m.awes[me].state != RUNS)
        return go_on(), true;
    m.sems[s] -= m.awes[me].result == 0;
    return true;
}

static bool draw_lock(int me, struct op *op) {
    struct model_awe *w = &m.awes[me];
    int l = op->a = below(LOCKS);
    bool free = m.holder[l] < 0;
    if (op->kind == UNLOCK) {
        if (!(w->locks >> l & 1))
            return false;
        unlocks(l);
        return true;
    }
    if (op->kind == LOCK_TRY) {
        if (free && !may_hold(w, l))
            return false;
        op->result = free ? 0 : -EBUSY;
    } else {
        if (!may_hold(w, l) || !waits_or_not(me, op, free, LOCK, &m.at_lock[l], m.at_lock[l].n))
            return false;
        if (w->state != RUNS)
            return go_on(), true;
        free = w->result == 0;
    }
    if (free) {
        m.holder[l] = me;
        w->locks |= 1u << l;
    }
    return true;
}

static bool draw_cond(int me, struct op *op) {
    struct model_awe *w = &m.awes[me];
    int l = op->a = below(LOCKS);
    op->x = one_in(2);
    if (op->kind == SIGNAL) {
        int n = m.at_cond[l].n;
        for (n = op->x || n == 0 ? n : 1; n > 0; n--) {
            int a = row_take(&m.at_cond[l], 0);
            gets_lock(l, a, 0);
        }
        return true;
    }
    if (!(w->locks >> l & 1) || w->locks >> l != 1 || w->entered >= 0)
        return false;
    if (!waits_or_not(me, op, false, COND, &m.at_cond[l], m.at_cond[l].n))
        return false;
    if (w->state == RUNS)
        return true; // cancelled already; it still has the lock
    unlocks(l);
    go_on();
    return true;
}

static bool draw_queue(int me, struct op *op) {
    struct model_awe *w = &m.awes[me];
    int q = op->a = w->entered >= 0 ? w->entered : below(QUEUES);
    if (op->kind == ENTER) {
        if (w->entered >= 0 || !may_hold(w, LOCKS + q))
            return false;
        w->entered = q;
        w->left_behind = 0;
        row_back(&m.in_queue[q], me);
        return true;
    }
    if (w->entered < 0)
        return false;
    int i = row_find(&m.in_queue[q], me);
    if (op->kind == AWAIT_TURN) {
        if (w->locks >> LOCKS != 0 || !waits_or_not(me, op, i == 0, TURN, NULL, 0))
            return false;
        if (w->state != RUNS)
            go_on();
        return true;
    }
    row_take(&m.in_queue[q], i);
    w->entered = -1;
    op->result = i > 0 ? 0 : 1 + w->left_behind;
    if (i > 0) {
        m.awes[m.in_queue[q].at[i - 1]].left_behind += 1 + w->left_behind;
    } else if (m.in_queue[q].n > 0) {
        int next = m.in_queue[q].at[0];
        if (m.awes[next].state == BUSY && m.awes[next].waits == TURN)
            granted(next, 0);
    }
    return true;
}

static bool draw_count(int me, struct op *op) {
    int e = op->a = below(EVENTS);
    struct row *r = &m.at_event[e];
    if (op->kind == ADVANCE) {
        m.counts[e] += (uint64_t)(op->b = below(4));
        while (r->n > 0 && m.awes[r->at[0]].count <= m.counts[e])
            granted(row_take(r, 0), 0);
        return true;
    }
    uint64_t count = m.awes[me].count = m.counts[e] - 1 + (uint64_t)below(6);
    if (m.counts[e] == 0 && count > 6)
        return false;
    op->ns = count;
    int i = r->n;
    while (i > 0 && m.awes[r->at[i - 1]].count > count)
        i--;
    if (!waits_or_not(me, op, count <= m.counts[e], COUNT, r, i))
        return false;
    if (m.awes[me].state != RUNS)
        go_on();
    return true;
}

// ---- bodies and blocks

static int new_awe(int me) {
    int a = m.awe_count++;
    struct model_awe *w = &m.awes[a];
    memset(w, 0, sizeof *w);
    w->state = RUNS;
    w->base = w->block = m.awes[me].block;
    w->id = w->entered = -1;
    w->steps = 1 + below(12);
    return a;
}

static bool draw_async(int me, struct op *op) {
    bool is_keeper = throws && m.awes[keeper].state == ENDED && me == 0;
    if (m.awe_count == AWES - 1 || (m.left <= 0 && !is_keeper))
        return false;
    op->a = new_awe(me);
    m.awes[me].state = ASIDE;
    row_back(&m.aside, me);
    m.current = op->a;
    return true;
}

static void enters(struct model_awe *w, enum place_kind kind, int what) {
    HOLDS(w->depth < FRAMES);
    w->frames[w->depth].kind = kind;
    w->frames[w->depth++].what = what;
}

static bool draw_block(int me, struct op *op) {
    struct model_awe *w = &m.awes[me];
    if (m.block_count == BLOCKS || w->depth > 5 || m.left <= 0)
        return false;
    int b = op->a = m.block_count++;
    struct model_block *k = &m.blocks[b];
    memset(k, 0, sizeof *k);
    op->b = below(one_in(4) ? FORMS : TIMEOUT);
    k->parent = w->block;
    k->owner = me;
    k->open = true;
    k->nc = op->b == FINISH_NX || op->b == FINISH_NC;
    if (op->b >= TIMEOUT) {
        k->timed = 1 + below(soon ? 3 : 2);
        op->ns = k->timed == 1 ? 3600 * FIN_S : k->timed == 2 ? 0 : (uint64_t)(20 + below(200)) * FIN_US;
        if (k->timed == 3)
            op->b = DEADLINE;
        k->due = fin_now() + op->ns;
        if (op->b == DEADLINE && k->timed != 2)
            op->ns = k->due;
        k->asked = k->timed == 2;
    }
    w->block = b;
    enters(w, A_BLOCK, b);
    return true;
}

// The end of what is in this place; or, in a body, of all that its AWE has open.
static bool draw_leave(int me, struct op *op, enum place place) {
    struct model_awe *w = &m.awes[me];
    if (place >= IN_CALL) {
        bool last = me == 0 && w->block == 0 && (w->depth == 0 || (w->depth == 1 && w->frames[0].kind >= A_TRY));
        if (last && (m.blocks[0].count > 0 || w->locks || w->entered >= 0))
            return false;
        w->depth -= w->depth > 0 && w->frames[w->depth - 1].kind != AN_ITEM;
        return true;
    }
    if (w->locks || w->entered >= 0)
        return false;
    if (place == IN_BODY) {
        if (!others_after_end(me))
            return false;
        ends(me);
        return true;
    }
    if (m.blocks[w->block].count > 0 && !others())
        return false;
    op->b = w->block;
    if (!leaves_block(me))
        go_on();
    return true;
}

// A call of functions, one of which has a cancel item in its frame, perhaps; or a try block.
static bool draw_call(int me, struct op *op) {
    struct model_awe *w = &m.awes[me];
    struct model_item *t = &m.items[op->a = below(ITEMS)];
    if (w->depth >= 7 || (op->kind == IN_FRAME && (t->listed || t->in_frame)) || (op->kind == TRY && !throws))
        return false;
    enters(w, op->kind == CALL ? A_CALL : op->kind == TRY ? A_TRY : AN_ITEM, op->a);
    if (op->kind != IN_FRAME)
        return true;
    t->in_frame = true;
    w->in_frames++;
    add_item(t, w->block);
    return true;
}

// What it holds, and where it stands in line, is not left by an exception.
static bool draw_throw(int me, struct op *op, enum place place) {
    struct model_awe *w = &m.awes[me];
    if (!throws || w->locks || w->entered >= 0 || (op->kind == RETHROW && place != IN_CATCH))
        return false;
    bool caught = w->base < 0;
    for (int i = 0; i < w->depth; i++)
        if (w->frames[i].kind == A_BLOCK && m.blocks[w->frames[i].what].count > 0 && !others())
            return false;
    if (!caught && !others_after_end(me))
        return false;
    if (op->kind == RETHROW) {
        HOLDS(w->frames[w->depth - 1].kind == A_CATCH);
        w->thrown = w->frames[--w->depth].what;
    } else {
        w->thrown = op->b = ++last_thrown;
    }
    unwinds(me);
    return true;
}

static bool draw_finish(int me) {
    struct model_awe *w = &m.awes[me];
    if (w->base < 0 || w->in_frames || (throws && never_loses) || w->locks || w->entered >= 0 || soon)
        return false;
    for (int b = w->block; b != w->base; b = m.blocks[b].parent)
        if (m.blocks[b].count > 0 && !others())
            return false;
    if (!others_after_end(me))
        return false;
    w->ends = true;
    lost |= throws; // what it handles, and what has left bodies of blocks that it has open
    goes_on_ending(me);
    return true;
}

static bool draw_kind(int me, struct op *op, enum place place) {
    enum kind k = op->kind;
    if (k <= TO_ID_SAVE_ALONE)
        return draw_yield(me, op);
    if (k <= SUSPEND_THEN)
        return draw_suspend(me, op);
    if (k == SCHEDULE)
        return draw_schedule(me, op);
    if (k <= ID_CHURN)
        return draw_id(me, op);
    if (k <= IS_CANCELLED)
        return draw_cancel(me, op);
    if (k <= SEM_V)
        return draw_sem(me, op);
    if (k <= UNLOCK)
        return draw_lock(me, op);
    if (k <= SIGNAL)
        return draw_cond(me, op);
    if (k <= LEAVE_QUEUE)
        return draw_queue(me, op);
    if (k <= ADVANCE)
        return draw_count(me, op);
    if (k <= TRY)
        return draw_call(me, op);
    if (k == BLOCK)
        return draw_block(me, op);
    if (k == FINISH)
        return one_in(place == IN_CATCH ? 2 : 4) && draw_finish(me);
    if (k == THROW || k == RETHROW)
        return draw_throw(me, op, place);
    if (k >= LEAVE)
        return draw_leave(me, op, place);
    if (k == NEST && (place != IN_BODY || !m.awes[me].nests))
        return false;
    return draw_async(me, op);
}

// Where nobody else can run: what may change that.
static const enum kind rescues[] = {SCHEDULE, SCHEDULE, YIELD_TO, TO_ID,  SEM_V,       SIGNAL, ADVANCE,
                                    ADVANCE,  ID_GET,   UNLOCK,   LEAVE_QUEUE, LEAVE, LEAVE};
enum { RESCUES = sizeof rescues / sizeof *rescues };

static enum kind keepers_kind(const struct model_awe *w) {
    const struct model_block *b = &m.blocks[w->base];
    const struct model_awe *owner = &m.awes[b->owner];
    if (b->count <= 1 && owner->state == BUSY && owner->waits == END && owner->block == w->base)
        return LEAVE;
    return others() ? YIELD : rescues[below(RESCUES - 4)];
}

// Where it goes on for long: what ends.
static enum kind any_kind(const struct model_awe *w, int tries, enum place place) {
    static const enum kind often[] = {YIELD,   ASYNC_OP, ASYNC_OP, ASYNC_OP,  BLOCK,
                                      SUSPEND, NEST,     ITEM_ADD, ID_CREATE, IN_FRAME};
    if (w->locks && one_in(3))
        return WAIT_COND;
    if (w->entered >= 0 && one_in(3))
        return AWAIT_TURN;
    bool over = w->steps <= 0 || m.left <= 0 || tries > 50;
    if (over && w->base < 0 && w->block == 0 && m.blocks[0].count > 0 && others() && one_in(2))
        return YIELD; // there is no end of a block that waits
    if (over && one_in(tries > 50 ? 3 : 2))
        return one_in(4) ? UNLOCK : one_in(3) ? LEAVE_QUEUE : place == IN_BLOCK && one_in(3) ? RETURN : LEAVE;
    if (over && one_in(30))
        return FINISH;
    if (throws && one_in(place == IN_CATCH ? 6 : 20))
        return place == IN_CATCH && one_in(2) ? (one_in(3) ? FINISH : RETHROW) : one_in(3) ? THROW : TRY;
    if (over || one_in(8))
        return rescues[below(RESCUES)];
    if (one_in(3))
        return often[below(sizeof often / sizeof *often)];
    return (enum kind)below(KINDS);
}

static void draw(int me, struct op *op, enum place place) {
    HOLDS(m.current == me && m.awes[me].state == RUNS);
    for (int tries = 0;; tries++) {
        HOLDS(tries < 10000);
        memset(op, 0, sizeof *op);
        bool no_keeper = throws && me == 0 && place == IN_BLOCK && m.awes[0].depth == 2 && m.awes[keeper].state == ENDED;
        op->kind = no_keeper                      ? ASYNC_OP
                   : throws && me && me == keeper ? keepers_kind(&m.awes[me])
                                                  : any_kind(&m.awes[me], tries, place);
        op->style = next_random() % 1024;
        bool caught = m.awes[0].frames[0].kind == A_CATCH;
        if (throws && m.awes[me].block == 0 && op->kind != LEAVE && (op->kind != BLOCK || caught))
            continue; // what a body throws there nobody keeps
        if (draw_kind(me, op, place))
            break;
    }
    if (throws && me == 0 && op->kind == ASYNC_OP && m.awes[keeper].state == ENDED)
        keeper = op->a;
    m.awes[me].steps--;
    m.left--;
    op_counts[op->kind]++;
    note("awe %d: %s %d %d, ids %x %x, style %u%s: %d", me, kind_names[op->kind], op->a, op->b, op->to, op->from, op->style,
         op->x ? ", x" : "", op->result);
}
#endif
