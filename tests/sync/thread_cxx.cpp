// SPDX-License-Identifier: BSD-2-Clause
// fin::thread as std::thread: arguments are copied, references are asked for, bodies may allow only one call; it is moved to
// itself and swapped.
#include <pthread.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include <fin.hpp>

#include "check.h"

static int alive;
struct counted {
    counted() { __atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED); }
    counted(const counted &) : counted() {}
    counted(counted &&) noexcept : counted() {}
    ~counted() { __atomic_fetch_sub(&alive, 1, __ATOMIC_RELAXED); }
};

struct adder {
    int sum = 0;
    void add(int n) { sum += n; }
};

static void adds(int &sum, std::string text, const char *more) { sum += static_cast<int>(text.size() + strlen(more)); }

static void arguments() {
    int sum = 0;
    std::string text = "four";
    fin::thread(adds, std::ref(sum), text, "six...").join();
    CHECK(sum == 10 && text == "four");
    fin::thread(adds, std::ref(sum), std::move(text), "").join();
    CHECK_EQ(sum, 14);
    adder a;
    fin::thread(&adder::add, &a, 5).join();
    CHECK_EQ(a.sum, 5);
    fin::thread([](std::unique_ptr<int> p, int *out) { *out = *p; }, std::make_unique<int>(7), &sum).join();
    CHECK_EQ(sum, 7);
    auto named = [&sum](const std::string &s, int n) { sum = static_cast<int>(s.size()) + n; };
    fin::thread(named, "abc", 1).join(); // the array as a pointer, which becomes a string there
    CHECK_EQ(sum, 4);
    {
        fin::thread t([](counted, const counted &) {}, counted(), counted());
        t.join();
        CHECK_EQ(alive, 0);
    }
}

// What the body and its arguments own ends in the thread, whenever that is joined.
static void copies_end_there() {
    static fin::semaphore gone(0);
    struct tells {
        std::unique_ptr<pthread_t> body_in;
        ~tells() {
            if (!body_in)
                return;
            CHECK(pthread_equal(*body_in, pthread_self()));
            gone.release();
        }
        tells() = default;
        tells(tells &&) = default;
    };
    fin::thread t([closure = tells()](tells &&argument) mutable {
        closure.body_in = std::make_unique<pthread_t>(pthread_self());
        argument.body_in = std::make_unique<pthread_t>(pthread_self());
    }, tells());
    gone.acquire();
    gone.acquire();
    t.join();
}

// ---- what allows one call only, or only one that is not the last

struct once_only {
    std::unique_ptr<int> n = std::make_unique<int>(3);
    int operator()() && { return *std::move(n); }
};
struct not_last {
    int *out;
    void operator()() & { ++*out; }
};
struct either {
    int *out;
    void operator()() & { *out = 1; }
    void operator()() && { *out = 2; }
};

static void callables() {
    int n = 0;
    fin::thread(once_only()).join();
    fin::thread t(once_only{});
    t.join();
    fin::thread(not_last{&n}).join();
    CHECK_EQ(n, 1);
    fin::thread(either{&n}).join();
    CHECK_EQ(n, 2);
    fin::finish([&](fin::scope &s) {
        s.async(once_only());
        s.async(not_last{&n});
        CHECK_EQ(n, 3);
        s.async(either{&n});
        CHECK_EQ(n, 2);
    });
    CHECK_EQ(fin::offload(once_only()), 3);
    once_only named;
    CHECK_EQ(fin::offload_nc(std::move(named)), 3);
    either both{&n};
    fin::offload(both);
    CHECK_EQ(n, 1);
    fin::offload(std::move(both));
    CHECK_EQ(n, 2);
    fin::offload(not_last{&n});
    CHECK_EQ(n, 3);
}

// ---- assignment

static fin::semaphore gate(0);

static void moves() {
    fin::thread a([] { gate.acquire(); }), b, none;
    CHECK(a.native_handle() && !none.native_handle());
    fin::thread &same = a;
    a = std::move(same); // waited for ever before
    CHECK(a.joinable());
    fin::thread &same_none = none;
    none = std::move(same_none);
    CHECK(!none.joinable());
    a.swap(b);
    CHECK(!a.joinable() && b.joinable());
    a = std::move(b);
    CHECK(a.joinable() && !b.joinable());
    gate.release();
    int n = 0;
    a = fin::thread([&n] { n = 1; }); // joins the other
    a = fin::thread();
    CHECK(n == 1 && !a.joinable());
}

// ---- a condition with the mutex itself, as for std::condition_variable_any

static void waits_with_a_mutex() {
    fin::mutex m;
    fin::condition_variable c;
    bool ready = false;
    fin_finish {
        fin_async {
            m.lock();
            c.wait(m, [&] { return ready; });
            CHECK(!m.try_lock());
            fin_finish {
                fin_cancel();
                CHECK_EQ(c.wait_cancellable(m), -ECANCELED);
            }
            m.unlock();
        };
        m.lock();
        ready = true;
        c.notify_one();
        m.unlock();
    }
    CHECK(m.try_lock());
    m.unlock();
}

int main() {
    arguments();
    copies_end_there();
    callables();
    moves();
    waits_with_a_mutex();
    CHECK_EQ(alive, 0);
    static_assert(fin::semaphore::max() == 2147483647);
    return 0;
}
