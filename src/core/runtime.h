// SPDX-License-Identifier: BSD-2-Clause
// The runtime of one OS thread, and what the files of the core share.
#ifndef FIN_CORE_RUNTIME_H
#define FIN_CORE_RUNTIME_H

#include <fin/awe.h>
#include <fin/cancel.h>
#include <fin/cont.h>
#include <fin/stats.h>

#include "core/arch.h"
#include "core/host.h"
#include "core/link.h"

// A function that only assembly names: link-time optimization does not see that, and must keep it under its name.
#ifdef __clang__
#define FIN_ENTRY __attribute__((used))
#else
#define FIN_ENTRY __attribute__((used, externally_visible))
#endif

// A function that TSan does not look at: fin_track_sigaction says what for.
#ifdef __clang__
#define FIN_UNTRACKED __attribute__((disable_sanitizer_instrumentation))
#else
#define FIN_UNTRACKED __attribute__((no_sanitize_thread))
#endif

// A function that does not return where it waits, which is what a continuation is for: no caller sees others run before it
// returns, so it has no FIN_BLOCKING, though what it calls has.
#if defined(__clang__) && defined(FIN_CHECK_BLOCKING)
#define FIN_LEAVES_FRAME __attribute__((no_thread_safety_analysis))
#else
#define FIN_LEAVES_FRAME
#endif

#define FIN_LIKELY(x) __builtin_expect(!!(x), 1)
#define FIN_UNLIKELY(x) __builtin_expect(!!(x), 0)

// A source of events that the thread's one sleep waits for: the I/O ring, where there is one.
struct fin_poller {
    void (*poll)(struct fin_poller *, bool wait); // handles what is ready; waits for something, if asked to
    void (*wake)(struct fin_poller *);            // any thread: ends the wait, or the next one
    void (*end)(struct fin_poller *);             // own thread, at its end
    // own thread: of a FIN_FINISH_TIMED that is left: had it any time?
    bool (*left)(struct fin_poller *, struct fin_finish_block *);
};

// The top of every stack. The block is what an eager body runs in; the rest describes the stack to sanitizers.
struct fin_stack {
    struct fin_finish_block block;
    void *fiber;      // TSan's
    void *fake_stack; // ASan's
    void *lo;
    size_t size;
    bool dropped; // the fiber has frames that were left without returning
} __attribute__((aligned(64)));

struct fin_slab {
    struct fin_slab *next;
    char *base;
    size_t stacks;
};

struct fin_id_slot {
    struct fin_awe *awe;
    uint32_t id;   // its generation, and its index while in use
    uint32_t next; // free list
};

enum { FIN_HOLDS = 16, FIN_HOLDS_ROW = 8 }; // places for locks that frames of AWEs hold: locks.h
enum { FIN_WATCHED_SANITIZER = 1, FIN_WATCHED_TRACE = 2, FIN_WATCHED_VALGRIND = 4 };
// Dispatches between two looks at other threads' and the kernel's events.
enum { FIN_TICKS = 127 };

// What steps of a computation look at (src/chan/lines.c): places where messages will be, the half of a header that tells,
// and what that was. So many of them that a runtime has one page.
enum { FIN_LINES = 100, FIN_LINES_LOOKS = 8 };
struct fin_lines {
    uint32_t count, on; // on: it is looked at, and those that write there need not signal
    uint32_t latch;     // lines.c
    bool wanted;        // there may be such places, and nobody has listed them
    uint8_t looks;      // so many looks for work without a step between, and it is no longer in use
    uint16_t inside;    // those that other threads of this process write
    uint16_t next, share; // a step looks at so many groups, from that one on; the next step at those behind
    uint16_t steps;       // until it is known again how long they take
    uint64_t timed;       // fin_now() when that was
    uint32_t seen[FIN_LINES];
    const uint32_t *at[FIN_LINES];
    struct fin_waitset_source *source[FIN_LINES];
} __attribute__((aligned(64)));

