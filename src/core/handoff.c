// SPDX-License-Identifier: BSD-2-Clause
// Looking at the continuations of others, and handing them the stack (continuations 2.1, appendix A).
#include "core/cont.h"

struct fin_awe *fin_awe_self(void) {
    struct fin_runtime *rt = fin_here();
    const struct fin_finish_block *top = rt->thread.current;
    if (FIN_LIKELY(top->flags == STEP && !top->pending))
        return awe_of(((const struct fin_body *)top - 1)->resume);
    struct fin_cont_record *e = running_record(here(rt));
    return e ? awe_of(e) : NULL;
}

static bool is_explicit(uint32_t state) {
    return state == FIN_AWE_RUNNING_CONT || (fin_state_waits(state) && state & FIN_AWE_EXPLICIT);
}

fin_cont *fin_cont_of_program(const struct fin_cont_record *e, const void **state) {
    fin_cont *cont = e->cont;
    const struct fin_kept *k;
    *state = e->data;
    while (FIN_UNLIKELY(fin_is_inner((const void *)(uintptr_t)cont))) {
        memcpy(&k, *state, sizeof k);
        cont = k->cont;
        *state = k->state;
    }
    return cont;
}

// With what is in its record: it waits so that anybody may schedule it, which is no wait of the library's.
static inline bool is_plain(uint32_t state) {
    const uint32_t plain = FIN_AWE_SUSPENDED | FIN_AWE_EXPLICIT, mask = FIN_AWE_KIND | FIN_AWE_EXPLICIT | FIN_AWE_ATTACHED;
    return FIN_LIKELY(fin_state_waits(state) && (state & mask) == plain);
}

static __attribute__((noinline)) fin_cont *waits_with(const struct fin_awe *a) {
    const void *state;
    return is_explicit(fin_state(a)) ? fin_cont_of_program(record_of(a), &state) : NULL;
}

static __attribute__((noinline)) void *state_of(const struct fin_awe *a) {
    const void *state = NULL;
    if (is_explicit(fin_state(a)))
        fin_cont_of_program(record_of(a), &state);
    return (void *)(uintptr_t)state;
}

fin_cont *fin_cont_of(const struct fin_awe *a) {
    return !a ? NULL : is_plain(fin_state(a)) ? record_of(a)->cont : waits_with(a);
}
void *fin_cont_state(struct fin_awe *a) {
    return !a ? NULL : is_plain(fin_state(a)) ? record_of(a)->data : state_of(a);
}

// The running AWE's stack is from now on that of `to`. 0 or what is wrong. Of the running AWE, which is explicit, the caller
// says what it waits with.
static int give_stack(struct fin_runtime *rt, struct fin_awe *to, fin_cont *cont, size_t size,
                      struct fin_cont_record **out) {
    struct fin_body *body = here(rt);
    if (FIN_UNLIKELY(--rt->ticks == 0)) // two that hand over to one another do not keep a timeout from them
        fin_look_now(rt);
    struct fin_cont_record *next = record_of(to);
    uint32_t state = to ? fin_state(to) : 0;
    if (!fin_awe_may_run(rt, to) || (state & (FIN_AWE_EXPLICIT | FIN_AWE_ATTACHED)) != FIN_AWE_EXPLICIT)
        return -EINVAL;
    if ((state & FIN_AWE_KIND) == FIN_AWE_WOKEN)
        fin_drain_until(rt, to);
    bool midst = fin_is_inner((const void *)(uintptr_t)next->cont); // of a wait of the library's, which is to go on
    if (midst || next->cancellable == DESCRIPTOR || (next->result != 0 && !next->cancellable)) // of which it is to hear
        return -EINVAL;
    if (body && !running_record(body))
        return -EBUSY;
    int error = record_for(rt, body, cont, size, out);
    if (error || body->inner)
        return error ? error : -EBUSY;
    take(rt, to);
    fin_link_init(&to->link);
    if (to->id)
        fin_id_resumed(rt, to);
    fin_set_state_word(to, FIN_AWE_RUNNING_CONT);
    take_over(next, body->block);
    return 0;
}

// `known` is NULL where nothing is recognized.
static __attribute__((noinline)) int hand_over_slow(fin_cont *known, fin_cont *cont, const void *state, size_t size,
                                                    struct fin_awe *to) {
    struct fin_runtime *rt = fin_here();
    struct fin_cont_record *e;
    int error = give_stack(rt, to, cont, size, &e);
    if (error)
        return error;
    set_continuation(e, cont, state, size);
    suspend(rt, e, true);
    struct fin_blocks *blocks = &rt->stats.blocks[FIN_FOR_PROGRAM];
    *(known ? &blocks->recognized : &blocks->handed_off) += 1;
    return 0;
}

int fin_stack_handoff(struct fin_awe *to) {
    struct fin_runtime *rt = fin_here();
    struct fin_cont_record *e;
    int error = give_stack(rt, to, to ? record_of(to)->cont : NULL, 0, &e); // any will do
    if (error)
        return error;
    e->cont = NULL;
    e->result = 0;
    e->cancellable = false;
    expose_as(rt, e, FIN_AWE_BUSY);
    rt->stats.blocks[FIN_FOR_PROGRAM].handed_off++;
    return 0;
}

