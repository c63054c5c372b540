// SPDX-License-Identifier: BSD-2-Clause
// What a coroutine waits for with a function of fin::co that ends in _nc: a cancel of its block, before or meanwhile,
// changes nothing, neither what it gets nor its turn.
#include <fin/coro.hpp>

#include "check.h"

namespace co = fin::co;

struct objects {
    fin_mutex m = FIN_MUTEX_INIT, around = FIN_MUTEX_INIT;
    fin_cond changed = FIN_COND_INIT;
    fin_sem sem = FIN_SEM_INIT(0);
    fin_event event = FIN_EVENT_INIT;
    fin_queue turns = FIN_QUEUE_INIT;
    fin_queue_entry first;
    fin_awe *slot = nullptr;
    fin::mutex classes;
    fin::condition_variable condition;
    fin::semaphore places{0};
    bool holds = false;
};

static int begun, ended;

template <class Operation> static fin::task<> waits(Operation make) {
    begun++;
    CHECK_EQ(co_await make(), 0);
    ended++;
}

static fin::task<> locks(fin_mutex &m) {
    begun++;
    CHECK_EQ(co_await co::lock_nc(m), 0);
    fin_mutex_unlock(&m);
    ended++;
}

static fin::task<> waits_until(objects &o) {
    begun++;
    CHECK_EQ(co_await co::lock_nc(o.around), 0);
    while (!o.holds)
        CHECK_EQ(co_await co::wait_nc(o.changed, o.around), 0);
    fin_mutex_unlock(&o.around);
    CHECK_EQ(co_await co::lock_nc(o.classes), 0);
    while (o.holds)
        CHECK_EQ(co_await co::wait_nc(o.condition, o.classes), 0);
    o.classes.unlock();
    ended++;
}

static fin::task<> takes_turn(fin_queue &q) {
    fin_queue_entry e;
    fin_queue_enter(&q, &e);
    begun++;
    CHECK_EQ(co_await co::await_turn_nc(q, e), 0);
    fin_queue_leave(&q, &e);
    ended++;
}

enum { WAITS = 7 };

static void lets_go(objects &o) {
    fin_finish_nc { // what it does is not cancelled, either
        for (int i = 0; i < 10; i++)
            fin_yield();
        CHECK_EQ(begun, +WAITS);
        CHECK_EQ(ended, 0);
        fin_mutex_unlock(&o.m);
        fin_sem_post(&o.sem);
        o.places.release();
        fin_event_advance(&o.event, 1);
        fin_queue_leave(&o.turns, &o.first);
        CHECK_EQ(fin_schedule(o.slot), 0);
        fin_mutex_lock_nc(&o.around);
        o.holds = true;
        fin_cond_broadcast(&o.changed);
        fin_mutex_unlock(&o.around);
        for (int i = 0; i < 10; i++)
            fin_yield();
        CHECK_EQ(ended, WAITS - 1);
        o.classes.lock();
        o.holds = false;
        o.condition.notify_all();
        o.classes.unlock();
    }
}

static void uncancelled(bool before) {
    objects o;
    begun = ended = 0;
    CHECK_EQ(fin_mutex_trylock(&o.m), 0);
    fin_queue_enter(&o.turns, &o.first);
    fin_finish {
        if (before)
            fin_cancel();
        fin_async_task(locks(o.m));
        fin_async_task(waits_until(o));
        fin_async_task(takes_turn(o.turns));
        fin_async_task(waits([&] { return co::wait_nc(o.sem); }));
        fin_async_task(waits([&] { return co::wait_nc(o.places); }));
        fin_async_task(waits([&] { return co::await_nc(o.event, 1); }));
        fin_async_task(waits([&] { return co::suspend_nc(o.slot); }));
        fin_async { lets_go(o); };
        fin_yield();
        fin_cancel();
    }
    CHECK_EQ(ended, +WAITS);
}

int main() {
    uncancelled(false);
    uncancelled(true);
    return 0;
}