// In the frame of an AWE of which the library has called a function of the program's: of that AWE, until the function
// returns. Where the AWE ends in there, `left` does what was to follow.
struct fin_called {
    struct fin_link link;
    struct fin_body *body;          // NULL outside any
    struct fin_finish_block *block; // current then
    void (*left)(struct fin_called *called);
    // It handles what came with an alert, maybe before a computation that waits for no more than its turn. This AWE gives
    // none: it might never get it back.
    bool serves_alert;
};

struct fin_runtime {
    struct fin_thread thread; // the part that headers see; first
    struct fin_link queue;    // AWEs that can run
    struct fin_body *body;    // async body of the running AWE, once detached
    uint32_t tag;             // of the states of its AWEs that wait: FIN_AWE_WAITS and its number
    uint32_t ticks;
    uint32_t turn;                // how many there are between two looks: FIN_TICKS, or 1 in a thread that is traced
    uint32_t watched;             // FIN_WATCHED_...
    uint64_t finish_waits;        // a counter of `stats`, on a line that is in use
    const char *name;             // of what runs outside any async
    struct fin_link called;       // of struct fin_called, the latest first
    struct fin_finish_block root; // what `current` is outside any finish block
    struct fin_link suspended;
    struct fin_poller *poller;

    struct fin_slab *slabs;
    struct fin_finish_block **cold; // spare stacks beside thread.spare, whose memory is the system's
    size_t stack_size, spare_capacity, colds;
    uint64_t trimmed; // when memory of spare stacks went back: fin_host_ms()
    bool warmed;      // and of those some have been taken since
    struct fin_finish_block *reserve; // a stack for explicit AWEs alone, where there is no memory for another
    struct fin_link starved;          // those that found none: they are queued again as soon as there is one
    bool hungry;                      // the reserve is in use
    bool precedes; // an AWE has been put before all others, since somebody looked (src/chan/alert.c)

    struct fin_cont_slab *cont_slabs; // explicit AWEs
    struct fin_link *cont_free;
    const void *holds[FIN_HOLDS]; // who holds a lock: locks.h
    uint32_t holds_most;          // of these, that were in use when this thread last looked
    uint32_t holds_asked;
    struct fin_hold_level *hold_levels; // for more

    struct fin_id_slot *ids;
    uint32_t id_mask, id_count, id_free, id_last_free, id_frees; // mask: the table's size less one

    struct fin_stack os_stack; // describes the stack that the OS thread came with
    struct fin_stack *running; // sanitizers only: the stack in use
    struct fin_stats stats, stats_before; // before: of threads that have ended
    enum fin_reason waits_for;            // what the next wait of I/O's with a stack counts as
    uint32_t cancelling;                  // cancels whose items run
    uint64_t known[FIN_REASONS];          // waits whose work was done by who ended them: `recognized`
    fin_cont *known_cont;                 // of a wait that another thread ends: what waits with it is not queued but given
    void (*known_fn)(struct fin_awe *a);  // to this, which does its work and makes it run

    struct fin_awe *inbox __attribute__((aligned(64))); // AWEs that other threads scheduled, newest first
    uint32_t asleep;                                    // written by this thread only
    uint32_t in_use;
    uint32_t expects;                                    // asleep: FIN_EXPECTS_..., where fin_host_stuck
    uint32_t futex;
    int32_t tid;
    struct fin_runtime *next;  // all that ever existed; none is freed, so that a late waker finds one
    struct fin_runtime *below; // of those that no thread uses
    struct fin_poller *kept;   // of its threads that have ended: a late waker may find that, too

    // Alerts (htm 4.2.2): the one line that senders touch. `alerted`: something is to be handled. `computing`: what runs
    // may be interrupted for it, if it is still the body and the block that said so. `alert` handles it, without running an
    // AWE.
    uint32_t alerted __attribute__((aligned(64))), computing;
    struct fin_body *computing_body;
    struct fin_finish_block *computing_block;
    void (*alert)(struct fin_runtime *rt);
    struct fin_waitset *monitored;
    uint32_t served; // of `called`, those with serves_alert
    // A step (src/chan/step.c): so many of its next calls run plainly, of so many after it was tried last.
    void (*keeps_aborting)(void *state);
    unsigned plain_steps, plain_steps_of;
    struct fin_lines lines;