int fin_cont_set(struct fin_awe *a, fin_cont *cont, const void *state, size_t size) {
    struct fin_runtime *rt = fin_here();
    struct fin_cont_record *e = record_of(a);
    uint32_t old = a ? fin_state(a) : 0;
    if (!cont || !fin_state_here(rt, old) || !(old & FIN_AWE_EXPLICIT))
        return -EINVAL;
    if (size > FIN_CONT_STATE)
        return -E2BIG;
    if ((old & FIN_AWE_KIND) == FIN_AWE_BUSY && !e->cont) {
        set_continuation(e, cont, state, size);
        suspend(rt, e, true);
        return 0;
    }
    if (!fin_cont_is_programs(rt, a))
        return -EINVAL;
    if ((old & FIN_AWE_KIND) != FIN_AWE_SUSPENDED) // it may be about to hear of something
        return -EALREADY;
    struct fin_kept *k = old & FIN_AWE_ATTACHED ? fin_cont_kept(e) : NULL;
    *(k ? &k->cont : &e->cont) = cont;
    fin_copy_state(k ? k->state : e->data, state, size);
    return 0;
}

// True where it has been done: between two steps, when nothing else is to be looked at. (One that waits so is on no list.)
static inline __attribute__((always_inline)) bool hand_over(struct fin_runtime *rt, fin_cont *cont, const void *state,
                                                            size_t size, struct fin_awe *to) {
    uint64_t waits = rt->tag | FIN_AWE_SUSPENDED | FIN_AWE_EXPLICIT;
    struct fin_cont_record *e = running_plain(rt);
    if (FIN_UNLIKELY(!e || !e->item.link.next || !to) || rt->ticks == 1 || !may_set_plain(cont, size) ||
        FIN_UNLIKELY(!__atomic_compare_exchange_n(&FIN_STATE_WORD(to), &waits, FIN_AWE_RUNNING_CONT, false, __ATOMIC_ACQ_REL,
                                                  __ATOMIC_RELAXED)))
        return false;
    rt->ticks--;
    set_plain(e, cont, state, size);
    e->cancellable = true;
    __atomic_store_n(&FIN_STATE_WORD(awe_of(e)), waits, __ATOMIC_RELEASE);
    take_over(record_of(to), rt->thread.current);
    return true;
}

int fin_thread_handoff(fin_cont *cont, const void *state, size_t size, struct fin_awe *to) {
    struct fin_runtime *rt = fin_rt(fin_self);
    if (FIN_UNLIKELY(!rt || !hand_over(rt, cont, state, size, to)))
        return hand_over_slow(NULL, cont, state, size, to);
    rt->stats.blocks[FIN_FOR_PROGRAM].handed_off++;
    return 0;
}

// It may wait with one of ours, while the program's is the known one: in the midst of a wait, or with a stack attached.
static __attribute__((noinline)) int why_unknown(fin_cont *known, const struct fin_awe *to) {
    return known && fin_cont_of(to) == known ? -EINVAL : -ESRCH;
}

int fin_thread_handoff_if(fin_cont *known, fin_cont *cont, const void *state, size_t size, struct fin_awe *to) {
    struct fin_runtime *rt = fin_rt(fin_self);
    if (!to)
        return -EINVAL;
    if (record_of(to)->cont != known) // a stackful AWE's instruction pointer is no continuation
        return why_unknown(known, to);
    if (FIN_UNLIKELY(!rt || !hand_over(rt, cont, state, size, to)))
        return hand_over_slow(known, cont, state, size, to);
    rt->stats.blocks[FIN_FOR_PROGRAM].recognized++;
    return 0;
}

static __attribute__((noinline)) int call_slowly(fin_cont *cont, int result) {
    struct fin_runtime *rt = fin_here();
    struct fin_body *body = here(rt);
    struct fin_cont_record *e = running_record(body);
    int error = e ? refusal(rt, body, cont, 0) : -EINVAL;
    if (error || body->inner)
        return error ? error : -EBUSY;
    if (fin_tracking(rt)) { // which wants to see a stack begin anew
        e->cont = cont;
        queue_at(rt, e, result, true);
        fin_cont_leave(rt, body);
        return 0;
    }
    next_step(body, e, cont, result);
    return 0;
}

int fin_call_continuation(fin_cont *cont, int result) {
    const struct fin_runtime *rt = fin_rt(fin_self);
    struct fin_cont_record *e = FIN_LIKELY(rt != NULL) ? running_plain(rt) : NULL;
    if (FIN_UNLIKELY(!e || !cont))
        return call_slowly(cont, result);
    next_step((struct fin_body *)rt->thread.current - 1, e, cont, result);
    return 0;
}

// Makes `to` the next to run.
static void run_next(struct fin_runtime *rt, struct fin_awe *to) {
    fin_set_kind(to, FIN_AWE_QUEUED);
    fin_link_front(&rt->queue, &to->link);
}

int fin_cont_next_(struct fin_awe *to) {
    struct fin_runtime *rt = fin_here();
    if (!fin_awe_may_run(rt, to))
        return -EINVAL;
    take(rt, to);
    run_next(rt, to);
    return 0;
}

static __attribute__((noinline)) int switch_slowly(fin_cont *cont, const void *state, size_t size, struct fin_awe *to) {
    struct leaving l;
    if (!fin_awe_may_run(fin_here(), to))
        return -EINVAL;
    int error = stop_with(&l, cont, state, size);
    if (error)
        return error;
    take(l.rt, to);
    suspend(l.rt, l.e, true);
    run_next(l.rt, to);
    fin_cont_leave_to_next(l.rt, l.body, FIN_FOR_PROGRAM);
    return 0;
}

// Between two explicit AWEs it is a handoff, and the continuation is called at once.
int fin_cont_switch_(fin_cont *cont, const void *state, size_t size, struct fin_awe *to) {
    struct fin_runtime *rt = fin_rt(fin_self);
    if (FIN_UNLIKELY(!rt || !hand_over(rt, cont, state, size, to)))
        return switch_slowly(cont, state, size, to);
    rt->stats.blocks[FIN_FOR_PROGRAM].handed_off++;
    fin_arch_on_stack((struct fin_body *)rt->thread.current - 1, fin_cont_step, record_of(to));
    return 0;
}
