// SPDX-License-Identifier: BSD-2-Clause
// A pool of worker processes, in C++20. A coroutine for each worker takes jobs from a queue and has its process do them, by
// calls over a channel. Some jobs crash their worker the first time: then the job goes back to the queue, and the coroutine
// starts another process. A job that takes too long is given up with its worker. There is no callback, no state machine and
// no lock, and whatever fails, everything that was started ends before main does.
//
//   jobs [--short]
#include <fin/co_all.hpp>
#include <fin/queue.hpp>

#include <sys/socket.h>

#include "example.h"

namespace co = fin::co;

namespace {

enum { WORKERS = 3, CHANNEL = 3, MOST_TRIES = 3 };
enum class kind : uint32_t { primes, crashes, hangs };

// What goes between the processes.
struct job {
    uint32_t number, below, tries;
    kind what;
};
struct result {
    uint32_t primes;
};

// ---- the worker: one request at a time, until nobody is left who could ask

result work(const job &j) noexcept {
    if (j.what == kind::crashes && j.tries == 0)
        _exit(1);
    while (j.what == kind::hangs)
        pause();
    uint32_t primes = 0;
    for (uint32_t n = 2, d; n < j.below; n++) {
        for (d = 2; d * d <= n && n % d != 0; d++) {
        }
        primes += d * d > n;
    }
    return {primes};
}

FIN_BLOCKING int worker_main() {
    fin_chan *c;
    if (fin_chan_take(&c, CHANNEL, 0) != 0)
        return 1;
    fin::rpc(fin::chan(c)).serve<job>(work);
    return 0;
}

// ---- the pool

// The end of a channel to a process of our own, and the process, which ends with the object.
class process {
public:
    process() {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
            fin::check(-errno, "sockets for a worker");
        ours = fin::descriptor(ends[0]);
        fin::descriptor theirs(ends[1]);
        const char *const arguments[] = {"jobs", "--worker", nullptr};
        const struct fin_spawn_fd fds[] = {{CHANNEL, theirs.get()}};
        struct fin_spawn how = {};
        how.path = "/proc/self/exe";
        how.argv = arguments;
        how.fds = fds;
        how.fd_count = 1;
        fin::check(fin_spawn_nc(&process_, &how), "a worker");
    }
    process(const process &) = delete;
    process &operator=(const process &) = delete;
    ~process() {
        fin_kill(&process_, SIGKILL);
        fin_abandon(&process_);
    }
    fin::descriptor ours;

private:
    fin_process process_ = {};
};

struct worker {
    worker() {
        fin_chan *c;
        fin::check(fin_chan_offer(&c, at.ours.release(), nullptr), "a channel to a worker");
        calls = fin::rpc(fin::chan(c), FIN_RPC_CLIENT);
    }
    process at;
    fin::rpc calls;
};

struct pool {
    explicit pool(uint32_t jobs) : todo(jobs), left(jobs) {}
    fin::bounded_queue<job> todo; // has room for all, so that one that goes back finds some
    uint32_t left, done = 0, crashed = 0, given_up = 0;
    uint64_t primes = 0;

    void over() {
        show_progress("jobs", done + given_up, done + given_up + left - 1);
        if (--left == 0)
            todo.close();
    }
};

// A job at its worker: true, or the worker is of no use any more.
fin::task<bool> is_done(pool &p, worker &w, job j) {
    result r;
    auto answered = co_await co::within(2 * FIN_S, co::invoke([&]() -> fin::task<int> {
        co_return co_await co::call(w.calls, j, r);
    }));
    if (answered && *answered == 0) {
        p.done++;
        p.primes += r.primes;
        p.over();
        co_return true;
    }
    if (!answered || *answered == -ECANCELED || ++j.tries == MOST_TRIES) {
        p.given_up++;
        p.over();
    } else {
        p.crashed++;
        fin::check(co_await co::push(p.todo, j));
    }
    co_return false;
}

fin::task<> has_worker(pool &p) {
    for (bool goes_on = true; goes_on;) {
        worker w;
        job j;
        bool usable = true;
        while (usable) {
            goes_on = co_await co::pop(p.todo, j) == 0;
            usable = goes_on && co_await is_done(p, w, j);
        }
    }
}

} // namespace

FIN_BLOCKING int main(int argc, char **argv) {
    static const char *const options[] = {"--short", "--worker", nullptr};
    only_options(argc, argv, 1, options);
    if (has_option(argc, argv, "--worker"))
        return worker_main();
    const uint32_t jobs = has_option(argc, argv, "--short") ? 40 : 2000;
    pool p(jobs);
    for (uint32_t i = 0; i < jobs; i++)
        EXPECT(p.todo.try_push({i, 1000 + i, 0, i % 20 == 7 ? kind::crashes : i == 11 ? kind::hangs : kind::primes}) == 0);
    try {
        fin_finish {
            for (int i = 0; i < WORKERS; i++)
                fin_async_task(has_worker(p));
        }
    } catch (const std::exception &e) { // of one of the coroutines: it has cancelled the others
        fprintf(stderr, "%s: %s\n", argv[0], e.what());
        return 1;
    }
    printf("%u jobs: %u done, %u given up; workers crashed %u times. Primes: %llu\n", jobs, p.done, p.given_up, p.crashed,
           static_cast<unsigned long long>(p.primes));
    EXPECT(p.done == jobs - 1 && p.given_up == 1 && p.crashed == jobs / 20);
    return 0;
}
