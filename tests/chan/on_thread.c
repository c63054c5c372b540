// SPDX-License-Identifier: BSD-2-Clause
// A wait with a continuation for what another thread sends: the thread that it wakes receives in its place, before the AWE
// runs. A bell for nothing leaves it asleep; the end is told; and where a cancel and a message come at once, it has either.
#include <fin/awe_id.h>

#include "asleep.h"
#include "chan/chan.h"

// The pauses are longer than an AWE takes to begin. With TSan its stack has a fiber, which takes GCC 12 up to 0.9 ms.
enum { ROUNDS = 3000, PAUSE_NS = ON_TSAN ? 2000000 : 200000 };

static char message[MOST];
static struct fin_event go;
static struct fin_thread_handle thread;

static void in_thread(void (*fn)(void *)) {
    fin_event_init(&go);
    fin_stats_clear();
    CHECK_EQ(fin_thread_start(&thread, fn, NULL), 0);
}

static void says(void *unused) {
    (void)unused;
    for (uint64_t i = 1; i <= 2; i++) {
        fin_event_await_nc(&go, i);
        CHECK_EQ(fin_chan_send(a, message, i == 1 ? 8 : MOST), 0);
    }
}

static void recognized(void) {
    in_thread(says);
    for (uint64_t i = 1; i <= 2; i++) {
        fin_finish {
            START();
            until_asleep(i);
            fin_event_advance(&go, 1);
        }
        CHECK_EQ(result, i == 1 ? 8 : MOST);
        CHECK(memcmp(buffer, message, (size_t)result) == 0);
        CHECK_EQ(waits(FIN_FOR_MESSAGE).recognized, i);
    }
    fin_thread_join_nc(&thread);
}

static void rings(void *unused) {
    (void)unused;
    fin_event_await_nc(&go, 1);
    fin_bell_ring_message(&a->out.ump);
    fin_event_await_nc(&go, 2);
    CHECK_EQ(fin_chan_send(a, message, 8), 0);
}

static void for_nothing(void) {
    in_thread(rings);
    fin_finish {
        START();
        until_asleep(1);
        fin_event_advance(&go, 1);
        until_asleep(2);
        CHECK_EQ(waits(FIN_FOR_MESSAGE).recognized, 0);
        fin_event_advance(&go, 1);
    }
    CHECK_EQ(result, 8);
    CHECK_EQ(waits(FIN_FOR_MESSAGE).recognized, 1);
    fin_thread_join_nc(&thread);
}

// Woken, and not heard of yet, it gets an id.
static void named(void) {
    uint32_t id;
    CHECK_EQ(fin_awe_id_create(&id), 0);
    in_thread(says);
    fin_finish {
        START();
        until_asleep(1);
        fin_event_advance(&go, 2);
        while (fin_awe_id_set(id, receiver) != 0)
            continue;
        CHECK(fin_awe_id_get(id) == receiver);
    }
    CHECK_EQ(result, 8);
    CHECK(fin_awe_id_get(id) == NULL);
    CHECK_EQ(fin_awe_id_remove(id), 0);
    fin_thread_join_nc(&thread);
    CHECK_EQ(fin_chan_recv(b, buffer, MOST), MOST);
}

static void closes(void *unused) {
    (void)unused;
    fin_event_await_nc(&go, 1);
    CHECK_EQ(fin_chan_close(a), 0);
}

static void ends(void) {
    in_thread(closes);
    fin_finish {
        START();
        until_asleep(1);
        fin_event_advance(&go, 1);
    }
    CHECK_EQ(result, -ESHUTDOWN);
    CHECK_EQ(waits(FIN_FOR_MESSAGE).recognized, 1);
    fin_thread_join_nc(&thread);
}

static void counts(void *unused) {
    unsigned seed = 7;
    (void)unused;
    for (unsigned i = 0; i < few(ROUNDS); i++) {
        fin_event_await_nc(&go, i + 1);
        CHECK_EQ(fin_sleep_nc(next_random(&seed) % PAUSE_NS), 0);
        CHECK_EQ(fin_chan_send(a, &i, sizeof i), 0);
    }
}

static void took(unsigned number) {
    unsigned got;
    CHECK_EQ(result, sizeof got);
    memcpy(&got, buffer, sizeof got);
    CHECK_EQ(got, number);
}

// Each message comes about when it is no longer waited for.
static void cancelled(void) {
    unsigned seed = 3, cancels = 0;
    in_thread(counts);
    for (unsigned i = 0; i < few(ROUNDS); i++) {
        fin_event_advance(&go, 1);
        for (result = -ECANCELED; result == -ECANCELED;) {
            fin_finish {
                START();
                CHECK_EQ(fin_sleep_nc(next_random(&seed) % PAUSE_NS), 0);
                fin_cancel();
            }
            cancels += result == -ECANCELED;
        }
        took(i);
    }
    CHECK(cancels > 0);
    CHECK(waits(FIN_FOR_MESSAGE).recognized > 0);
    fin_thread_join_nc(&thread);
}

int main(void) {
    alarm(60);
    fill((unsigned char *)message, MOST, 1);
    open_kind(PAIR, 4096, 0);
    recognized();
    for_nothing();
    named();
    cancelled();
    ends();
    CHECK_EQ(fin_chan_close(b), 0);
    return 0;
}