    const void *inner[2]; // where continuations of the library lie (kept.h): for who looks at another process
};
_Static_assert(sizeof(struct fin_runtime) <= 4096, "a page for each thread");

extern struct fin_runtime *fin_runtimes;
extern uint32_t fin_runtime_count;

static inline struct fin_runtime *fin_rt(struct fin_thread *t) { return (struct fin_runtime *)t; }
static inline struct fin_runtime *fin_here(void) { return (struct fin_runtime *)fin_thread_here_(); }

#define FIN_CALLED_OF(l) ((struct fin_called *)((char *)(l) - offsetof(struct fin_called, link)))
#define FIN_AWE_OF(l) ((struct fin_awe *)((char *)(l) - offsetof(struct fin_awe, link)))

// dispatch.c
void fin_continue_pending(struct fin_runtime *rt, struct fin_finish_block *p); // never returns
void fin_queue_pending(struct fin_runtime *rt, struct fin_finish_block *from);
void fin_drain_inbox(struct fin_runtime *rt);
// In the child of a fork, of an AWE of its thread: whether another thread, which is not there, had claimed it and not put it
// into the inbox. The caller makes it run.
bool fin_take_lost(struct fin_runtime *rt, struct fin_awe *a);
void fin_look(struct fin_runtime *rt); // at other threads' and the kernel's events. Resumes nobody
void fin_look_now(struct fin_runtime *rt); // the same where nobody is queued, and the thread does not sleep next
// Looks at these, and is about to sleep in a loop that is not ours: true. False: somebody can run. The running AWE calls it.
bool fin_sleep_outside(struct fin_runtime *rt);
void fin_wake_outside(struct fin_runtime *rt); // it does so no longer
bool fin_serves_alert(struct fin_runtime *rt); // does the running AWE?
// Now and then for who never has to wait, however often he asks: events are handled, and all others have a turn.
static inline FIN_BLOCKING void fin_let_others_run(void) {
    struct fin_runtime *rt = fin_here();
    if (FIN_UNLIKELY(rt->served != 0) && fin_serves_alert(rt))
        return;
    fin_look_now(rt);
    fin_yield();
}
void fin_drain_until(struct fin_runtime *rt, const struct fin_awe *woken); // it is queued

// cancel.c
// As fin_cancel_item_add and _remove, of the library's own items, which go before the program goes on: no frame keeps them.
void fin_cancel_add(struct fin_cancel_item *item, void (*fn)(void *), void *arg);
bool fin_cancel_remove(struct fin_cancel_item *item);
void fin_cancel_leave(struct fin_finish_block *b);
void fin_cancel_begin(struct fin_finish_block *b); // its list of items comes into use

// cont.c
void fin_cont_cancel(void *item);
void fin_cont_resume(struct fin_runtime *rt, struct fin_awe *a);
void fin_cont_feed(struct fin_runtime *rt); // queues those that found no stack, where there is one
void fin_cont_over(struct fin_runtime *rt, struct fin_body *body); // ends the AWE whose step runs in `body`
void fin_cont_pool_end(struct fin_runtime *rt);
// For operations that an AWE waits for with a continuation. May the running AWE, with such arguments? 0 or -errno; where its
// block has been cancelled, FIN_CONT_CANCELLED, which is positive.
enum { FIN_CONT_CANCELLED = 1 };
int fin_cont_begin(fin_cont *cont, size_t size, bool cancellable);
// It waits, and then(awe, arg) is called, from when on any thread may make it run by fin_schedule_decided, or its own by
// fin_cont_done: who decides the wait, and nobody else. Cancelled, it stays where it is and the item runs, whose function
// and argument are set, and whose storage is the caller's until the continuation runs; NULL: it is not cancelled. Pre:
// fin_cont_begin said 0.
int fin_cont_suspend(enum fin_reason reason, fin_cont *cont, const void *state, size_t size, struct fin_cancel_item *item,
                     void (*then)(struct fin_awe *awe, void *arg), void *arg);
