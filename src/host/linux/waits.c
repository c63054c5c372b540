// SPDX-License-Identifier: BSD-2-Clause
// Who waits for whom, in a process whose threads sleep. They are not stopped for it: what is read is copied, and may be
// wrong where one of them runs after all, but a wrong pointer is not followed into a fault.
#include "host/linux/stuck.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <fin/finish_on.h>

#include "chan/host.h"
#include "core/cont.h"
#include "core/dispatch.h"
#include "host/linux/running.h"
#include "host/linux/symbol.h"
#include "own_thread.h"
#include "sync/host.h"

enum { MOST = 256, MOST_LOOKED_AT = 1000000, MOST_SHOWN = 8, FRAMES = 2048, NEAR = 128, RECORDS = 32 };

struct node {
    const struct fin_awe *at;
    struct fin_runtime *rt;
    struct fin_awe awe;
    bool at_end, explicit, is_mutex;
    const struct fin_finish_block *closes; // the block without a stack that it is at the end of
    const void *cont, *frame;    // of an explicit one; what its state begins with
    const void *coroutine;       // where that goes on
    unsigned alike;              // others that wait with the same, for the same
    struct fin_sync_wait sync;   // the sync object that it waits for
    const void *holder;          // the body or record that holds it
    struct fin_chan_wait chan;   // what it waits for at the end of a channel
    int seen;                    // while a cycle is looked for: 1 on the way, 2 done
};

static struct node nodes[MOST];
static int count;
static bool more, for_cycle; // for_cycle: only who may be in one counts, where there is no room for all
static int cycle[MOST], cycle_length;
static uint64_t told[MOST]; // who was in a cycle that has been printed
static int told_count;

#define READ(to, from) fin_host_read(&(to), from, sizeof(to))

static bool known(const void *at) {
    for (int i = 0; i < count; i++)
        if (nodes[i].at == at)
            return true;
    return false;
}

static bool same_coroutine(const struct node *other, const struct node *n) {
    const void *at;
    return !other->coroutine || (READ(at, n->frame) && at == other->coroutine);
}

// There may be millions of them, most for the same reason.
static bool is_like_another(const struct node *n) {
    for (struct node *other = nodes; other < nodes + count; other++) {
        if (!other->explicit || other->rt != n->rt || other->cont != n->cont || other->awe.block != n->awe.block ||
            other->sync.object != n->sync.object || other->chan.end != n->chan.end || other->chan.what != n->chan.what ||
            !same_coroutine(other, n))
            continue;
        other->alike++;
        return true;
    }
    return false;
}

static void make_room(void) {
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (nodes[i].is_mutex || nodes[i].at_end)
            nodes[kept++] = nodes[i];
    count = kept;
}

static struct node *add(struct fin_runtime *rt, const struct fin_awe *at) {
    if (known(at))
        return NULL;
    if (count == MOST && for_cycle)
        make_room();
    if (count == MOST) {
        more = true;
        return NULL;
    }
    struct node *n = &nodes[count];
    *n = (struct node){.at = at, .rt = rt};
    if (!READ(n->awe, at))
        return NULL;
    count++;
    return n;
}

// The owners that wait at the ends of the finish blocks around.
static void add_owners(struct fin_runtime *rt, const struct fin_finish_block *at) {
    struct fin_finish_block b;
    for (int depth = 0; at && depth < MOST && READ(b, at); at = b.parent, depth++) {
        struct node *n = b.flags & FIN_FINISH_WAITING ? add(rt, &at->awe) : NULL;
        if (n)
            n->at_end = true;
    }
}

// Where the stack of an AWE ends, or what can be looked at of it.
static const void *frames_end(const struct fin_runtime *rt, const struct fin_awe *at) {
    struct fin_slab slab;
    const char *here = (const char *)at;
    for (const struct fin_slab *s = rt->slabs; s && READ(slab, s); s = slab.next) {
        size_t offset = (size_t)(here - slab.base);
        if (here >= slab.base && offset < slab.stacks * rt->stack_size) {
            size_t left = rt->stack_size - offset % rt->stack_size;
            return here + (left < FRAMES ? left : FRAMES);
        }
    }
    return here + FRAMES;
}

