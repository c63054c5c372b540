// SPDX-License-Identifier: BSD-2-Clause
#include "threads.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include <fin/time.h>

#include "hooks.hpp"
#include "weak.h"

extern "C" {
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __wrap_sched_yield(void);
int __wrap_nanosleep(const struct timespec *, struct timespec *);
int __real_ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
int __wrap_ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
int __real_eventfd_write(int, eventfd_t);
int __wrap_eventfd_write(int, eventfd_t);
extern const char __executable_start[];
}

namespace weak {

thread_local int self = -1;
Memory *memory;

namespace {

enum { STEPS_MOST = 1000000, MAIN = most_threads };

struct Thread {
    uint32_t may_run; // a futex: the baton
    bool done;
    const void *waits; // in the futex there
};

Thread all[most_threads + 1]; // and who has them run
Random choice(0);
uint64_t run_seed, passed, steps, steps_before = 1000;
uint64_t seldom;               // another goes on at one step in so many, by chance; 0: at those in `changes`
std::vector<uint64_t> changes; // a few, anywhere in the run (as in Burckhardt and others, ASPLOS 2010)
bool no_barriers, with_io;
const char events = 0; // what is waited for in ppoll

void take_baton(Thread &t) {
    while (__atomic_load_n(&t.may_run, __ATOMIC_ACQUIRE) == 0)
        __real_syscall(SYS_futex, &t.may_run, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    t.may_run = 0;
}

void give_baton(Thread &t) {
    __atomic_store_n(&t.may_run, 1, __ATOMIC_RELEASE);
    __real_syscall(SYS_futex, &t.may_run, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

bool can_run(int t) { return t < weak_scenario.threads && !all[t].done && !all[t].waits; }

// One that can run and is not this one, or -1.
int another() {
    int n = 0, found = -1;
    for (int t = 0; t < most_threads; t++)
        if (t != self && can_run(t) && choice.below(static_cast<uint64_t>(++n)) == 0)
            found = t;
    return found;
}

void go_on(int t) {
    int me = self;
    give_baton(all[t]);
    take_baton(all[me]);
}

bool is_time() {
    if (seldom)
        return choice.below(seldom) == 0;
    if (changes.empty() || changes.back() > steps)
        return false;
    changes.pop_back();
    return true;
}

// The calling thread waits, or has done its part.
void leave() {
    int t = another();
    bool over = true;
    for (int i = 0; i < weak_scenario.threads; i++)
        over &= all[i].done;
    if (t < 0 && !over)
        fail("nobody can run: a wake-up was lost", nullptr);
    if (all[self].done)
        give_baton(all[over ? int{MAIN} : t]);
    else
        go_on(t);
}

long wait(uint32_t *word, uint32_t value) {
    if (*static_cast<volatile uint32_t *>(word) != value) { // the kernel has the newest, and orders nothing else here
        errno = EAGAIN;
        return -1;
    }
    all[self].waits = word;
    leave();
    return 0;
}

long wake(const void *word, uint32_t most) {
    long n = 0;
    for (auto &t : all)
        if (t.waits == word && n < static_cast<long>(most)) {
            t.waits = nullptr;
            n++;
        }
    return n;
}

void begin_run(uint64_t seed) {
    run_seed = seed;
    choice = Random(seed);
    delete memory;
    memory = new Memory(choice.next());
    static const uint64_t seldoms[] = {0, 0, 0, 2, 4, 16};
    seldom = seldoms[choice.below(std::size(seldoms))];
    changes.clear();
    for (uint64_t n = choice.below(6); n > 0; n--)
        changes.push_back(choice.below(steps_before));
    std::sort(changes.rbegin(), changes.rend());
    passed = steps = 0;
    for (auto &t : all)
        t.done = false;
}

void thread_main(int i, uint64_t runs) {
    take_baton(all[i]);
    if (with_io)
        fin_sleep(1);
    if (weak_scenario.once)
        weak_scenario.once(i);
    give_baton(all[MAIN]);
    for (uint64_t run = 0; run < runs; run++) {
        take_baton(all[i]);
        self = i;
        weak_scenario.thread(i);
        all[i].done = true;
        leave();
        self = -1;
    }
    take_baton(all[i]); // AWEs of a thread that has ended are not to be scheduled
}

uint64_t option(int argc, char **argv, const char *name, uint64_t value) {
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], name, strlen(name)) == 0)
            value = strtoull(argv[i] + strlen(name), nullptr, 0);
    return value;
}

} // namespace

void fail(const char *what, const void *where) {
    fprintf(stderr, "%s\nseed=%llu, thread %d, step %llu", what, static_cast<unsigned long long>(run_seed), self,
            static_cast<unsigned long long>(steps));
    if (where)
        fprintf(stderr, ", at +0x%tx", static_cast<const char *>(where) - __executable_start);
    fputs("\n", stderr);
    _Exit(1);
}

void step(bool again) {
    if (++passed > STEPS_MOST)
        fail("it does not end", nullptr);
    if (again)
        return;
    steps++;
    if (is_time())
        give_way();
}

void give_way() {
    int t = another();
    if (t >= 0)
        go_on(t);
}

} // namespace weak