void fin_cont_done(struct fin_runtime *rt, struct fin_awe *a, int result); // own thread
// The same, of what came to a descriptor; and of AWEs which were told so, but will not run any more.
void fin_cont_done_descriptor(struct fin_runtime *rt, struct fin_awe *a, int fd);
void fin_cont_lost(struct fin_runtime *rt, void (*lost)(int fd));
// It goes on with another continuation, while it waits so.
void fin_cont_instead(struct fin_awe *a, fin_cont *cont, const void *state, size_t size);
// The same with one of ours: what it waited with, k, is kept as it is by now, as its state may have been changed meanwhile.
struct fin_kept;
void fin_cont_instead_of(struct fin_awe *a, struct fin_kept *k, fin_cont *cont, const void *state, size_t size);
// What the continuation will be told of one that waits so, from who alone may schedule it. Nothing to a stackful AWE.
void fin_cont_result(struct fin_awe *a, int result);
// Its continuation runs with that result: at the base of the stack that it has, where that is its own.
int fin_cont_call(fin_cont *cont, const void *state, size_t size, int result);
// The same; or it comes to the head of the queue.
int fin_cont_call_first(fin_cont *cont, const void *state, size_t size, int result);
int fin_cont_call_descriptor(fin_cont *cont, const void *state, size_t size, int fd);
// It gives up its stack, and its continuation runs soon, with that result.
int fin_cont_go_on(enum fin_reason reason, fin_cont *cont, const void *state, size_t size, int result);
// fin_cont_begin of a wait that a cancel ends: 0 or -errno. In a cancelled block the continuation runs instead.
static inline int fin_cont_may_wait(fin_cont *cont, const void *state, size_t size) {
    int begun = fin_cont_begin(cont, size, true);
    return begun == FIN_CONT_CANCELLED ? fin_cont_call(cont, state, size, -ECANCELED) : begun;
}

// As fin_suspend and fin_suspend_then, for waits of the library's: the program cannot end them, with whatever address. By
// one of the two below, by fin_schedule_decided, or by fin_hand_over.
void fin_core_await_(struct fin_awe *a, struct fin_thread *t, struct fin_awe **slot, void *then);
static inline FIN_BLOCKING void fin_await(struct fin_awe **slot) {
    FIN_AWE_HERE_(a);
    FIN_ARCH_BLOCK_(fin_core_await_, a, fin_self, slot, 0);
}
static inline FIN_BLOCKING void fin_await_then(struct fin_awe **slot, void (*then)(void *), void *arg) {
    FIN_AWE_HERE_(a);
    struct fin_then_ t = {then, arg};
    FIN_ARCH_BLOCK_(fin_core_await_, a, fin_self, slot, &t);
}
// Of the calling thread, which suspended a in a slot that nobody else looks at: no other thread can schedule it.
static inline void fin_schedule_own(struct fin_runtime *rt, struct fin_awe *a) {
    uint32_t state = __atomic_load_n(&a->state, __ATOMIC_RELAXED);
    __atomic_store_n(&a->state, (state & ~(uint32_t)FIN_AWE_KIND) | FIN_AWE_QUEUED, __ATOMIC_RELAXED);
    fin_link_remove(&a->link);
    fin_link_back(&rt->queue, &a->link);
}
// Any thread: a waits with its stack, or by fin_cont_suspend, and the caller alone may make it run.
void fin_schedule_decided(struct fin_awe *a);
void fin_schedule_decided_front(struct fin_awe *a); // and it runs next, where it is of this thread

