// SPDX-License-Identifier: BSD-2-Clause
// The C++ classes with the standard library's locks.
#include <cstring>
#include <mutex>
#include <vector>

#include <fin.hpp>

#include "check.h"

namespace {

fin::mutex m, n;
fin::condition_variable c;
fin::semaphore gate(0);

void locks() {
    fin_finish {
        std::unique_lock<fin::mutex> held(m);
        for (int i = 0; i < 3; i++)
            fin_async {
                int me = i;
                std::lock_guard<fin::mutex> guard(m);
                LOG("%d ", me);
                fin_yield();
            };
        std::unique_lock<fin::mutex> tried(m, std::try_to_lock);
        CHECK(!tried.owns_lock());
        LOG("held ");
        held.unlock();
        fin_async {
            std::scoped_lock both(n, m);
            LOG("both ");
        };
    }
    CHECK_LOG("held 0 1 2 both ");
    CHECK(m.try_lock());
    m.unlock();
}

void conditions() {
    int value = 0;
    fin_finish {
        fin_async {
            std::unique_lock<fin::mutex> lock(m);
            c.wait(lock, [&] { return value == 2; });
            value = 3;
        };
        fin_async {
            std::unique_lock<fin::mutex> lock(m);
            CHECK_EQ(c.wait_cancellable(lock, [] { return false; }), -ECANCELED);
            CHECK(lock.owns_lock() && !m.try_lock());
        };
        for (int i = 0; i < 2; i++) {
            std::lock_guard<fin::mutex> guard(m);
            value++;
            c.notify_all();
            fin_yield();
        }
        fin_cancel();
    }
    CHECK_EQ(value, 3);
}

// A class derived from the mutex is one.
void derived() {
    struct named : fin::mutex {
    } mine;
    bool ready = false;
    fin_finish {
        fin_async {
            std::lock_guard<named> guard(mine);
            c.wait(mine, [&] { return ready; });
            CHECK_EQ(c.wait_cancellable(mine), -ECANCELED);
            CHECK(!mine.try_lock());
        };
        std::unique_lock<named> lock(mine);
        ready = true;
        c.notify_one();
        lock.unlock();
        fin_yield();
        fin_cancel();
    }
}

void semaphores() {
    int got = 0;
    fin_finish {
        fin_async {
            CHECK_EQ(gate.acquire_cancellable(), 0);
            got++;
        };
        fin_async { CHECK_EQ(gate.acquire_cancellable(), -ECANCELED); };
        fin_async {
            gate.acquire();
            got++;
        };
        gate.release();
        fin_cancel();
        gate.release(2);
    }
    CHECK_EQ(got, 2);
    CHECK(gate.try_acquire() && !gate.try_acquire());
}

// An exception that passes a lock guard gives the mutex to the next.
void unwinding() {
    bool caught = false, next = false;
    try {
        fin_finish {
            fin_async {
                std::lock_guard<fin::mutex> guard(m);
                fin_yield();
                throw 1;
            };
            fin_async {
                std::lock_guard<fin::mutex> guard(m);
                next = true;
            };
        }
    } catch (int) {
        caught = true;
    }
    CHECK(caught && next && m.try_lock());
    m.unlock();
}

void threads() {
    long count = 0;
    {
        std::vector<fin::thread> all;
        for (int t = 0; t < 4; t++)
            all.emplace_back([&count] {
                for (int i = 0; i < 2000; i++) {
                    std::lock_guard<fin::mutex> guard(m);
                    count++;
                }
            });
    }
    CHECK_EQ(count, 8000);
    fin::thread waits([] { gate.acquire(); });
    fin_finish {
        fin_async { CHECK_EQ(waits.join_cancellable(), -ECANCELED); };
        fin_cancel();
    }
    CHECK(waits.joinable());
    gate.release();
    CHECK_EQ(waits.join_cancellable(), 0);
    CHECK(!waits.joinable());
    waits = fin::thread([&count] { count = 1; });
    waits.join();
    CHECK_EQ(count, 1);
    int refused = 0;
    for (int cancellable : {0, 1}) {
        try {
            cancellable ? (void)waits.join_cancellable() : waits.join();
        } catch (const std::system_error &e) {
            refused += e.code() == std::errc::invalid_argument;
        }
    }
    CHECK_EQ(refused, 2);
}

} // namespace

int main() {
    locks();
    conditions();
    derived();
    semaphores();
    unwinding();
    threads();
    return 0;
}
