// SPDX-License-Identifier: BSD-2-Clause
// Stacks held by the program, and what the paper's figure 5 builds of its figure 4: thread_handoff, and a thread_block for
// a run queue of our own.
#include <string.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"
#include "call.h"

static void never(void *p, int result) {
    (void)p;
    (void)result;
    CHECK(false);
}

// ---- thread_handoff, and a null RPC by it: as in handoff.c

static int thread_handoff(fin_cont *cont, const void *state, size_t size, struct fin_awe *new_awe) {
    struct fin_awe *old = fin_awe_self();
    int error = fin_stack_handoff(new_awe);
    return error ? error : fin_cont_set(old, cont, state, size);
}

static void client_loop(void *p, int result) {
    struct call c = *(struct call *)p;
    CHECK_EQ(result, 0);
    client = fin_awe_self();
    for (; c.calls < 100; c.calls++, c.request += 3) {
        CHECK_EQ(thread_handoff(client_loop, &c, sizeof c, server), 0);
        CHECK(fin_awe_self() == server && fin_cont_of(client) == client_loop);
        struct call *request = fin_cont_state(client);
        request->reply = 2 * request->request;
        CHECK_EQ(thread_handoff(server_receive, NULL, 0, client), 0);
        CHECK(fin_awe_self() == client && fin_cont_of(server) == server_receive);
        CHECK_EQ(((struct call *)fin_cont_state(client))->reply, 2 * c.request);
    }
    fin_cont_end();
}

static void rpc(void) {
    run_server_and(client_loop);
}

// ---- thread_block: explicit and stackful ones take turns in a queue that only we know

enum { TURNS = 50 };
static struct fin_awe *run_queue[8];
static unsigned first, last;
static void put(struct fin_awe *a) { run_queue[last++ % 8] = a; }
static struct fin_awe *pick(void) { return first == last ? NULL : run_queue[first++ % 8]; }

static void thread_continue(void *p, int result) {
    (void)p;
    fin_call_continuation(fin_cont_of(fin_awe_self()), result);
    CHECK(false);
}

// The running one goes to the tail; with `cont` it does not come back.
static FIN_BLOCKING void thread_block(fin_cont *cont, const void *state, size_t size) {
    struct fin_awe *next = pick(), *old = fin_awe_self();
    if (!next) {
        if (cont)
            fin_call_continuation(cont, 0);
        return;
    }
    if (cont && fin_cont_of(next)) {
        CHECK_EQ(fin_stack_handoff(next), 0);
        CHECK_EQ(fin_cont_set(old, cont, state, size), 0);
        put(old);
        fin_call_continuation(fin_cont_of(next), 0);
        CHECK(false);
    }
    if (fin_cont_of(next))
        CHECK_EQ(fin_stack_attach(next, fin_stack_alloc(), thread_continue), 0);
    if (cont)
        put(old);
    struct fin_awe **slot = &run_queue[last % 8]; // where fin_switch_context puts this one
    last += !cont;
    CHECK_EQ(fin_switch_context(cont, state, size, slot, next), 0);
}

static long turns;

static void explicit_one(void *p, int result) {
    long n = *(long *)p;
    CHECK_EQ(result, 0);
    turns++;
    if (--n > 0)
        thread_block(explicit_one, &n, sizeof n);
    struct fin_awe *next = pick();
    if (next)
        CHECK_EQ(fin_schedule(next), 0);
    fin_cont_end();
}

static void begin_explicit(void *p, int result) {
    (void)result;
    put(fin_awe_self());
    fin_block_on(explicit_one, p, sizeof(long));
}

static FIN_BLOCKING void stackful_one(void *p) {
    (void)p;
    fin_suspend(&run_queue[last++ % 8]);
    for (int i = 0; i < TURNS; i++, turns++)
        thread_block(NULL, NULL, 0);
    struct fin_awe *next = pick();
    if (next)
        CHECK_EQ(fin_schedule(next), 0);
}

static void blocking(void) {
    struct fin_stats before, after;
    fin_stats(&before);
    fin_finish {
        long n = TURNS;
        for (int i = 0; i < 3; i++)
            fin_async_cont(begin_explicit, &n, sizeof n);
        fin_yield();
        fin_async_call(stackful_one, NULL);
        fin_async_call(stackful_one, NULL);
        CHECK_EQ(fin_schedule(pick()), 0);
    }
    fin_stats(&after);
    CHECK_EQ(turns, 5 * TURNS);
    CHECK(first == last);
    CHECK_EQ(after.stacks_used, before.stacks_used); // none is lost
}

// ---- an AWE that has its stack beforehand

static struct fin_awe *a;
static struct fin_stack *stack;
static void *there;

static void waits(void *p, int result) {
    a = fin_awe_self();
    there = __builtin_frame_address(0); // sanitizers have locals elsewhere
    LOG("%s%d ", (char *)p, result);
    if (result < 0)
        fin_cont_end();
    fin_block_on(waits, p, 8);
}