// Nothing is between `from` and `to` where it can wait for no object.
static void find_object(struct node *n, const void *from, const void *to) {
    const void **hold = NULL;
    if (fin_sync_waits && fin_sync_waits(n->at, from, to, &n->sync))
        n->is_mutex = fin_sync_is_mutex(n->sync.object, &hold) && READ(n->holder, hold);
    if (fin_chan_waits)
        fin_chan_waits(n->at, n->sync.object, &n->chan);
}

static void add_awe(struct fin_runtime *rt, const struct fin_awe *at) {
    struct node *n = add(rt, at);
    if (n) {
        if (!n->at_end)
            find_object(n, at + 1, frames_end(rt, at));
        add_owners(rt, n->awe.block);
    }
}

// Where its wait can be cancelled, that item is the other of a list of two.
static void add_explicit(struct fin_runtime *rt, const struct fin_awe *at, const struct fin_cont_record *e) {
    struct node *n = add(rt, at);
    if (!n)
        return;
    memcpy(&n->frame, e->data, sizeof n->frame);
    n->explicit = true;
    n->cont = fin_running_cont((const void *)(uintptr_t)e->cont, &n->frame);
    size_t near = e->link.next != &at->link ? NEAR : 0;
    find_object(n, (const char *)e->link.next - near, (const char *)e->link.next + near);
    count--; // until that is known
    if (!fin_holds_any(rt, at) && e->cancellable != AT_END && is_like_another(n)) // each is at the end of a block of its own
        return;
    count++;
    const void *coroutine = n->cont ? fin_running_coroutine(n->cont, n->frame) : NULL;
    n->coroutine = coroutine != n->cont ? coroutine : NULL;
    add_owners(rt, n->awe.block);
}

static void collect_explicit(struct fin_runtime *rt) {
    static struct fin_cont_record some[RECORDS];
    struct fin_cont_slab slab;
    for (const struct fin_cont_slab *s = rt->cont_slabs; s && READ(slab, s); s = slab.next) {
        const struct fin_cont_record *all = (const void *)s;
        for (size_t n, end = slab.size / sizeof *all, i = 1; i < end; i += n) {
            n = end - i < RECORDS ? end - i : RECORDS;
            if (!fin_host_read(some, all + i, n * sizeof *all))
                break;
            for (size_t k = 0; k < n; k++)
                if (fin_state_waits(some[k].state))
                    add_explicit(rt, (const struct fin_awe *)(const void *)(all + i + k), &some[k]);
        }
    }
}

static void collect(struct fin_runtime *rt) {
    struct fin_link link = rt->suspended;
    for (int i = 0; link.next != &rt->suspended && i < (for_cycle ? MOST_LOOKED_AT : MOST); i++) {
        const struct fin_link *at = link.next;
        add_awe(rt, FIN_AWE_OF(at));
        if (!READ(link, at))
            break;
    }
    more = more || link.next != &rt->suspended;
    for (uint32_t i = 1; i < rt->id_count; i++) {
        struct fin_id_slot slot;
        struct fin_awe a;
        if (READ(slot, &rt->ids[i]) && slot.awe && READ(a, slot.awe) && !(a.state & FIN_AWE_EXPLICIT))
            add_awe(rt, slot.awe);
    }
    collect_explicit(rt);
    add_owners(rt, rt->thread.current);
}

static void is_at_end(const struct fin_awe *waiter, const struct fin_finish_block *of) {
    for (struct node *n = nodes; n < nodes + count; n++) {
        if (n->at != waiter)
            continue;
        n->at_end = true;
        n->is_mutex = false;
        n->closes = of;
    }
}

