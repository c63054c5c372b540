// SPDX-License-Identifier: BSD-2-Clause
// Random programs of all that the low-level interface and <fin/thc.h> offer to one thread, against a model of the papers'
// dispatcher: after each operation the AWE that runs is the one that the model says, with the result that it says, and what
// was called meanwhile was called in its order. Locals keep their values. In C++ bodies and blocks also throw, and AWEs
// wait in catch clauses and while exceptions unwind.
#include <signal.h>
#include <unistd.h>

#include "order_draw.h"
#include "process.h"

static struct {
    struct fin_finish_block *blocks[BLOCKS];
    thc_sem_t sems[SEMS];
    thc_lock_t locks[LOCKS];
    thc_condvar_t conds[LOCKS];
    thc_queue_t queues[QUEUES];
    thc_queue_entry_t entries[AWES];
    thc_ec_t counts[EVENTS];
    thc_seq_t tickets;
    uint64_t ticket;
} real;

// ---- callbacks

static void do_deed(const struct due *d) {
    int r = 0;
    switch (d->deed) {
    case SCHEDULES:
        r = fin_schedule(m.awes[d->who].at);
        break;
    case TO_FRONT:
        r = fin_schedule_front(m.awes[d->who].at);
        break;
    case REMOVES:
        r = fin_cancel_item_remove(m.items[d->who].at);
        break;
    case CANCELS:
        fin_cancel_block_(real.blocks[d->who]);
        break;
    default:
        break;
    }
    HOLDS(r == d->result);
}

// Time is over for the block that was to end first.
static void is_late(void) {
    struct model_block *first = NULL;
    for (struct model_block *b = m.blocks; b < m.blocks + m.block_count; b++)
        if (b->open && b->timed == 3 && !b->asked && (!first || b->due < first->due))
            first = b;
    HOLDS(first && first->due <= fin_now() && m.current < 0);
    note("block %d is late", (int)(first - m.blocks));
    first->late = true;
    cancels((int)(first - m.blocks));
}

static void called(int item) {
    if (m.due_first == m.due_last)
        dispatches_alone();
    if (m.due_first == m.due_last)
        is_late();
    HOLDS(m.due_first < m.due_last);
    const struct due *d = &m.dues[m.due_first++];
    note("called: %d: deed %d %d", item, (int)d->deed, d->who);
    HOLDS(d->item == item);
    do_deed(d);
}

static void item_called(void *item) { called((int)((struct model_item *)item - m.items)); }

static void then(void *slot) {
    HOLDS(*(struct fin_awe **)slot != NULL);
    called(-1);
}

#ifdef __cplusplus
struct thrown {
    static int live;
    int value;
    explicit thrown(int v) : value(v) { live++; }
    thrown(const thrown &other) : value(other.value) { live++; }
    ~thrown() { live--; }
};
int thrown::live;
#endif

// What is in flight is what this one handles, and nothing is on its way.
static void sees(int caught) {
#ifdef __cplusplus
    HOLDS(std::uncaught_exceptions() == 0 && (std::current_exception() != nullptr) == (caught != 0));
    if (!caught)
        return;
    try {
        throw;
    } catch (const thrown &found) {
        HOLDS(found.value == caught);
    }
#else
    HOLDS(!caught);
#endif
}

// This one goes on, and so says the model.
static void arrives(int me) {
    dispatches();
    note("%d goes on", me);
    HOLDS(m.current == me);
    HOLDS(m.due_first == m.due_last);
    m.due_first = m.due_last = 0;
    sees(handles(&m.awes[me]));
}

// ---- operations

static __attribute__((noinline)) int suspends(int me, const struct op *op) {
    struct fin_awe **slot = &m.awes[me].at;
    *slot = NULL;
    if (op->kind == SUSPEND && op->style & 1)
        THCSuspend(slot);
    else if (op->kind == SUSPEND)
        fin_suspend(slot);
    else if (op->style & 1)
        THCSuspendThen(slot, then, slot);
    else
        fin_suspend_then(slot, then, slot);
    arrives(me);
    if (op->style % 4 == 2 && !ON_ASAN) { // it was in this frame, where ASan lets nobody look any more
        HOLDS(fin_schedule(*slot) == -EALREADY && fin_schedule_front(*slot) == -EALREADY);
        THCSchedule(*slot);
        THCScheduleBack(*slot);
        __asm__ volatile("" : : : "memory"); // the frame stays as long
    }
    return 0;
}