static void says(void *p, int result) {
    LOG("first ");
    waits(p, result);
}

static void wakes(void *arg) { CHECK_EQ(fin_schedule(arg), 0); }

static void attached(void) {
    fin_finish {
        fin_async_cont(waits, "abcdefg", 8);
        fin_yield();
        CHECK((stack = fin_stack_alloc()) != NULL);
        CHECK_EQ(fin_stack_attach(a, stack, says), 0);
        CHECK(fin_cont_of(a) == waits && strcmp(fin_cont_state(a), "abcdefg") == 0); // as before
        CHECK_EQ(fin_stack_attach(a, stack, NULL), -EINVAL); // it is not ours any more
        struct fin_stack *other = fin_stack_alloc();
        CHECK_EQ(fin_stack_attach(a, other, NULL), -EBUSY);
        CHECK_EQ(fin_stack_free(other), 0);
        strcpy(fin_cont_state(a), "b");
        CHECK_EQ(fin_schedule(a), 0);
        CHECK(fin_cont_of(a) == waits);
        CHECK_EQ(fin_cont_set(a, never, NULL, 0), -EALREADY);
        fin_yield();
        CHECK((size_t)((char *)stack - (char *)there) < 65536);
        CHECK(fin_stack_detach(a) == NULL); // it has begun, and given it up

        CHECK((stack = fin_stack_alloc()) != NULL);
        CHECK_EQ(fin_stack_attach(a, stack, says), 0);
        CHECK_EQ(fin_cont_set(a, waits, "c", 2), 0);
        CHECK(fin_stack_detach(a) == stack && fin_cont_of(a) == waits && strcmp(fin_cont_state(a), "c") == 0);
        CHECK_EQ(fin_stack_attach(a, stack, NULL), 0);
        struct fin_thread_handle t;
        CHECK_EQ(fin_thread_start(&t, wakes, a), 0);
        fin_thread_join_nc(&t);
        for (int i = 0; i < 200; i++) // more than are between two looks at what other threads did
            fin_yield();
        CHECK_LOG("abcdefg0 first b0 c0 ");

        CHECK((stack = fin_stack_alloc()) != NULL);
        CHECK_EQ(fin_stack_attach(a, stack, NULL), 0);
        fin_cancel();
    }
    CHECK_LOG("abcdefg0 first b0 c0 c-125 ");
    CHECK_EQ(fin_stack_free(stack), -EINVAL); // the thread's own again
}

// ---- misuse

static struct fin_sem s = FIN_SEM_INIT(0);
static struct fin_sync_on on;
static struct fin_awe *of_object, *with_stack;

static void ended(void *p, int result) {
    (void)p;
    LOG("%d ", result);
    fin_cont_end();
}
static void waits_for_object(void *p, int result) {
    (void)result;
    of_object = fin_awe_self();
    fin_sem_wait_on(&s, &on, ended, p, 0);
}

static void hands_over_wrongly(void *p, int result) {
    (void)p;
    (void)result;
    struct fin_awe *self = fin_awe_self();
    CHECK_EQ(fin_stack_handoff(self), -EINVAL);
    CHECK_EQ(fin_stack_handoff(of_object), -EINVAL);
    CHECK_EQ(fin_stack_handoff(with_stack), -EINVAL);
    CHECK_EQ(fin_stack_handoff(a), -EINVAL); // to which a stack is attached
    CHECK_EQ(fin_thread_handoff(never, NULL, 0, a), -EINVAL);
    CHECK_EQ(fin_thread_handoff_if(waits, never, NULL, 0, a), -EINVAL);
    CHECK_EQ(fin_thread_handoff_if(never, never, NULL, 0, a), -ESRCH);
    CHECK(fin_stack_detach(a) == stack);
    fin_finish { CHECK_EQ(fin_stack_handoff(a), -EBUSY); }
    CHECK_EQ(fin_stack_handoff(a), 0);
    CHECK(fin_awe_self() == a && fin_cont_of(self) == NULL);
    CHECK_EQ(fin_schedule(self), -EINVAL); // it does not know what it would do
    CHECK_EQ(fin_stack_attach(self, stack, NULL), -EINVAL);
    CHECK_EQ(fin_thread_handoff(never, NULL, 0, self), -EINVAL);
    CHECK_EQ(fin_cont_set(self, NULL, NULL, 0), -EINVAL);
    CHECK_EQ(fin_cont_set(self, ended, NULL, FIN_CONT_STATE + 1), -E2BIG);
    CHECK_EQ(fin_cont_set(self, ended, NULL, 0), 0);
    CHECK_EQ(fin_schedule(self), 0);
    CHECK_EQ(fin_stack_free(stack), 0);
    CHECK_EQ(fin_stack_free(stack), -EINVAL);
    fin_cont_end();
}

