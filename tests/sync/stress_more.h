// SPDX-License-Identifier: BSD-2-Clause
// For stress.c: what its clients do with AWEs and with what lies in frames, and what they do within another thing.
#ifndef FIN_TESTS_SYNC_STRESS_MORE_H
#define FIN_TESTS_SYNC_STRESS_MORE_H

#include "stress_ops.h"

// ---- sleepers, whom a cancel wakes, or anybody

static struct client *take_sleeper(int i, const struct client *which) {
    fin_latch_acquire(&o->latch);
    for (int k = 0; k < SLOTS && which; k++)
        i = o->sleepers[k] == which ? k : i;
    struct client *c = i < 0 ? NULL : o->sleepers[i];
    if (c)
        o->sleepers[i] = NULL;
    fin_latch_release(&o->latch);
    return c;
}

static void wake_any(unsigned *state) {
    struct client *c = take_sleeper((int)below(state, SLOTS), NULL);
    if (c)
        HOLDS(fin_schedule(c->sleeper) == 0);
}

static void item_runs(void *arg) {
    struct client *c = arg;
    HOLDS(!c->item_ran);
    c->item_ran = true;
    if (take_sleeper(-1, c))
        HOLDS(fin_schedule(c->sleeper) == 0);
}

// It was added later, and so runs first.
static void later_item_runs(void *arg) {
    struct client *c = arg;
    HOLDS(!c->item_ran && !c->later_ran);
    c->later_ran = true;
}

// Where no place is left it goes on at once.
static void sleeps(void *arg) {
    struct client *c = arg;
    fin_latch_acquire(&o->latch);
    int i = 0;
    while (i < SLOTS && o->sleepers[i])
        i++;
    if (i < SLOTS)
        o->sleepers[i] = c;
    fin_latch_release(&o->latch);
    if (i == SLOTS)
        HOLDS(fin_schedule(c->sleeper) == 0);
}

static bool step_sleeps(struct client *c) {
    bool was = fin_cancelled();
    c->item_ran = c->later_ran = false;
    fin_cancel_item_add(&c->item, item_runs, c);
    HOLDS(c->item_ran == was);
    if (!was) {
        fin_cancel_item_add(&c->later, later_item_runs, c);
        fin_suspend_then(&c->sleeper, sleeps, c);
        HOLDS(c->later_ran == c->item_ran && fin_cancel_item_remove(&c->later) != c->later_ran);
    }
    look_at(c);
    HOLDS(fin_cancel_item_ran(&c->item) == c->item_ran && (!c->item_ran || fin_cancelled()));
    HOLDS(fin_cancel_item_remove(&c->item) != c->item_ran);
    HOLDS(!fin_cancel_item_remove(&c->item));
    return false;
}

// ---- those parked under ids

static __thread struct park {
    uint32_t id;
    bool parked, queued;
    unsigned resumed;
} parks[PARKS];

static void open_parks(void) {
    for (struct park *p = parks; p < parks + PARKS; p++) {
        uint32_t old;
        *p = (struct park){0};
        HOLDS(fin_awe_id_create(&old) == 0 && fin_awe_id_create(&p->id) == 0);
        HOLDS(fin_awe_id_remove(old) == 0 && fin_yield_to_id(old) == -ESRCH && fin_awe_id_remove(old) == -ESRCH);
    }
}

static void close_parks(void) {
    for (struct park *p = parks; p < parks + PARKS; p++)
        HOLDS(!p->parked && !fin_awe_id_get(p->id) && fin_awe_id_remove(p->id) == 0);
}

static bool step_parks(struct client *c) {
    struct park *p = &parks[below(&c->random, PARKS)];
    HOLDS((fin_awe_id_get(p->id) != NULL) == p->parked);
    if (p->parked)
        return false;
    p->parked = true;
    p->queued = below(&c->random, 2);
    HOLDS((p->queued ? fin_yield_and_save : fin_yield_and_save_no_dispatch)(p->id) == 0);
    look_at(c);
    HOLDS(p->parked && fin_awe_id_get(p->id) == NULL);
    p->parked = false;
    p->resumed++;
    return false;
}