// Who waits at the end of a block without a stack is found by those in the block.
static void find_closers(void) {
    struct fin_finish_block b;
    struct fin_finish_on f;
    for (int i = 0; i < count; i++) {
        const struct fin_finish_block *at = nodes[i].awe.block;
        for (int depth = 0; at && depth < MOST && READ(b, at); at = b.parent, depth++)
            if (b.flags & FIN_FINISH_CLOSING && READ(f, at))
                is_at_end(f.waiter, at);
    }
}

// ---- the graph

static const struct fin_finish_block *block_of(const struct fin_awe *owner) {
    return (const struct fin_finish_block *)(const void *)((const char *)owner - offsetof(struct fin_finish_block, awe));
}

// As who holds a lock, in core/locks.h.
static const void *identity(const struct node *n) {
    struct fin_body body;
    struct fin_finish_block block;
    if (n->explicit)
        return n->at;
    if (!n->awe.body)
        return n->rt;
    bool step = READ(body, n->awe.body) && READ(block, body.block) && block.flags & FIN_FINISH_CONT;
    return step ? body.resume : n->awe.body;
}

// In a block without a stack its opener does not count, but in the one around that.
static const struct fin_finish_block *counts_in(const struct fin_finish_block *b, const void *awe) {
    struct fin_finish_block block;
    struct fin_finish_on f;
    for (int depth = 0; b && depth < MOST && READ(block, b) && block.flags & FIN_FINISH_ON; b = block.parent, depth++)
        if (!READ(f, b) || f.opener != awe)
            break;
    return b;
}

// Is `of` what n waits for: the holder of its mutex, or an async of the finish block that it is at the end of?
static bool waits_for(const struct node *n, const struct node *of) {
    struct fin_body body;
    struct fin_finish_block block;
    if (n->is_mutex)
        return n->holder && identity(of) == n->holder;
    if (!n->at_end)
        return false;
    const struct fin_finish_block *mine = n->closes ? n->closes : block_of(n->at), *b = of->awe.block;
    if (of->explicit)
        return counts_in(b, of->at) == mine;
    if (!of->awe.body || !READ(body, of->awe.body) || of == n)
        return false;
    for (b = body.block; b && READ(block, b) && block.flags & FIN_FINISH_EAGER; b = block.parent) {
    }
    return counts_in(b, identity(of)) == mine;
}

// That of an AWE that waits for that object.
static uint64_t number_of(int i) {
    return (uint64_t)(uintptr_t)nodes[i].at * 31 + (uint64_t)(uintptr_t)nodes[i].sync.object;
}

// Has one of those in the cycle been in another? Where no more can be noted, all have.
static bool is_told(void) {
    for (int i = 0; i < cycle_length; i++)
        for (int k = 0; k < told_count; k++)
            if (told[k] == number_of(cycle[i]))
                return true;
    return told_count + cycle_length > MOST;
}

// Notes the first cycle that is found from nodes[i] on; where cycles are looked for, one that is new. `path`: the nodes
// on the way there.
static bool cycle_from(int i, int *path, int depth) {
    nodes[i].seen = 1;
    path[depth++] = i;
    for (int j = 0; j < count; j++) {
        if (!waits_for(&nodes[i], &nodes[j]) || nodes[j].seen == 2)
            continue;
        if (nodes[j].seen == 1) {
            int first = 0;
            while (path[first] != j)
                first++;
            cycle_length = depth - first;
            memcpy(cycle, path + first, (size_t)cycle_length * sizeof *cycle);
            if (for_cycle && is_told())
                continue;
            return true;
        }
        if (cycle_from(j, path, depth))
            return true;
    }
    nodes[i].seen = 2;
    return false;
}

static bool find_cycle(void) {
    static int path[MOST];
    for (int i = 0; i < count; i++)
        if (!nodes[i].seen && cycle_from(i, path, 0))
            return true;
    return false;
}

static bool waits_for_any(const struct node *n, const bool *kept) {
    for (int i = 0; i < count; i++)
        if (kept[i] && waits_for(n, &nodes[i]))
            return true;
    return false;
}

