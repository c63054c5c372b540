// SPDX-License-Identifier: BSD-2-Clause
// The slow half of UMP: acknowledging, arming and waiting. See ump.h for the protocol. (models/chan.pml,
// room.pml)
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fin/cancel.h>
#include <fin/time.h>

#include "chan/bell.h"
#include "chan/chan.h"
#include "chan/lmp.h"
#include "chan/wait.h"
#include "core/dispatch.h"
#include "pause.h"

static bool can_barrier;

// Threads that come first at once may both register. (In some libcs the child of a fork would wait for who is at a
// pthread_once.)
bool fin_ump_barriers(void) {
    static bool asked;
    if (!__atomic_load_n(&asked, __ATOMIC_ACQUIRE)) {
        bool can = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
        __atomic_store_n(&can_barrier, can, __ATOMIC_RELAXED);
        __atomic_store_n(&asked, true, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(&can_barrier, __ATOMIC_RELAXED);
}

// From here on there is no room, so that every call comes to the slow half, which says why.
void fin_ump_no_receiver(struct ump_tx *tx, int why) {
    tx->end = tx->end ? tx->end : why;
    tx->limit = 0;
}

// A receiver that slept as it was rung for, and was gone then: had it woken up before? It may have taken the message.
static bool has_gone_on(const struct ump_tx *tx, uint64_t armed) {
    uint64_t now = __atomic_load_n(&tx->peer->armed, __ATOMIC_RELAXED);
    return armed != UMP_CLOSED && (now & ~UMP_FENCES) != (armed & ~UMP_FENCES);
}

// Who closes its end says before that how far it came.
static bool has_taken_all(const struct ump_tx *tx) {
    __atomic_thread_fence(__ATOMIC_ACQUIRE); // behind `armed`
    return __atomic_load_n(&tx->peer->consumed, __ATOMIC_RELAXED) == tx->head;
}

int fin_ump_ring(struct ump_tx *tx, uint64_t armed) {
    if (armed != UMP_CLOSED && armed & UMP_FENCES) {
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        armed = __atomic_load_n(&tx->peer->armed, __ATOMIC_RELAXED);
        if (armed != UMP_CLOSED)
            armed &= ~UMP_FENCES;
    }
    if (armed == 0 || armed == tx->rung)
        return 0;
    tx->rung = armed;
    if (armed == UMP_CLOSED)
        fin_ump_no_receiver(tx, -EPIPE);
    else
        fin_bell_ring_message(tx);
    return tx->end == -EPIPE && (has_gone_on(tx, armed) || has_taken_all(tx)) ? 0 : tx->end;
}

// Lines that were sent may be fetched ahead; others would be taken away from the sender. A hint: it may just be writing
// bytes of a message there.
__attribute__((no_sanitize("thread"))) static bool seems_sent(const struct ump_rx *rx, uint64_t position) {
    const volatile uint64_t *line = (const volatile uint64_t *)ump_line(rx->ring, position, rx->lines);
    return (((uint32_t)*line ^ ump_lap(position, rx->shift)) & UMP_LAP) == 0;
}

enum { FEW = 16 }; // lines

// Since it armed last. What was skipped does not count.
static bool had_few(const struct ump_rx *rx) { return rx->tail - rx->armed_at <= FEW; }

void fin_ump_consumed(struct ump_rx *rx) {
    bool talks = __atomic_load_n(rx->talks, __ATOMIC_RELAXED);
    rx->ahead = seems_sent(rx, rx->tail + 2 * UMP_AHEAD) ? UMP_AHEAD * UMP_LINE : 0;
    rx->acknowledge_at = talks ? ump_window_end(rx->tail, rx->lines) : rx->tail + rx->lines / 4;
    rx->told = rx->tail;
    __atomic_store_n(&rx->own->consumed, rx->tail, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint64_t armed = __atomic_load_n(&rx->peer->armed, __ATOMIC_RELAXED);
    if (armed != 0 && armed != rx->rung) {
        rx->rung = armed;
        fin_bell_ring_room(rx);
    }
}

// Between AWEs of one thread a full or an empty ring makes them wait.
bool fin_ump_is_due(uint64_t *others_ran, uint64_t now, uint32_t lines) {
    if (now - *others_ran < lines / 4)
        return false;
    *others_ran = now;
    return true;
}

static void say_armed(struct ump_rx *rx) {
    __atomic_store_n(&rx->own->armed, rx->waits | rx->fences, __ATOMIC_RELAXED);
}

size_t fin_ump_acknowledge(struct ump_rx *rx, size_t size) {
    if (FIN_UNLIKELY(rx->fences != 0) && !had_few(rx)) {
        rx->fences = 0;
        say_armed(rx);
    }
    fin_ump_consumed(rx);
    if (fin_ump_is_due(&rx->others_ran, rx->tail, rx->lines) && !rx->alone)
        __atomic_store_n(&rx->owes, true, __ATOMIC_RELAXED);
    return size;
}

bool fin_ump_arrived(struct ump_rx *rx) { return ump_look(rx) != 0 || rx->broken; }

// Whoever has heard of the end receives nothing after it, whatever the peer may write then.
int fin_ump_end_of(struct ump_rx *rx) {
    if (!rx->gone)
        return -EAGAIN;
    rx->broken = true;
    return rx->why = __atomic_load_n(&rx->peer->closed, __ATOMIC_RELAXED) ? -ESHUTDOWN : -ECONNRESET;
}

bool fin_ump_arm(struct ump_rx *rx) {
    bool fenced = rx->fences != 0;
    if (rx->asks) {
        rx->fences = had_few(rx) ? UMP_FENCES : 0;
        rx->armed_at = rx->tail;
    }
    rx->waits = ++rx->armed;
    say_armed(rx);
    if (fenced)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return !rx->alone && !fenced;
}

void fin_ump_barrier(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    bool can = __atomic_load_n(&can_barrier, __ATOMIC_RELAXED);
    if (can && FIN_UNLIKELY(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) != 0)) // it could be registered
        fin_host_die_of("a message might not wake who waits for it, as membarrier(2) fails", errno, "");
}

void fin_ump_disarm(struct ump_rx *rx) {
    rx->waits = 0;
    say_armed(rx);
}

static bool other_work(struct fin_runtime *rt) {
    return !fin_link_empty(&rt->queue) || pending_of(rt->thread.current) != NULL;
}

enum { LONG_TURN = FIN_MS, LEAST_AVOIDED = 32 * FIN_MS, MOST_AVOIDED = 2048 * FIN_MS };

// The other side may be waiting for this processor: to sleep, and be woken by it, costs many times this. But somebody else
// who computes here would have it for a time slice, while who sleeps has it as soon as he is woken. So after such a turn the
// thread gives none for a while: a short one, as it may have been by chance, and four times as long each time that the
// next turns are no shorter.
void fin_ump_give_turn(void) {
    static __thread uint64_t none_before, avoided;
    uint64_t start = fin_now();
    if (start < none_before)
        return;
    sched_yield();
    uint64_t end = fin_now();
    if (end - start <= LONG_TURN)
        return;
    if (start - none_before > avoided)
        avoided = LEAST_AVOIDED;
    else if (avoided < MOST_AVOIDED)
        avoided *= 4;
    none_before = end + avoided;
}

void fin_ump_yield(void) {
    fin_here()->stats.blocks[FIN_FOR_LOOK].with_stack++;
    fin_yield();
}

// Looks for a while, and lets others of this thread, and of this processor, run meanwhile. 0: it came; -EAGAIN: it did
// not; -ECANCELED.
static FIN_BLOCKING __attribute__((noinline)) int look_awhile(bool (*came)(void *), void *arg, bool nc) {
    struct fin_runtime *rt = fin_here();
    for (int looks = 0, yields = 0; looks < SPIN_LOOKS && yields < SPIN_YIELDS; looks++) {
        if (FIN_UNLIKELY(other_work(rt))) {
            yields++;
            fin_ump_yield();
            if (!nc && fin_cancelled())
                return -ECANCELED;
        } else if (looks % LOOKS_A_TURN == LOOKS_A_TURN - 1) {
            fin_ump_give_turn();
        }
        if (came(arg))
            return 0;
        fin_arch_pause();
    }
    return -EAGAIN;
}

bool fin_ump_others(void) { return other_work(fin_here()); }

static inline bool look_alone(struct ump_rx *rx, int looks, int without_turns) {
    if (rx->alone || other_work(fin_here()))
        return false;
    for (int i = 0; i < looks; i++) {
        if (i >= without_turns && i % LOOKS_A_TURN == LOOKS_A_TURN - 1)
            fin_ump_give_turn();
        if (ump_look(rx) != 0)
            return true;
        fin_arch_pause();
    }
    return false;
}

bool fin_ump_spin(struct ump_rx *rx) { return look_alone(rx, SPIN_LOOKS, SPIN_LOOKS); }
bool fin_ump_spin_long(struct ump_rx *rx) { return look_alone(rx, 2 * SPIN_LOOKS, SPIN_LOOKS); }

static bool came_message(void *rx) { return fin_ump_arrived(rx); }

static FIN_BLOCKING int sleep_for_message(struct ump_rx *rx, bool nc) {
    uint64_t heard = rx->meeting ? fin_event_read(&rx->meeting->message) : 0;
    if (fin_ump_arm(rx))
        fin_ump_barrier();
    int r = fin_ump_arrived(rx) ? 0 : fin_bell_await_message(rx, heard, nc);
    fin_ump_disarm(rx);
    return r;
}

static FIN_BLOCKING int await_here(struct ump_rx *rx, bool nc) {
    while (!fin_ump_arrived(rx)) {
        rx->gone |= rx->peer->closed;
        int r = rx->gone ? fin_ump_end_of(rx) : rx->watched ? -EBUSY : fin_lmp_await(rx, nc);
        if (r != 0)
            return r;
    }
    return fin_ump_broken(rx);
}

int fin_ump_await_message(struct ump_rx *rx, bool nc) {
    if (rx->alone)
        return await_here(rx, nc);
    int r = fin_ump_arrived(rx) ? 0 : look_awhile(came_message, rx, nc);
    if (r == -ECANCELED)
        return r;
    if (r != 0 && !other_work(fin_here()))
        fin_ump_doze(rx);
    while (!fin_ump_arrived(rx)) {
        if (rx->gone) // seen before the ring was looked at: nothing can come after that
            return fin_ump_end_of(rx);
        if (ump_watched(rx))
            return -EBUSY;
        r = sleep_for_message(rx, nc);
        if (r != 0)
            return r;
        if (fin_ump_arrived(rx))
            break;
        fin_bell_empty(rx);
        if (!fin_ump_arrived(rx) && !rx->gone)
            fin_yield(); // a flood of packets keeps nobody else from running
    }
    return fin_ump_broken(rx);
}

struct wanted {
    struct ump_tx *tx;
    uint32_t lines;
    uint64_t word;
    bool again; // it has slept
};

static bool came_room(void *wanted) {
    struct wanted *w = wanted;
    return fin_ump_refresh(w->tx, w->lines) || w->tx->end;
}

static FIN_BLOCKING int sleep_of_call(struct wanted *w, uint64_t heard, bool nc) {
    struct fin_chan *c = (struct fin_chan *)((char *)w->tx - offsetof(struct fin_chan, out.ump));
    int r = fin_rpc_no_room(c, w->word, w->again);
    if (r == 0)
        r = fin_bell_await_room(w->tx, heard, nc);
    fin_rpc_has_slept(c, w->word);
    return r;
}

static FIN_BLOCKING int sleep_for_room(struct wanted *w, bool nc) {
    struct ump_tx *tx = w->tx;
    uint64_t heard = tx->meeting ? fin_event_read(&tx->meeting->room) : 0;
    __atomic_store_n(&tx->own->armed, ++tx->armed, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    int r = came_room(w) ? 0 : w->word ? sleep_of_call(w, heard, nc) : fin_bell_await_room(tx, heard, nc);
    __atomic_store_n(&tx->own->armed, 0, __ATOMIC_RELAXED);
    return r;
}

int fin_ump_await_room(struct ump_tx *tx, uint32_t lines, uint64_t word, bool nc) {
    struct wanted w = {tx, lines, word, false};
    if (ump_room(tx, lines))
        return 0;
    int r = came_room(&w) ? 0 : tx->alone ? -EAGAIN : look_awhile(came_room, &w, nc);
    if (r == -ECANCELED)
        return r;
    while (!came_room(&w)) {
        r = sleep_for_room(&w, nc);
        if (r != 0)
            return r;
        w.again = true;
        if (!came_room(&w))
            fin_yield();
    }
    return tx->end;
}

// The end of the socket comes after what is written here.
void fin_ump_end(struct ump_tx *tx, struct ump_rx *rx) {
    __atomic_store_n(&rx->own->consumed, rx->tail, __ATOMIC_RELEASE);
    __atomic_store_n(&rx->own->armed, UMP_CLOSED, __ATOMIC_RELEASE);
    __atomic_store_n(&tx->own->closed, 1, __ATOMIC_RELEASE); // who has received that sends nothing in vain
    fin_bell_end(tx, rx);
}