static int yields(int me, const struct op *op) {
    int thc = op->style & 1, r = op->result;
    switch (op->kind) {
    case YIELD:
        thc ? THCYield() : fin_yield();
        break;
    case YIELD_SAVE:
        if (thc)
            THCYieldAndSave(op->from);
        else
            r = fin_yield_and_save(op->from);
        break;
    case YIELD_TO:
        if (thc)
            THCYieldTo(op->at);
        else
            r = fin_yield_to(op->at);
        break;
    case TO_ID:
        r = thc ? THCYieldToId(op->to) : fin_yield_to_id(op->to);
        break;
    case TO_ID_SAVE:
        r = thc ? THCYieldToIdAndSave(op->to, op->from) : fin_yield_to_id_and_save(op->to, op->from);
        break;
    case SAVE_ALONE:
        if (thc)
            THCYieldAndSaveNoDispatch(op->from);
        else
            r = fin_yield_and_save_no_dispatch(op->from);
        break;
    case TO_ID_ALONE:
        r = thc ? THCYieldToId_NoDispatch(op->to) : fin_yield_to_id_no_dispatch(op->to, &m.awes[me].at);
        break;
    default:
        r = thc ? THCYieldToIdAndSaveNoDispatch(op->to, op->from) : fin_yield_to_id_and_save_no_dispatch(op->to, op->from);
    }
    HOLDS(r == op->result);
    return 0;
}

static void schedules(const struct op *op) {
    int r = op->result;
    if (op->style & 1)
        (op->x ? THCSchedule : THCScheduleBack)(op->at);
    else
        r = (op->x ? fin_schedule_front : fin_schedule)(op->at);
    HOLDS(r == op->result);
}

// Others are made and gone meanwhile: the table grows, places are used again.
static void churns(void) {
    enum { MANY = 1500 };
    static uint32_t made[MANY];
    for (int i = 0; i < MANY; i++) {
        HOLDS(fin_awe_id_create(&made[i]) == 0 && find_id(made[i]) < 0);
        for (int k = 0; k < IDS; k++)
            HOLDS(made[i] != m.ids[k].value);
        if (i % 3 == 0)
            HOLDS(fin_awe_id_remove(made[i]) == 0 && fin_awe_id_get(made[i]) == NULL);
    }
    for (int i = 0; i < MANY; i++)
        HOLDS(fin_awe_id_remove(made[i]) == (i % 3 ? 0 : -ESRCH));
}

static void uses_id(const struct op *op) {
    struct fin_awe *a;
    uint32_t id;
    switch (op->kind) {
    case ID_CREATE:
        HOLDS(awe_mapper_create_id(&id) == 0 && id != 0);
        for (int k = 0; k < IDS; k++)
            HOLDS(id != m.ids[k].value);
        m.ids[op->a].value = id;
        break;
    case ID_REMOVE:
        HOLDS(fin_awe_id_remove(op->to) == op->result);
        break;
    case ID_SET:
        HOLDS(fin_awe_id_set(op->to, op->at) == op->result);
        break;
    case ID_GET:
        a = op->style & 1 ? awe_mapper_get_awe_ptr(op->to) : fin_awe_id_get(op->to);
        HOLDS((a != NULL) == (op->b >= 0) && (!op->x || a == op->at));
        if (a)
            m.awes[op->b].at = a;
        break;
    default:
        churns();
    }
}

