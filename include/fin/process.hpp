// SPDX-License-Identifier: BSD-2-Clause
// <fin/process.h> and <fin/signals.h> as classes: a child process with an owner, and an open set of signals.
//
//     fin::process sort({"sort", "-n", "numbers"});
//     int status;
//     fin::check(sort.wait(&status));
//
//     fin::signal_set ends({SIGTERM, SIGINT});
//     fin_signal_info info;
//     while (ends.next(info) == 0) ...
//
// Constructors throw std::system_error and std::bad_alloc. All else returns what the function of that header with that name
// does, which also says what is cancelled. What was moved from is none, of which nothing may be called.
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_PROCESS_HPP)
#define FIN_PROCESS_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include <fin/chan.hpp> // what is said where something is in use
#include <fin/check.hpp>
#include <fin/process.h>
#include <fin/signals.h>

namespace fin {

// A child process. Where it has not been waited for, the destructor and an assignment abandon it, as fin_abandon: it goes
// on, and is reaped when it ends; kill() before if it is not to. (Where that fails, for want of descriptors or memory,
// nobody hears of it, and it stays a zombie.) If an AWE waits for it then the program ends, with a message.
class process {
public:
    FIN_TAGGED_ explicit process(const struct fin_spawn &how) : p_(new fin_process{0, -1, 0}) {
        check(fin_spawn(p_.get(), &how), how.path ? how.path : "fin::process");
    }
    // A program with its arguments, of which the first is the program itself.
    FIN_TAGGED_ explicit process(std::initializer_list<const char *> words) : process(how_of(argv_of(words))) {}
    process(process &&) noexcept = default;
    process &operator=(process &&other) noexcept {
        process taken(std::move(other));
        std::swap(p_, taken.p_);
        return *this;
    }
    ~process() {
        if (*this && fin_abandon(p_.get()) == -EBUSY)
            detail::in_use("fin::process");
    }

    FIN_BLOCKING int wait(int *status = nullptr) { return fin_wait(p_.get(), status); }
    FIN_BLOCKING int wait_nc(int *status = nullptr) { return fin_wait_nc(p_.get(), status); }
    int kill(int signal) { return fin_kill(p_.get(), signal); }
    int abandon() { return fin_abandon(p_.get()); }
    pid_t pid() const noexcept { return p_->pid; }
    explicit operator bool() const noexcept { return p_ && p_->fd >= 0; } // it can be waited for

    using native_handle_type = fin_process *;
    native_handle_type native_handle() const noexcept { return p_.get(); }

private:
    using words = std::vector<const char *>;
    FIN_TAGGED_ explicit process(std::pair<struct fin_spawn, words> &&how) : process(how.first) {}
    static words argv_of(std::initializer_list<const char *> list) {
        words argv(list);
        argv.push_back(nullptr);
        return argv;
    }
    static std::pair<struct fin_spawn, words> how_of(words &&argv) {
        struct fin_spawn how = {};
        how.path = argv[0];
        how.argv = argv.data(); // which stays where it is
        return {how, std::move(argv)};
    }

    std::unique_ptr<fin_process> p_;
};

// An open set of signals. No call may be in progress when it is destroyed.
class signal_set {
public:
    FIN_TAGGED_ explicit signal_set(const sigset_t &set) { check(fin_signals_open(&s_, &set), "fin::signal_set"); }
    FIN_TAGGED_ explicit signal_set(std::initializer_list<int> list) : signal_set(set_of(list)) {}
    signal_set(const signal_set &) = delete;
    signal_set &operator=(const signal_set &) = delete;
    ~signal_set() { fin_signals_close(&s_); }

    [[nodiscard]] FIN_BLOCKING int next(fin_signal_info &info) { return fin_signals_next(&s_, &info); }
    [[nodiscard]] FIN_BLOCKING int next_nc(fin_signal_info &info) { return fin_signals_next_nc(&s_, &info); }
    uint64_t lost() const noexcept { return fin_signals_lost(&s_); }

    using native_handle_type = fin_signals *;
    native_handle_type native_handle() noexcept { return &s_; }

private:
    FIN_TAGGED_ static sigset_t set_of(std::initializer_list<int> list) {
        sigset_t set;
        sigemptyset(&set);
        for (int n : list)
            check(sigaddset(&set, n) == 0 ? 0 : -EINVAL, "fin::signal_set");
        return set;
    }

    fin_signals s_;
};

} // namespace fin
#endif
