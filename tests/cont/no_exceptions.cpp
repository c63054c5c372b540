// SPDX-License-Identifier: BSD-2-Clause
// C++ without exceptions and without RTTI: blocks, bodies, steps, coroutines, threads. What would be thrown ends the program
// and says why.
#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#include <fin/co_all.hpp>

#include "check.h"

#ifdef __cpp_exceptions
#error "this is compiled with -fno-exceptions"
#endif

static int ended;

static void wait_a_moment() {
    CHECK_EQ(fin::check(fin_sleep(FIN_MS)), 0);
    ended++;
}

static void wait_a_moment_of(void *arg) {
    wait_a_moment();
    ++*static_cast<int *>(arg);
}

static void blocks_and_bodies() {
    int called = 0;
    fin_finish {
        fin_async { wait_a_moment(); };
        fin_async_eager { wait_a_moment(); };
        fin_async_call(wait_a_moment_of, &called);
        fin_async_eager_call(wait_a_moment_of, &called);
    }
    CHECK_EQ(ended, 4);
    CHECK_EQ(called, 2);
    fin::finish([](fin::scope &s) {
        s.async([] { wait_a_moment(); });
        s.async([] { CHECK_EQ(fin_sleep(FIN_S), -ECANCELED); });
        CHECK_EQ(fin_sleep(2 * FIN_MS), 0);
        s.cancel();
    });
    CHECK_EQ(ended, 5);
    CHECK(fin::timeout(FIN_MS, [](fin::scope &) { CHECK_EQ(fin_sleep(FIN_S), -ECANCELED); }));
}

static int leaves_early() {
    fin_finish {
        fin_async { wait_a_moment(); };
        return 7;
    }
    return 0;
}

static fin::next over(int &, int) { return fin::end(); }

static fin::next counts(int &left, int) { return left-- > 0 ? fin::yield_on<counts>(left) : fin::yield_on<over>(left); }

static fin::task<int> half(int n) {
    co_await fin::co::sleep(1);
    co_return n / 2;
}

static fin::task<int> offloads(int n) { co_return co_await fin::co::offload([n] { return n; }); }
static fin::task<> sleeps() { CHECK_EQ(co_await fin::co::sleep(UINT64_MAX), -ECANCELED); }

static fin::task<> quarters(int *n) { *n = co_await half(co_await half(*n)); }

static void without_stacks() {
    int n = 40;
    fin_finish {
        fin::finish([&](fin::scope &s) {
            s.async_cont<counts>(3);
            s.async(quarters(&n));
        });
    }
    CHECK_EQ(n, 10);
}

// What it says, and that it is ended by abort.
static void says(void (*fn)(), const char *what) {
    char text[256] = "";
    int p[2], status;
    CHECK(pipe(p) == 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(p[1], 2);
        signal(SIGABRT, SIG_DFL);
        fn();
        _exit(0);
    }
    close(p[1]);
    CHECK(read(p[0], text, sizeof text - 1) > 0);
    close(p[0]);
    CHECK(waitpid(child, &status, 0) == child);
    if (!strstr(text, what))
        fprintf(stderr, "%s\n", text);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(text, what));
}

static void fails() { fin::check(-ENOENT); }

static void awaits_twice() {
    fin_finish {
        int n = 8;
        auto t = quarters(&n);
        auto other = std::move(t);
        fin::finish([&](fin::scope &s) { s.async(std::move(t)); });
    }
}

int main() {
    says(fails, "fin: No such file or directory");
    says(awaits_twice, "a fin::task is started that has been given away");
    blocks_and_bodies();
    CHECK_EQ(leaves_early(), 7);
    without_stacks();
    CHECK_EQ(fin::offload([] { return 5; }), 5);
    fin::thread t([](int *n) { wait_a_moment_of(n); }, &ended);
    t.join();
    CHECK_EQ(ended, 8);
    auto [a, b] = fin::finish(fin::co::when_all(half(4), offloads(6)));
    CHECK(a == 2 && b == 6);
    auto first = fin::finish(fin::co::when_any(half(8), sleeps()));
    CHECK(first.index() == 0 && std::get<0>(first) == 4);
    return 0;
}