static void uses_items(const struct op *op) {
    struct model_item *i = &m.items[op->a];
    switch (op->kind) {
    case ITEM_ADD:
        fin_cancel_item_add(i->at, item_called, i);
        break;
    case ITEM_REMOVE:
        HOLDS(THCCancelItemRan(i->at) == op->b);
        HOLDS(fin_cancel_item_remove(i->at) == op->result);
        break;
    case IS_CANCELLED:
        HOLDS(op->style & 1 ? THCIsCancelRequested() == op->result : fin_cancelled() == op->result);
        break;
    default:
        fin_cancel_block_(real.blocks[op->a]);
    }
}

static void told(int me, const struct op *op, int thc, int fin) {
    int want = m.awes[me].result;
    HOLDS(!op->x || (op->style & 1 ? thc == (want ? THC_CANCELED : SYS_ERR_OK) : fin == want));
}

// Which of the four waits it is: cancellable or not, in which words.
#define WAITS(thc, thc_x, nc, x_)                                                                                           \
    do {                                                                                                                    \
        int thc_ = 0, fin_ = 0;                                                                                             \
        if (op->style & 1)                                                                                                  \
            op->x ? (void)(thc_ = (thc_x)) : (thc);                                                                         \
        else                                                                                                                \
            op->x ? (void)(fin_ = (x_)) : (nc);                                                                             \
        arrives(me);                                                                                                        \
        told(me, op, thc_, fin_);                                                                                           \
    } while (0)

static void waits(int me, const struct op *op) {
    int i = op->a;
    thc_queue_entry_t *e = &real.entries[me];
    switch (op->kind) {
    case SEM_P:
        WAITS(thc_sem_p(&real.sems[i]), thc_sem_p_x(&real.sems[i]), fin_sem_wait_nc(&real.sems[i]),
              fin_sem_wait(&real.sems[i]));
        break;
    case LOCK_GET:
        WAITS(thc_lock_acquire(&real.locks[i]), THC_RESULT_(fin_mutex_lock(&real.locks[i])),
              fin_mutex_lock_nc(&real.locks[i]), fin_mutex_lock(&real.locks[i]));
        break;
    case WAIT_COND:
        WAITS(thc_condvar_wait(&real.conds[i], &real.locks[i]), thc_condvar_wait_x(&real.conds[i], &real.locks[i]),
              fin_cond_wait_nc(&real.conds[i], &real.locks[i]), fin_cond_wait(&real.conds[i], &real.locks[i]));
        break;
    case AWAIT_TURN:
        WAITS(thc_queue_await_turn(&real.queues[i], e), thc_queue_await_turn_x(&real.queues[i], e),
              fin_queue_await_turn_nc(&real.queues[i], e), fin_queue_await_turn(&real.queues[i], e));
        break;
    default:
        WAITS(thc_ec_await(&real.counts[i], op->ns), thc_ec_await_x(&real.counts[i], op->ns),
              fin_event_await_nc(&real.counts[i], op->ns), fin_event_await(&real.counts[i], op->ns));
    }
}

static void uses_object(int me, const struct op *op) {
    int i = op->a;
    switch (op->kind) {
    case SEM_TRY:
        HOLDS(fin_sem_trywait(&real.sems[i]) == op->result);
        break;
    case SEM_V:
        thc_sem_v(&real.sems[i]);
        break;
    case LOCK_TRY:
        HOLDS(fin_mutex_trylock(&real.locks[i]) == op->result);
        break;
    case UNLOCK:
        thc_lock_release(&real.locks[i]);
        break;
    case SIGNAL:
        (op->x ? thc_condvar_broadcast : thc_condvar_signal)(&real.conds[i]);
        break;
    case ENTER:
        thc_queue_enter(&real.queues[i], &real.entries[me]);
        break;
    case LEAVE_QUEUE:
        HOLDS(thc_queue_leave(&real.queues[i], &real.entries[me]) == op->result);
        HOLDS(thc_seq_ticket(&real.tickets) == real.ticket++ && thc_seq_read(&real.tickets) == real.ticket);
        break;
    case ADVANCE:
        thc_ec_advance(&real.counts[i], (uint64_t)op->b);
        HOLDS(thc_ec_read(&real.counts[i]) == m.counts[i]);
        break;
    default:
        waits(me, op);
    }
}

#include "order_run.h"
