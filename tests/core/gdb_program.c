// SPDX-License-Identifier: BSD-2-Clause
// For gdb.py: AWEs of two threads that wait in all the ways there are. Built at several levels of optimization.
#define _GNU_SOURCE
#include <fin.h>
#include <fin/awe_id.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "no_stack.h"
#include "tail_call.h"

#define LEAF __attribute__((noinline))
// keeps the calls above from being made as jumps
#define AFTER() __asm__ volatile("" : : : "memory")

// gdb stops here twice: while main runs, and while it waits at the end of its finish block.
void stop_here(int time);
void LEAF stop_here(int time) { __asm__ volatile("" : : "r"(time) : "memory"); }

static struct fin_awe *suspended[6], *elsewhere;
static struct fin_event ready = FIN_EVENT_INIT;
static uint32_t id;
static struct fin_chan *a, *b;
static struct fin_chan_on receiving;
static char byte;

static void LEAF inner(int depth) {
    if (depth > 0)
        inner(depth - 1);
    else
        fin_suspend(&suspended[0]);
    AFTER();
}

static void nested_calls(void *arg) {
    (void)arg;
    fin_set_name("deep");
    inner(2);
    AFTER();
}

static void saves_itself(void *arg) {
    (void)arg;
    fin_set_name("saved one");
    CHECK_EQ(fin_yield_and_save_no_dispatch(id), 0);
    AFTER();
}

static void waits_inside(void *arg) {
    (void)arg;
    fin_suspend(&suspended[1]);
    AFTER();
}

// Its stack lies higher in memory than that of the function which it is called from.
static void waits_on_another_stack(void *arg) {
    (void)arg;
    fin_suspend(&suspended[4]);
    AFTER();
}

static void LEAF opens_a_block(void) {
    fin_finish {
        fin_async_call(waits_inside, NULL);
        fin_async_call(waits_on_another_stack, NULL);
    }
    AFTER();
}

static void owns_a_block(void *arg) {
    (void)arg;
    opens_a_block();
    AFTER();
}

static void LEAF waits_in_a_tail_call(struct fin_awe **slot) {
    fin_suspend(slot);
    AFTER();
}

// Its frame is full of what might be return addresses, but lies behind no call.
static void is_called_last(void *arg) {
    void (*code[40])(int);
    (void)arg;
    for (int i = 0; i < 40; i++)
        code[i] = stop_here;
    __asm__ volatile("" : : "r"(code) : "memory");
    ends_with_a_call(&suspended[5]);
    __asm__ volatile("" : : "r"(code) : "memory");
}

static void eager_body(void *arg) {
    (void)arg;
    fin_suspend(&suspended[2]);
    AFTER();
}

static pid_t other;

static void is_ready(void *arg) {
    (void)arg;
    other = gettid();
    fin_event_advance(&ready, 1);
}

static void other_thread_waits(void *arg) {
    (void)arg;
    fin_suspend_then(&elsewhere, is_ready, NULL);
    AFTER();
}

static void thread(void *arg) {
    fin_finish {
        fin_async_call(other_thread_waits, arg);
    }
    AFTER();
}

static void message_came(void *state, int result) {
    CHECK_EQ(*(long *)state, 0x6d61726b);
    CHECK_EQ(result, 1);
    fin_cont_end();
}

// The library waits in its stead.
static void receives(void *arg) {
    long mark = 0x6d61726b;
    (void)arg;
    fin_chan_recv_on(a, &byte, 1, &receiving, message_came, &mark, sizeof mark);
}

// It is stopped where it has nothing more to change.
static void wait_until_asleep(pid_t thread) {
    char path[64], text[200] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    while (!strstr(text, ") S")) {
        FILE *f = fopen(path, "r");
        CHECK(f && fgets(text, sizeof text, f));
        fclose(f);
    }
}

static void LEAF work(void) {
    fin_finish {
        fin_async_call(receives, NULL);
        for (int i = 0; i < 100; i++)
            fin_yield(); // it looks for some turns before it sleeps
        fin_async_call(has_no_stack, NULL);
        fin_async_call(nested_calls, NULL);
        fin_async_call(saves_itself, NULL);
        fin_async_call(owns_a_block, NULL);
        fin_async_call(is_called_last, NULL);
        fin_async_eager_call(eager_body, NULL);
        fin_async {
            fin_suspend(&suspended[3]);
            AFTER();
        };
        stop_here(1);
        fin_async {
            fin_yield();
            stop_here(2);
            for (int i = 0; i < 6; i++)
                CHECK_EQ(fin_schedule(suspended[i]), 0);
            CHECK_EQ(fin_schedule(without_a_stack), 0);
            CHECK_EQ(fin_chan_send(b, "x", 1), 0);
            CHECK_EQ(fin_yield_to_id(id), 0);
        };
    }
    AFTER();
}

int main(void) {
    struct fin_thread_handle t;
    CHECK_EQ(fin_awe_id_create(&id), 0);
    CHECK_EQ(fin_chan_pair(&a, &b, NULL), 0);
    CHECK_EQ(fin_thread_start(&t, thread, NULL), 0);
    fin_event_await_nc(&ready, 1);
    wait_until_asleep(other);
    work();
    CHECK_EQ(fin_schedule(elsewhere), 0);
    CHECK_EQ(fin_thread_join(&t), 0);
    return 0;
}
