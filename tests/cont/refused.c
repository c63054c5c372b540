// SPDX-License-Identifier: BSD-2-Clause
// What must not be done with continuations is an error code, or where no caller is left to tell, the end with a message.
#include <fin.h>

#include "process.h"

static void never(void *p, int result) {
    (void)p;
    (void)result;
    CHECK(false);
}

static void over(void *p, int result) {
    (void)p;
    LOG("%d ", result);
    fin_cont_end();
}

static void waits_at(void *slot) { fin_suspend(slot); }

static void wrong_arguments(void *p) {
    (void)p;
    char large[FIN_CONT_STATE + 1] = "";
    CHECK_EQ(fin_block_on(NULL, NULL, 0), -EINVAL);
    CHECK_EQ(fin_block_on(never, large, sizeof large), -E2BIG);
    CHECK_EQ(fin_yield_on(never, large, sizeof large), -E2BIG);
    CHECK_EQ(fin_call_continuation(never, 0), -EINVAL); // not explicit
    fin_finish {
        CHECK_EQ(fin_block_on(never, NULL, 0), -EBUSY);
        CHECK_EQ(fin_yield_on(never, NULL, 0), -EBUSY);
    }
    fin_yield_on(over, NULL, 0); // nothing has happened: it still can
}

// What is none, or was one.
static void no_awe(void) {
    struct fin_awe *waits, *slot, copy __attribute__((aligned(64)));
    struct fin_stack *stack = fin_stack_alloc();
    fin_finish {
        fin_async_call(waits_at, &waits);
        memcpy(&copy, waits, sizeof copy);
        CHECK_EQ(fin_switch_context(NULL, NULL, 0, &slot, NULL), -EINVAL);
        CHECK_EQ(fin_switch_context(NULL, NULL, 0, &slot, &copy), -EINVAL);
        CHECK_EQ(fin_switch_context(never, NULL, 0, &slot, NULL), -EINVAL);
        CHECK_EQ(fin_thread_handoff(never, NULL, 0, NULL), -EINVAL);
        CHECK_EQ(fin_thread_handoff_if(never, never, NULL, 0, NULL), -EINVAL);
        CHECK_EQ(fin_stack_handoff(NULL), -EINVAL);
        CHECK_EQ(fin_cont_set(NULL, never, NULL, 0), -EINVAL);
        CHECK_EQ(fin_stack_attach(NULL, stack, NULL), -EINVAL);
        CHECK(fin_stack_detach(NULL) == NULL);
        CHECK(fin_cont_of(NULL) == NULL && fin_cont_state(NULL) == NULL);
        CHECK_EQ(fin_schedule(waits), 0);
    }
    fin_stack_free(stack);
}

static void step_with_a_block(void *p, int result) {
    (void)p;
    (void)result;
    fin_finish {
        CHECK_EQ(fin_block_on(never, NULL, 0), -EBUSY);
        CHECK_EQ(fin_call_continuation(never, 0), -EBUSY);
    }
    fin_cont_end();
}

static struct fin_awe *stackful;

static void suspends(void *p) {
    (void)p;
    fin_suspend(&stackful);
}

static void bad_handoff(void *p, int result) {
    (void)result;
    (void)p;
    CHECK_EQ(fin_thread_handoff(never, NULL, 0, stackful), -EINVAL);        // it has a stack
    CHECK_EQ(fin_thread_handoff(never, NULL, 0, fin_awe_self()), -EINVAL);  // it runs
    struct fin_awe forged;
    memset(&forged, 0x41, sizeof forged);
    CHECK_EQ(fin_thread_handoff(never, NULL, 0, &forged), -EINVAL);
    CHECK_EQ(fin_switch_context(never, NULL, 0, NULL, &forged), -EINVAL);
    CHECK(fin_cont_of(&forged) == NULL && fin_cont_of(stackful) == NULL && fin_cont_state(stackful) == NULL);
    CHECK_EQ(fin_schedule(fin_awe_self()), -EALREADY);
    CHECK_EQ(fin_yield_to(fin_awe_self()), -EALREADY);
    fin_cont_end();
}

static void returns(void *p, int result) {
    (void)p;
    (void)result;
}

static void ends_inside(void *p, int result) {
    (void)p;
    (void)result;
    fin_finish { fin_cont_end(); }
}

static void ends_outside(void *p) {
    (void)p;
    fin_cont_end();
}

static void run_returning(void) {
    fin_finish { fin_async_cont(returns, NULL, 0); }
}
static void run_ending_inside(void) {
    fin_finish { fin_async_cont(ends_inside, NULL, 0); }
}
static void run_ending_outside(void) {
    fin_finish { fin_async_call(ends_outside, NULL); }
}

static void dies_with(void (*fn)(void), const char *message) {
    char text[4096];
    CHECK_EQ(killed_by(fn, text, sizeof text), SIGABRT);
    CHECK(strstr(text, message));
}

int main(void) {
    CHECK_EQ(fin_block_on(never, NULL, 0), -EINVAL); // no AWE that could become explicit
    CHECK_EQ(fin_yield_on(never, NULL, 0), -EINVAL);
    no_awe();
    fin_finish {
        CHECK_EQ(fin_block_on(never, NULL, 0), -EINVAL);
        fin_async_call(wrong_arguments, NULL);
        fin_async_eager_call(wrong_arguments, NULL);
        fin_async_cont(step_with_a_block, NULL, 0);
    }
    CHECK_LOG("0 0 ");
    fin_finish {
        fin_async_call(suspends, NULL);
        fin_async_cont(bad_handoff, NULL, 0);
        fin_yield();
        fin_schedule(stackful);
    }
    if (ON_TSAN) // which sees no order between the threads of a program and what they left to the child of a fork
        return 0;
    dies_with(run_returning, "fin: a continuation returned");
    dies_with(run_ending_inside, "fin: fin_cont_end inside a finish block");
    dies_with(run_ending_outside, "fin: fin_cont_end outside an explicit AWE");
    return 0;
}
