// SPDX-License-Identifier: BSD-2-Clause
// co::close, of numbers and of descriptors with an owner: what it says, in cancelled blocks, too; that no stack is taken,
// however many end at once; and that an owner for whom it was refused has its descriptor still.
#include <fcntl.h>
#include <mutex>
#include <unistd.h>

#include <fin/coro.hpp>

#include "check.h"

namespace co = fin::co;

static int ended;

static bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

static fin::task<> numbers() {
    int fd = dup(0);
    CHECK_EQ(co_await co::close(fd), 0);
    CHECK(!is_open(fd));
    CHECK_EQ(co_await co::close(fd), -EBADF);
    fd = dup(0);
    CHECK_EQ(co_await co::close_nc(fd), 0);
    CHECK(!is_open(fd));
    CHECK_EQ(co_await co::close_nc(-1), -EBADF);
    ended++;
}

static fin::task<> owners() {
    fin::descriptor d(dup(0)), none;
    int fd = d.get();
    CHECK_EQ(co_await co::close(d), 0);
    CHECK(!d);
    CHECK(!is_open(fd));
    CHECK_EQ(co_await co::close(d), -EBADF);
    CHECK_EQ(co_await co::close(none), -EBADF);
    ended++;
}

static fin::task<> in_a_cancelled_block() {
    fin::descriptor d(dup(0));
    int owned = d.get(), first = dup(0), second = dup(0);
    CHECK_EQ(co_await co::sleep(FIN_S), -ECANCELED);
    CHECK_EQ(co_await co::close(first), -ECANCELED);
    CHECK(is_open(first));
    CHECK_EQ(co_await co::close_nc(first), 0);
    CHECK_EQ(co_await co::close_nc(second), 0);
    CHECK_EQ(co_await co::close(d), 0);
    CHECK(!is_open(first) && !is_open(second) && !is_open(owned));
    ended++;
}

// A frame's lock keeps a coroutine from waiting: then nothing is closed.
static fin::task<> refused(fin::mutex &m) {
    fin::descriptor d(dup(0));
    int fd = d.get();
    {
        std::lock_guard<fin::mutex> hold(m);
        CHECK_EQ(co_await co::close(d), -EBUSY);
        CHECK_EQ(co_await co::close(fd), -EBUSY);
    }
    CHECK_EQ(d.get(), fd);
    CHECK(is_open(fd));
    ended++;
}

static fin::task<> one_of_many(fin::descriptor d, fin_event &go) {
    CHECK_EQ(co_await co::await(go, 1), 0);
    CHECK_EQ(co_await co::close(d), 0);
    ended++;
}

static uint64_t stacks() {
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks;
}

int main() {
    fin::mutex m;
    fin::finish(numbers()); // one after the other: the next one opened has the number of what was closed
    fin::finish(owners());
    fin::finish(refused(m));
    fin::finish([](fin::scope &s) {
        s.async(in_a_cancelled_block());
        s.cancel();
    });
    CHECK_EQ(ended, 4);
    fin_event go = FIN_EVENT_INIT;
    uint64_t before = 0;
    fin::finish([&](fin::scope &s) {
        for (int i = 0; i < 500; i++)
            s.async(one_of_many(fin::descriptor(dup(0)), go));
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        before = stacks();
        fin_event_advance(&go, 1);
    });
    CHECK_EQ(ended, 504);
    CHECK(stacks() < before + 4);
    return 0;
}