// finish_on.c: of a FIN_FINISH_CLOSING, in which something has ended
void fin_finish_on_left(struct fin_runtime *rt, struct fin_finish_block *b);

// stats.c
void fin_stats_all(struct fin_stats *out); // of all threads that there are or were; of those that run about
void fin_stats_end(struct fin_runtime *rt);
void fin_stats_forget_parent(void); // in the child of a fork, which counts from zero

// thread.c
void fin_runtime_wake(struct fin_runtime *rt); // any thread: ends the sleep of rt's thread, or its next one
void fin_runtime_end(struct fin_runtime *rt);  // own thread

// stack.c
void fin_stack_begin(struct fin_runtime *rt);
struct fin_finish_block *fin_stack_try(struct fin_runtime *rt); // NULL: no memory
static inline struct fin_finish_block *fin_stack_take(struct fin_runtime *rt) { // ends the program where there is no memory
    struct fin_thread *t = &rt->thread;
    return FIN_LIKELY(t->spares != 0) ? t->spare[--t->spares] : fin_stack_more_(t);
}
static inline void fin_stack_put(struct fin_runtime *rt, struct fin_finish_block *top) {
    rt->thread.spare[rt->thread.spares++] = top;
}
// The top of the stack that sp lies on, if it lies on one of rt's: plain arithmetic, for comparison where that is not sure.
struct fin_finish_block *fin_stack_top(struct fin_runtime *rt, void *sp);
// Does sp lie on the stack that has this top?
static inline bool fin_stack_has(const struct fin_runtime *rt, const struct fin_finish_block *top, const void *sp) {
    return (((uintptr_t)sp - 1) ^ (uintptr_t)top) < rt->stack_size;
}
bool fin_stack_is(const struct fin_runtime *rt, const struct fin_stack *s); // is it one of rt's?
void fin_stack_each(struct fin_runtime *rt, void (*fn)(struct fin_runtime *rt, struct fin_stack *s));
bool fin_stack_trim(struct fin_runtime *rt);
void fin_stack_end(struct fin_runtime *rt);

static inline size_t fin_stacks_spare(const struct fin_runtime *rt) { return rt->thread.spares + rt->colds; }
static inline uint64_t fin_stacks_used(const struct fin_runtime *rt) {
    return rt->stats.stacks - fin_stacks_spare(rt) - (rt->reserve != NULL);
}

// blocks.c: the entry of a body that is a Clang block
void fin_block_run_(void *block);

// awe_id.c
void fin_id_begin(struct fin_runtime *rt);
void fin_id_resumed(struct fin_runtime *rt, struct fin_awe *a);
void fin_id_end(struct fin_runtime *rt);

// track.c
void fin_track_begin(struct fin_runtime *rt);
void fin_track_switch(struct fin_runtime *rt, void *sp);
extern bool fin_on_valgrind;
void fin_track_use(void *p, size_t size);
void fin_track_keep(struct fin_body *body);
const void *fin_track_in_stack(const void *p); // where it lies, or its frame
void fin_track_written(void *p, size_t size); // by the kernel, out of valgrind's sight
void fin_track_stack(struct fin_stack *s, void *lo, size_t size, size_t guard);
void fin_track_memory(void *p, size_t size, bool begins);
void fin_track_mapping(bool begins); // is over, or is about to end
struct sigaction;
int fin_track_sigaction(int signal, const struct sigaction *now, struct sigaction *before);
int fin_track_on_other_stack(void); // flags for it
void fin_track_drop(struct fin_runtime *rt);
void fin_track_end(struct fin_runtime *rt);
void fin_track_stack_end(struct fin_runtime *rt, struct fin_stack *s);
extern void *fin_track_always[2];
static inline bool fin_tracking(const struct fin_runtime *rt) { return rt->thread.exceptions == fin_track_always; }

static inline bool fin_no_exceptions(const struct fin_runtime *rt) { return fin_no_exceptions_(rt->thread.exceptions); }

#endif