static void other_thread(void *held) {
    CHECK_EQ(fin_stack_free(held), -EINVAL);
    CHECK_EQ(fin_stack_attach(a, held, NULL), -EINVAL);
    struct fin_stack *own = fin_stack_alloc();
    CHECK_EQ(fin_stack_attach(a, own, NULL), -EINVAL);
    CHECK_EQ(fin_cont_set(a, never, NULL, 0), -EINVAL);
    CHECK(fin_stack_detach(a) == NULL);
}

static void misused(void) {
    struct fin_thread_handle t;
    char forged[256];
    memset(forged, 0x41, sizeof forged);
    CHECK_EQ(fin_stack_free(NULL), -EINVAL);
    CHECK_EQ(fin_stack_free((struct fin_stack *)(void *)forged), -EINVAL);
    CHECK_EQ(fin_stack_handoff((struct fin_awe *)(void *)forged), -EINVAL);
    fin_finish {
        fin_async_cont(waits, "", 1);
        fin_async_cont(waits_for_object, NULL, 0);
        fin_async { fin_suspend(&with_stack); };
        fin_yield();
        check_log[0] = 0;
        CHECK((stack = fin_stack_alloc()) != NULL);
        CHECK_EQ(fin_thread_start(&t, other_thread, stack), 0);
        fin_thread_join_nc(&t);
        CHECK_EQ(fin_stack_attach(of_object, stack, NULL), -EINVAL);
        CHECK_EQ(fin_stack_attach(with_stack, stack, NULL), -EINVAL);
        CHECK_EQ(fin_cont_set(of_object, never, NULL, 0), -EINVAL);
        CHECK_EQ(fin_cont_set(with_stack, never, NULL, 0), -EINVAL);
        CHECK(fin_stack_detach(of_object) == NULL && fin_stack_detach(with_stack) == NULL);
        CHECK_EQ(fin_stack_attach(a, stack, NULL), 0);
        CHECK_EQ(fin_stack_handoff(a), -EINVAL); // outside any async
        fin_async_cont(hands_over_wrongly, NULL, 0);
        fin_yield();
        fin_yield();
        fin_schedule(with_stack);
        fin_cancel();
    }
    CHECK_LOG("0 -125 ");
}

// Cancelled between the handoff and its continuation.
static void hands_over_and_cancels(void *p, int result) {
    struct fin_awe *self = fin_awe_self();
    (void)result;
    CHECK_EQ(fin_stack_handoff(a), 0);
    fin_cancel_block_(*(struct fin_finish_block **)p);
    CHECK_EQ(fin_cont_set(self, ended, NULL, 0), 0);
    fin_cont_end();
}

static void cancelled(void) {
    fin_finish {
        struct fin_finish_block *block = &fin_block_;
        fin_async_cont(waits, "", 1);
        fin_yield();
        check_log[0] = 0;
        fin_async_cont(hands_over_and_cancels, &block, sizeof block);
    }
    CHECK_LOG("-125 ");
}

// Two hand their stack to one another while another thread schedules both, also when they run.
static struct fin_awe *pair[2];
static long rounds, left;
static bool done, quit;

static void racing(void *p, int result) {
    struct fin_awe *self = fin_awe_self(), *to = pair[self == pair[0]];
    CHECK_EQ(result, 0);
    if (quit) {
        pair[self == pair[1]] = NULL;
        left--;
        fin_cont_end();
    }
    if (++rounds > 1000) {
        __atomic_store_n(&done, true, __ATOMIC_RELEASE);
        fin_block_on(racing, p, 0);
    }
    struct fin_stack *s = rounds % 3 == 0 ? fin_stack_alloc() : NULL;
    if (s && fin_stack_attach(to, s, thread_continue) != 0)
        CHECK_EQ(fin_stack_free(s), 0);
    if (fin_stack_handoff(to) == 0) {
        CHECK(fin_schedule(self) == -EINVAL);
        CHECK_EQ(fin_cont_set(self, racing, NULL, 0), 0);
        fin_call_continuation(racing, 0);
    }
    fin_block_on(racing, p, 0);
}

static void schedules(void *p) {
    (void)p;
    for (; !__atomic_load_n(&done, __ATOMIC_ACQUIRE); usleep(1))
        for (int i = 0; i < 2; i++)
            fin_schedule(pair[i]);
}

static void raced(void) {
    struct fin_thread_handle t;
    fin_finish {
        for (left = 0; left < 2; left++)
            pair[left] = fin_async_cont(racing, NULL, 0);
        CHECK_EQ(fin_thread_start(&t, schedules, NULL), 0);
        for (int i = 0; !__atomic_load_n(&done, __ATOMIC_RELAXED); i++, fin_yield())
            fin_schedule(pair[i % 2]);
        fin_thread_join_nc(&t);
        quit = true;
        for (int i = 0; left > 0; i++, fin_yield())
            if (pair[i % 2])
                fin_schedule(pair[i % 2]);
    }
}

int main(void) {
    void (*all[])(void) = {rpc, blocking, attached, misused, cancelled, raced};
    alarm(60); // where somebody is lost
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check_log[0] = 0;
        all[i]();
    }
    return 0;
}