using namespace weak;

void weak_fail(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: ", file, line);
    fail(what, nullptr);
}

long __wrap_syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a[6];
    for (long &x : a)
        x = va_arg(list, long);
    va_end(list);
    if (number == SYS_membarrier && no_barriers)
        return errno = EPERM, -1;
    if (self < 0 || (number != SYS_futex && number != SYS_membarrier))
        return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    step();
    if (number == SYS_membarrier) {
        Inside now;
        return memory->fence_everywhere(self), 0;
    }
    auto *word = reinterpret_cast<uint32_t *>(a[0]);
    bool waits = (a[1] & ~FUTEX_PRIVATE_FLAG) == FUTEX_WAIT;
    return waits ? wait(word, static_cast<uint32_t>(a[2])) : wake(word, static_cast<uint32_t>(a[2]));
}

// Which promises nothing. A wait gives some turns before it sleeps, and is to get that far.
int __wrap_sched_yield(void) {
    if (self >= 0 && choice.below(8) == 0)
        give_way();
    return 0;
}

// The back end without io_uring sleeps here, until a thread writes to an eventfd.
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask) {
    static const struct timespec now = {};
    if (self < 0)
        return __real_ppoll(fds, n, timeout, mask);
    step();
    int r;
    while ((r = __real_ppoll(fds, n, &now, mask)) == 0 && !timeout) {
        all[self].waits = &events;
        leave();
    }
    return r;
}

int __wrap_eventfd_write(int fd, eventfd_t value) {
    if (self >= 0)
        step();
    int r = __real_eventfd_write(fd, value);
    wake(&events, most_threads);
    return r;
}

int __wrap_nanosleep(const struct timespec *, struct timespec *) { return __wrap_sched_yield(); }

// runs=N seed=S; barriers=0: membarrier(2) is refused; io=1: the threads have begun to use I/O, and sleep in their epoll;
// weaken=OFFSET: the atomic access behind which the code goes on there is relaxed; sites: says where those are that are not.
int main(int argc, char **argv) {
    uint64_t runs = option(argc, argv, "runs=", 2000), seed = option(argc, argv, "seed=", 1);
    no_barriers = option(argc, argv, "barriers=", 1) == 0;
    with_io = option(argc, argv, "io=", 0) != 0;
    setenv("FIN_IO", "epoll", true);
    weaken(option(argc, argv, "weaken=", 0));
    cpu_set_t one; // they take turns
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
    sched_setaffinity(0, sizeof one, &one);
    std::vector<std::thread> threads;
    for (int i = 0; i < weak_scenario.threads; i++) {
        threads.emplace_back(thread_main, i, runs);
        give_baton(all[i]);
        take_baton(all[MAIN]);
    }
    for (uint64_t run = 0; run < runs; run++) {
        begin_run(seed + run);
        if (weak_scenario.begin)
            weak_scenario.begin();
        give_baton(all[choice.below(static_cast<uint64_t>(weak_scenario.threads))]);
        take_baton(all[MAIN]);
        steps_before = steps + 1;
        if (weak_scenario.end)
            weak_scenario.end();
    }
    for (size_t i = 0; i < threads.size(); i++) {
        give_baton(all[i]);
        threads[i].join();
    }
    if (argc > 1 && strcmp(argv[1], "sites") == 0)
        list_sites();
    return 0;
}