// Whom a directed yield names has run when that returns.
static void unpark(struct park *p, unsigned *state) {
    struct fin_awe *a = fin_awe_id_get(p->id);
    unsigned resumed = p->resumed;
    HOLDS((a != NULL) == p->parked);
    if (!a) {
        HOLDS(fin_yield_to_id(p->id) == -ESRCH);
        return;
    }
    HOLDS(fin_schedule(a) == -EALREADY);
    HOLDS((below(state, 2) ? fin_yield_to_id(p->id) : fin_yield_to(a)) == 0);
    HOLDS(p->resumed != resumed);
}

static bool step_unparks(struct client *c) {
    unpark(&parks[below(&c->random, PARKS)], &c->random);
    look_at(c);
    return false;
}

// ---- what waits for those who need nothing that it may have, and so is done with it, too

#define WITHIN(name)                                                                                                        \
    static bool name##_within(struct client *c) {                                                                           \
        if (name(c))                                                                                                        \
            return true;                                                                                                    \
        gives_all_up(c);                                                                                                    \
        return false;                                                                                                       \
    }
WITHIN(step_moves)
WITHIN(step_awaits)
WITHIN(step_receives)
WITHIN(step_is_doomed)
WITHIN(step_sleeps)
WITHIN(step_parks)

static const struct op *any_within(struct client *c) {
    static const struct op within[] = {{"move within", step_moves_within},
                                       {"move within", step_moves_within},
                                       {"await within", step_awaits_within},
                                       {"receive within", step_receives_within},
                                       {"doomed within", step_is_doomed_within},
                                       {"sleep within", step_sleeps_within},
                                       {"park within", step_parks_within}};
    return &within[below(&c->random, sizeof within / sizeof *within)];
}

static bool step_owns(struct client *c) {
    takes_own(c);
    c->op = any_within(c);
    return c->op->step(c);
}

// ---- what lies in a frame

static bool step_in_frame(struct client *c) {
    struct fin_queue_entry mine;
    struct fin_cancel_item item;
    o->entered++;
    come(&o->lines[LINE], &c->places[LINE]);
    fin_queue_enter(&o->queue, &mine);
    c->turn = now;
    refused(c, fin_yield_on(rests, &c, sizeof c), 1);
    fin_queue_await_turn_nc(&o->queue, &mine);
    look_at(c);
    get(&o->lines[LINE], &c->places[LINE]);
    fin_yield();
    look_at(c);
    leave(&o->lines[LINE]);
    int n = fin_queue_leave(&o->queue, &mine);
    HOLDS(n >= 1);
    o->counted += (unsigned)n;
    if (fin_cancelled())
        return false;
    c->item_ran = false;
    fin_cancel_item_add(&item, item_runs, c);
    c->turn = now;
    refused(c, fin_yield_on(rests, &c, sizeof c), 1);
    HOLDS(fin_cancel_item_remove(&item) && !c->item_ran);
    return false;
}

// ---- who waits for an object is not made to run by others; from when that is decided he may be told to run next

static void is_named(struct fin_awe *a, unsigned *state) {
    uint32_t id;
    HOLDS(fin_awe_id_create(&id) == 0);
    int r = fin_awe_id_set(id, a);
    HOLDS(r == 0 || r == -EINVAL);
    HOLDS(fin_awe_id_get(id) == (r == 0 ? a : NULL));
    if (below(state, 2)) {
        HOLDS(fin_yield_to_id(id) == (r == 0 ? 0 : -ESRCH));
        HOLDS(fin_awe_id_get(id) == NULL);
    }
    HOLDS(fin_awe_id_remove(id) == 0);
}

static bool step_meddles(struct client *c) {
    struct client *other = waiting[below(&c->random, SLOTS)];
    if (!other)
        return false;
    struct fin_awe *a = other->self;
    HOLDS(fin_cont_of(a) == woken && *(struct client **)fin_cont_state(a) == other);
    int r = fin_schedule(a);
    HOLDS(r == -EINVAL || r == -EALREADY);
    r = fin_cont_set(a, rests, &c, sizeof c);
    HOLDS(r == -EINVAL || r == -EALREADY);
    if (below(&c->random, 2)) {
        r = fin_yield_to(a);
        HOLDS(r == 0 || r == -EINVAL || r == -EALREADY);
        led += r == 0;
    } else {
        is_named(a, &c->random);
    }
    look_at(c);
    return false;
}

// ---- others

static bool step_helps(struct client *c) {
    advance(&c->random);
    give_any(&c->random);
    wake_any(&c->random);
    count_latched(1);
    if (below(&c->random, 6) == 0)
        ring(&c->random);
    return false;
}

#endif
