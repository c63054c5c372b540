// SPDX-License-Identifier: BSD-2-Clause
// What traces and reports are told. The quick halves of send.c, chan.c and lmp.c tell a trace nothing: while there is one no
// end is quick. So there is a list of all ends of the process, for those that are open when a trace begins.
#include "chan/host.h"
#include "chan/lmp.h"
#include "chan/rpc.h"
#include "core/host.h"
#include "core/link.h"
#include "forks.h"

static struct fin_link ends = {&ends, &ends};
static struct fin_latch changes;

// The next message, in either direction: which of both is told by the place of the ring.
void fin_chan_trace(const struct fin_chan *c, bool sends) {
    const char *ring = sends ? c->out.ump.ring : c->in.ump.ring;
    uint64_t position = sends ? c->out.ump.head : c->in.ump.tail;
    fin_trace_message(sends, c->map->id << 32 | (uint32_t)(ring - c->map->base), position);
}

// Other threads, which this trace does not follow, may be at their ends: each flag is a byte that only says whether the
// quick half may be tried, and is written again, as fin_trace_on has it, when somebody gives back the turn, or a message has
// come or gone without one.
static __attribute__((no_sanitize("thread"))) void nobody_is_quick(void) {
    fin_latch_acquire(&changes);
    for (struct fin_link *l = ends.next; l != &ends; l = l->next) {
        struct fin_chan *c = (struct fin_chan *)((char *)l - offsetof(struct fin_chan, link));
        if (!c->out.turn.shared)
            c->out.quick = c->out.here = false;
        if (!c->in.turn.shared)
            c->in.quick = false;
    }
    fin_latch_release(&changes);
}

// The child of a fork has not the thread that may have had the latch. The way forward through the list is whole there: one
// store puts an end in, and one takes it out. The way back may not be.
static void forget_parent(void) {
    struct fin_link *l = &ends;
    do {
        l->next->prev = l;
        l = l->next;
    } while (l != &ends);
    fin_latch_init(&changes);
    for (l = ends.next; l != &ends; l = l->next)
        fin_bell_forget((struct fin_chan *)((char *)l - offsetof(struct fin_chan, link)));
}

int fin_chan_trace_add(struct fin_chan *c) {
    static bool watched;
    int error = fin_watch_forks(&watched, forget_parent);
    if (error)
        return error;
    fin_latch_acquire(&changes);
    // With the latch: a trace that begins is seen here, or sees the end in the list.
    c->out.quick = c->in.quick = !c->out.turn.shared && !fin_trace_is_on();
    fin_link_front(&ends, &c->link);
    fin_latch_release(&changes);
    __atomic_store_n(&fin_trace_begins, nobody_is_quick, __ATOMIC_RELAXED);
    return 0;
}

void fin_chan_trace_remove(struct fin_chan *c) {
    fin_latch_acquire(&changes);
    fin_link_remove(&c->link);
    fin_latch_release(&changes);
}

// ---- for reports

enum { MOST_ENDS = 100000, MOST_WAITING = 100000 };
#define READ(to, from) fin_host_read(&(to), from, sizeof(to))
#define END_OF(l) ((const struct fin_chan *)(const void *)((const char *)(l) - offsetof(struct fin_chan, link)))

// The copy of an end, and of what else tells who waits there.
struct seen {
    const struct fin_chan *at;
    struct fin_chan c;
    struct shared_map map;
};

static bool see(struct seen *s, const struct fin_link *l) {
    s->at = END_OF(l);
    s->map = (struct shared_map){0};
    return l != &ends && READ(s->c, s->at) && (!s->c.map || READ(s->map, s->c.map)); // NULL: it is not begun
}

static bool waits_past_ring(const struct fin_awe *a, const struct seen *s) {
    struct meeting m;
    struct lmp_waiter w;
    return s->c.in.ump.meeting && READ(m, s->c.in.ump.meeting) && m.waiter && READ(w, m.waiter) && w.awe == a;
}

static int waits_at(const struct fin_awe *a, const void *object, const struct seen *s) {
    const struct meeting *in = s->c.in.ump.meeting, *out = s->c.out.ump.meeting;
    if (waits_past_ring(a, s) || (in && object == &in->message.waiters))
        return FIN_CHAN_WAIT_MESSAGE;
    if (out && object == &out->room.waiters)
        return FIN_CHAN_WAIT_ROOM;
    if (object == &s->at->out.turn.mutex.waiters)
        return FIN_CHAN_WAIT_TO_SEND;
    if (object == &s->at->in.turn.mutex.waiters)
        return FIN_CHAN_WAIT_TO_RECEIVE;
    return object && object == s->c.watch.set ? FIN_CHAN_WAIT_SET : FIN_CHAN_WAIT_NONE;
}

// Of those who wait for calls and requests only the reader is in a wait of the channel; the others' AWEs are known.
static int rpc_waits(const struct fin_awe *a, const struct fin_rpc *rpc, int what, uint32_t *call) {
    struct fin_rpc r;
    struct waiting w;
    if (!rpc || !READ(r, rpc))
        return what;
    const struct waiting *at = r.first;
    for (int i = 0; at && i < MOST_WAITING && READ(w, at); i++, at = w.next) {
        if (w.awe != (what == FIN_CHAN_WAIT_MESSAGE ? NULL : a))
            continue;
        *call = w.id;
        return w.id ? FIN_CHAN_WAIT_ANSWER : FIN_CHAN_WAIT_REQUEST;
    }
    return what;
}

static const struct fin_chan *other_end(const struct seen *s) {
    struct seen other;
    const struct fin_link *l = ends.next;
    for (int i = 0; i < MOST_ENDS && see(&other, l); i++, l = other.c.link.next)
        if (other.at != s->at && other.map.id == s->map.id)
            return other.at;
    return NULL;
}

static unsigned members(const struct fin_waitset *set) {
    struct seen s;
    const struct fin_link *l = ends.next;
    unsigned n = 0;
    for (int i = 0; i < MOST_ENDS && see(&s, l); i++, l = s.c.link.next)
        n += s.c.watch.set == set;
    return n;
}

__attribute__((no_sanitize("thread"))) bool fin_chan_waits(const struct fin_awe *a, const void *object,
                                                           struct fin_chan_wait *out) {
    struct seen s;
    const struct fin_link *l = ends.next;
    *out = (struct fin_chan_wait){0};
    for (int i = 0; i < MOST_ENDS && see(&s, l); i++, l = s.c.link.next) {
        int what = waits_at(a, object, &s);
        if (what == FIN_CHAN_WAIT_NONE || what == FIN_CHAN_WAIT_MESSAGE)
            what = rpc_waits(a, s.c.rpc, what, &out->call);
        if (what == FIN_CHAN_WAIT_NONE)
            continue;
        out->what = what;
        out->end = s.at;
        if (what == FIN_CHAN_WAIT_SET)
            out->members = members(s.c.watch.set);
        else
            out->other = other_end(&s);
        return true;
    }
    return false;
}