// Leaves those in the cycle, and those who wait for them.
static void leave_cycle(void) {
    bool kept[MOST] = {false}, again = true;
    int number[MOST], n = 0;
    for (int i = 0; i < cycle_length; i++)
        kept[cycle[i]] = true;
    while (again) {
        again = false;
        for (int i = 0; i < count; i++)
            if (!kept[i] && waits_for_any(&nodes[i], kept))
                kept[i] = again = true;
    }
    for (int i = 0; i < count; i++)
        if (kept[i]) {
            number[i] = n;
            nodes[n++] = nodes[i];
        }
    count = n;
    for (int i = 0; i < cycle_length; i++)
        cycle[i] = number[cycle[i]];
}

// ---- words

static void print_whom(const struct node *n) {
    int found = 0;
    for (int j = 0; j < count; j++)
        if (waits_for(n, &nodes[j]) && found++ < MOST_SHOWN)
            fprintf(stderr, "%s%d", found == 1 ? " " : ", ", j + 1);
    if (found > MOST_SHOWN)
        fprintf(stderr, " and %d more", found - MOST_SHOWN);
    if (!found)
        fprintf(stderr, n->is_mutex ? " an async that has ended, or that cannot be seen" : " asyncs that cannot be seen");
}

static void print_others_at(const struct fin_chan *end) {
    int found = 0;
    for (int j = 0; j < count; j++)
        if (nodes[j].chan.end == end && found++ < MOST_SHOWN)
            fprintf(stderr, "%s%d", found == 1 ? "" : ", ", j + 1);
    if (found > MOST_SHOWN)
        fprintf(stderr, " and %d more", found - MOST_SHOWN);
    fprintf(stderr, "%s", found == 0 ? "nobody waits" : found == 1 ? " waits" : " wait");
}

static void print_chan_wait(const struct fin_chan_wait *w) {
    static const char *const whats[] = {"", "a message", "room for a message", "its turn to send", "its turn to receive",
                                        "a request"};
    if (w->what == FIN_CHAN_WAIT_SET) {
        fprintf(stderr, "for an event of a waitset with %u channel%s", w->members, w->members == 1 ? "" : "s");
        return;
    }
    if (w->what == FIN_CHAN_WAIT_ANSWER)
        fprintf(stderr, "for the answer to call 0x%x", w->call);
    else
        fprintf(stderr, "for %s", whats[w->what]);
    fprintf(stderr, " at the channel's end %p; ", (const void *)w->end);
    if (w->other) {
        fprintf(stderr, "at the other, %p, ", (const void *)w->other);
        print_others_at(w->other);
    } else {
        fprintf(stderr, "the other is closed, or in another process");
    }
}

static void print_sync_wait(const struct fin_sync_wait *w) {
    static const char *const whats[] = {"the object", "the semaphore", "the condition variable", "the event count",
                                        "its turn in the queue"};
    fprintf(stderr, "for %s %p", whats[w->what], w->object);
    if (w->what == FIN_SYNC_EVENT)
        fprintf(stderr, " to reach %" PRIu64, w->until);
    else if (w->what == FIN_SYNC_OTHER)
        fprintf(stderr, " (fin/sync.h)");
}

static void print_wait(const struct node *n) {
    char symbol[256];
    if (n->at_end) {
        fprintf(stderr, "at the end of a finish block, for");
        print_whom(n);
    } else if (n->is_mutex) {
        fprintf(stderr, "for the mutex %p, which is held by", n->sync.object);
        print_whom(n);
    } else if (n->chan.end) {
        print_chan_wait(&n->chan);
    } else if (n->sync.object) {
        print_sync_wait(&n->sync);
    } else if (n->explicit && !n->cont) {
        fprintf(stderr, "for fin_cont_set, after fin_stack_handoff");
    } else if ((n->awe.state & FIN_AWE_KIND) == FIN_AWE_BUSY && n->explicit) {
        fprintf(stderr, "for a message or an object");
    } else if ((n->awe.state & FIN_AWE_KIND) == FIN_AWE_SAVED) {
        fprintf(stderr, "for a yield to its id, 0x%x", n->awe.id);
    } else if (n->explicit) {
        fprintf(stderr, "for fin_schedule");
    } else {
        bool busy = (n->awe.state & FIN_AWE_KIND) == FIN_AWE_BUSY;
        fprintf(stderr, "for %s, in %s", busy ? "an operation" : "fin_schedule",
                fin_symbol_at(n->awe.context.ip, symbol, sizeof symbol));
    }
}

