// SPDX-License-Identifier: BSD-2-Clause
// A finish block is cancelled by its own thread. Another thread, with AWEs of its own or without, is told so: it would end
// waits that are not its own.
#include <pthread.h>

#include <fin.h>

#include "process.h"

static void cancels(void *block) { fin_cancel_block(block); }

static void *cancels_without_awes(void *block) {
    cancels(block);
    return NULL;
}

static void waits(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(20 * FIN_S), 0);
}

static void from_a_thread(void) {
    fin_finish_as(all) {
        struct fin_thread_handle h;
        fin_async_call(waits, NULL);
        CHECK_EQ(fin_thread_start(&h, cancels, fin_block_as(all)), 0);
        fin_thread_join_nc(&h);
    }
}

static void from_a_thread_without_awes(void) {
    fin_finish_as(all) {
        pthread_t t;
        fin_async_call(waits, NULL);
        CHECK_EQ(pthread_create(&t, NULL, cancels_without_awes, fin_block_as(all)), 0);
        CHECK_EQ(pthread_join(t, NULL), 0);
    }
}

static void from_the_pool(void) {
    fin_finish_as(all) {
        CHECK_EQ(fin_offload(cancels, fin_block_as(all)), 0);
    }
}

// What the message says to do.
static struct fin_event failed = FIN_EVENT_INIT;
static void tells(void *unused) {
    (void)unused;
    fin_event_advance(&failed, 1);
}

static void waits_and_cancels(void *block) {
    if (fin_event_await(&failed, 1) == 0)
        fin_cancel_block(block);
}

static void is_cancelled(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(20 * FIN_S), -ECANCELED);
}

static void by_an_event(void) {
    fin_finish_as(all) {
        fin_async_call(is_cancelled, NULL);
        fin_async_call(waits_and_cancels, fin_block_as(all));
        CHECK_EQ(fin_offload(tells, NULL), 0);
    }
}

int main(void) {
    void (*wrong[])(void) = {from_a_thread, from_a_thread_without_awes, from_the_pool};
    char text[4096];
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong && !ON_TSAN; i++) { // TSan says so itself
        CHECK_EQ(killed_by(wrong[i], text, sizeof text), SIGABRT);
        CHECK(strstr(text, "fin: fin_cancel of another thread's finish block"));
    }
    by_an_event();
    return 0;
}
