// SPDX-License-Identifier: BSD-2-Clause
// Mutex, condition variable, semaphore, event count, sequencer and queue (ac 2.1, "Integration with threads"): between the
// AWEs of one OS thread and between those of several. What waits is an AWE; its thread runs others meanwhile.
//
// Waiters are served first come, first served. No wake-up is lost and none is spurious. Waits return 0, or -ECANCELED; those
// whose names end in _nc are not cancelled and return nothing. Cancellation is exact: -ECANCELED means that nothing was
// acquired, 0 that it was, even if a cancel came after that. In a block that is cancelled already a cancellable wait returns
// -ECANCELED at once, even where it would not have had to wait.
//
// Any thread may call any function. Functions that do not wait do not block and are not cancelled. An object's storage must
// last until all calls on it have returned, with one exception: a call that let the last waiter go does not touch the object
// any more when that waiter runs. No object may be moved or copied while in use. In the child of a fork none may be used
// that other threads used in the parent: one of them may have had its latch.
#ifndef FIN_SYNC_H
#define FIN_SYNC_H

#include <fin/finish.h>

#ifdef __cplusplus
extern "C" {
#endif

// A spin lock for a few instructions. Its holder must not block. It is not first come, first served; but whoever has waited
// for longer than such a section lasts says so, and the holder then gives up its processor once, with the latch free.
struct fin_latch {
    uint32_t held; // 0; 1; 2: and somebody waits for long
};

void fin_latch_wait_(struct fin_latch *l);
void fin_latch_pass_(struct fin_latch *l);

static inline void fin_latch_init(struct fin_latch *l) { l->held = 0; }
static inline void fin_latch_acquire(struct fin_latch *l) {
    if (__builtin_expect(__atomic_exchange_n(&l->held, 1, __ATOMIC_ACQUIRE) != 0, 0))
        fin_latch_wait_(l);
}
static inline void fin_latch_release(struct fin_latch *l) {
    if (__builtin_expect(__atomic_load_n(&l->held, __ATOMIC_RELAXED) == 1, 1))
        __atomic_store_n(&l->held, 0, __ATOMIC_RELEASE);
    else
        fin_latch_pass_(l);
}

// Those who wait, in the order in which they came, and the latch that guards the whole object. A waiter lies on the stack of
// its AWE, or in a struct fin_sync_on (fin/sync_on.h).
struct fin_waiter;
struct fin_waiters {
    struct fin_latch latch;
    struct fin_waiter *first, *last;
};

#define FIN_WAITERS_INIT_ {{0}, NULL, NULL}

// A lock. It is handed to the first waiter: nobody overtakes. Not recursive. An AWE that has locked it with one of these
// functions must not give up its stack (fin/cont.h) before it is unlocked.
struct fin_mutex {
    struct fin_waiters waiters;
    bool locked;
    const void **hold; // where it is noted that frames of an AWE hold it
};

#define FIN_MUTEX_INIT {FIN_WAITERS_INIT_, false, NULL}
void fin_mutex_init(struct fin_mutex *m);
int FIN_BLOCKING fin_mutex_lock(struct fin_mutex *m);
void FIN_BLOCKING fin_mutex_lock_nc(struct fin_mutex *m);
int fin_mutex_trylock(struct fin_mutex *m); // 0 or -EBUSY
// By any AWE, not only the one that locked it. One that is not locked ends the program, with a message.
void fin_mutex_unlock(struct fin_mutex *m);

// A condition variable. A wait gives up the mutex and holds it again when it returns, whatever it returns; getting it back
// is not cancelled. A signal decides which waiter goes on; that waiter then stands in line for the mutex. Signal and
// broadcast may be called with or without the mutex.
struct fin_cond {
    struct fin_waiters waiters;
};

#define FIN_COND_INIT {FIN_WAITERS_INIT_}
void fin_cond_init(struct fin_cond *c);
int FIN_BLOCKING fin_cond_wait(struct fin_cond *c, struct fin_mutex *m);
void FIN_BLOCKING fin_cond_wait_nc(struct fin_cond *c, struct fin_mutex *m);
void fin_cond_signal(struct fin_cond *c);
void fin_cond_broadcast(struct fin_cond *c); // wakes those who wait at this moment

// A counting semaphore. While its value is negative, it takes that many more posts before a wait can pass.
struct fin_sem {
    struct fin_waiters waiters;
    int value;
};

#define FIN_SEM_INIT(value) {FIN_WAITERS_INIT_, (value)}
void fin_sem_init(struct fin_sem *s, int value);
int FIN_BLOCKING fin_sem_wait(struct fin_sem *s);
void FIN_BLOCKING fin_sem_wait_nc(struct fin_sem *s);
int fin_sem_trywait(struct fin_sem *s); // 0 or -EAGAIN
int fin_sem_post(struct fin_sem *s);    // 0; -EOVERFLOW at INT_MAX, and then it did nothing

// An event count: a number that only grows, and AWEs that each wait until it reaches a certain count. Waiters for lower
// counts go first.
struct fin_event {
    struct fin_waiters waiters;
    uint64_t count;
};

#define FIN_EVENT_INIT {FIN_WAITERS_INIT_, 0}
void fin_event_init(struct fin_event *e);
uint64_t fin_event_read(const struct fin_event *e);
int FIN_BLOCKING fin_event_await(struct fin_event *e, uint64_t count); // until the count is at least that
void FIN_BLOCKING fin_event_await_nc(struct fin_event *e, uint64_t count);
void fin_event_advance(struct fin_event *e, uint64_t by); // to UINT64_MAX at most

// A sequencer: gives out numbers, each once, in order; with an event count it says whose turn it is.
struct fin_seq {
    uint64_t next;
};

#define FIN_SEQ_INIT {0}
static inline void fin_seq_init(struct fin_seq *s) { s->next = 0; }
static inline uint64_t fin_seq_read(const struct fin_seq *s) { return __atomic_load_n(&s->next, __ATOMIC_ACQUIRE); }
static inline uint64_t fin_seq_ticket(struct fin_seq *s) { return __atomic_fetch_add(&s->next, 1, __ATOMIC_ACQ_REL); }

// Turns in the order of arrival, in which a waiter may give up its place. An entry enters, waits for its turn if it wants
// to, and leaves, each once; only one AWE at a time may wait with it. The entry is the caller's, and free again when
// fin_queue_leave returns.
struct fin_queue_entry {
    struct fin_queue_entry *next, *prev;
    struct fin_waiter *waiter;
    unsigned left_behind; // entries that stood directly behind this one and left before their turn
    const void **hold;    // where it is noted that it lies in a frame
};

struct fin_queue {
    struct fin_waiters waiters; // the latch; the entries name their waiters
    struct fin_queue_entry *first, *last;
};

#define FIN_QUEUE_INIT {FIN_WAITERS_INIT_, NULL, NULL}
void fin_queue_init(struct fin_queue *q);
void fin_queue_enter(struct fin_queue *q, struct fin_queue_entry *e);
// After -ECANCELED the entry is still in the queue.
int FIN_BLOCKING fin_queue_await_turn(struct fin_queue *q, struct fin_queue_entry *e);
void FIN_BLOCKING fin_queue_await_turn_nc(struct fin_queue *q, struct fin_queue_entry *e);

// Returns 0 where it was not the entry's turn yet. Otherwise the next one's turn begins, and the result is 1 plus the number
// of entries that stood directly behind it and left before their turn.
int fin_queue_leave(struct fin_queue *q, struct fin_queue_entry *e);

#ifdef __cplusplus
}
#endif
#endif