static void print_node(int number, const struct node *n) {
    struct fin_running r = fin_running_asleep(n->rt, n->awe.body);
    char name[64] = "", symbol[256] = "";
    if (n->explicit)
        r = (struct fin_running){.how = n->cont ? ", continuation " : "", .at = n->coroutine ? n->coroutine : n->cont};
    for (size_t i = 0; r.name && i + 1 < sizeof name && fin_host_read(name + i, r.name + i, 1) && name[i]; i++)
        name[i + 1] = 0;
    fin_running_name(&r, symbol, sizeof symbol);
    fprintf(stderr, "fin:   %d: AWE \"%s\"%s%s, thread %d, waits ", number, name[0] ? name : "unnamed", r.how, symbol,
            n->rt->tid);
    print_wait(n);
    if (n->alike)
        fprintf(stderr, "; and %u more alike", n->alike);
    fprintf(stderr, "\n");
}

static __attribute__((no_sanitize("thread"))) void collect_all(bool cycles) {
    count = 0;
    more = false;
    for_cycle = cycles;
    for (struct fin_runtime *rt = __atomic_load_n(&fin_runtimes, __ATOMIC_ACQUIRE); rt; rt = rt->next)
        if (__atomic_load_n(&rt->in_use, __ATOMIC_ACQUIRE))
            collect(rt);
    find_closers();
}

static void print_nodes(void) {
    for (int i = 0; i < count; i++)
        print_node(i + 1, &nodes[i]);
    if (more)
        fprintf(stderr, "fin:   and more\n");
}

static void print_cycle(void) {
    fprintf(stderr, "fin:   a cycle:");
    for (int i = 0; i < cycle_length; i++)
        fprintf(stderr, " %d waits for", cycle[i] + 1);
    fprintf(stderr, " %d\n", cycle[0] + 1);
}

static __attribute__((no_sanitize("thread"))) bool any_expects_pool(void) {
    for (const struct fin_runtime *rt = __atomic_load_n(&fin_runtimes, __ATOMIC_ACQUIRE); rt; rt = rt->next)
        if (__atomic_load_n(&rt->in_use, __ATOMIC_ACQUIRE) && rt->expects == FIN_EXPECTS_POOL)
            return true;
    return false;
}

void fin_stuck_print(long ms) {
    collect_all(false);
    fprintf(stderr,
            "fin: nothing can wake process %d (FIN_STUCK_MS=%ld): all threads sleep, and expect no I/O and no timer\n",
            getpid(), ms);
    if (any_expects_pool())
        fprintf(stderr, "fin:   some wait for functions on the pool, all of whose threads (%u) are among those that sleep\n",
                fin_own_threads_of_pool());
    print_nodes();
    if (find_cycle())
        print_cycle();
}

uint64_t fin_stuck_cycle(void) {
    collect_all(true);
    uint64_t sum = 0;
    if (!find_cycle())
        return 0;
    for (int i = 0; i < cycle_length; i++)
        sum += number_of(cycle[i]);
    return sum | 1;
}

void fin_stuck_forget(void) { told_count = 0; }

void fin_stuck_print_cycle(long ms) {
    for (int i = 0; i < cycle_length; i++)
        told[told_count++] = number_of(cycle[i]);
    leave_cycle();
    fprintf(stderr,
            "fin: AWEs of process %d wait for one another (FIN_STUCK_MS=%ld): whatever may come from outside, only a cancel"
            " ends that, or who unlocks for another\n",
            getpid(), ms);
    print_nodes();
    print_cycle();
}
