// SPDX-License-Identifier: BSD-2-Clause
// <fin/sync.h> and <fin/thread.h> as classes. Names and meanings are the standard library's, so that std::lock_guard,
// std::unique_lock, std::scoped_lock and the like work with them. Those are in <mutex>, which this header does not need.
// What waits is the AWE. The functions with the standard names are not cancelled; those named ..._cancellable return 0 or
// -ECANCELED, as the C functions do. For a wait with a limit of time, put one of those into fin_timeout.
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_SYNC_HPP)
#define FIN_SYNC_HPP

#include <cerrno>
#include <climits>
#include <new>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fin/raise.hpp>
#include <fin/sync.h>
#include <fin/thread.h>

namespace fin {

// fin_mutex, as std::lock_guard and its like want one: lock() is not cancelled. lock_cancellable() returns 0, or -ECANCELED
// and then it is not locked.
class mutex {
public:
    constexpr mutex() noexcept = default;
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;

    FIN_BLOCKING void lock() { fin_mutex_lock_nc(&m_); }
    [[nodiscard]] FIN_BLOCKING int lock_cancellable() { return fin_mutex_lock(&m_); }
    bool try_lock() { return fin_mutex_trylock(&m_) == 0; }
    void unlock() { fin_mutex_unlock(&m_); }

    using native_handle_type = fin_mutex *;
    native_handle_type native_handle() { return &m_; }

private:
    fin_mutex m_ = FIN_MUTEX_INIT;
};

// No wake-up is spurious, so that a wait without a predicate is of use. A Lock is a std::unique_lock<fin::mutex>, or
// anything else with a mutex() like that, or a fin::mutex, or what is derived from one, that is locked.
class condition_variable {
public:
    constexpr condition_variable() noexcept = default;
    condition_variable(const condition_variable &) = delete;
    condition_variable &operator=(const condition_variable &) = delete;

    template <class Lock> FIN_BLOCKING void wait(Lock &lock) { fin_cond_wait_nc(&c_, mutex_of(lock)); }
    template <class Lock, class Predicate> FIN_BLOCKING void wait(Lock &lock, Predicate holds) {
        while (!holds())
            wait(lock);
    }

    // The lock is held again, whatever is returned. With a predicate: 0 if it holds, also if it does so after a cancel.
    template <class Lock> [[nodiscard]] FIN_BLOCKING int wait_cancellable(Lock &lock) {
        return fin_cond_wait(&c_, mutex_of(lock));
    }
    template <class Lock, class Predicate> [[nodiscard]] FIN_BLOCKING int wait_cancellable(Lock &lock, Predicate holds) {
        while (!holds())
            if (int error = wait_cancellable(lock))
                return holds() ? 0 : error;
        return 0;
    }

    void notify_one() { fin_cond_signal(&c_); }
    void notify_all() { fin_cond_broadcast(&c_); }

    using native_handle_type = fin_cond *;
    native_handle_type native_handle() { return &c_; }

private:
    template <class Lock> static fin_mutex *mutex_of(Lock &lock) {
        if constexpr (std::is_convertible_v<Lock *, mutex *>)
            return static_cast<mutex &>(lock).native_handle();
        else
            return lock.mutex()->native_handle();
    }

    fin_cond c_ = FIN_COND_INIT;
};

// fin_sem. acquire() is not cancelled; acquire_cancellable() returns 0, or -ECANCELED and then nothing was acquired.
class semaphore {
public:
    constexpr explicit semaphore(int value) noexcept : s_(FIN_SEM_INIT(value)) {}
    semaphore(const semaphore &) = delete;
    semaphore &operator=(const semaphore &) = delete;

    FIN_BLOCKING void acquire() { fin_sem_wait_nc(&s_); }
    [[nodiscard]] FIN_BLOCKING int acquire_cancellable() { return fin_sem_wait(&s_); }
    bool try_acquire() { return fin_sem_trywait(&s_) == 0; }
    // What would be beyond max() is lost.
    void release(int n = 1) {
        while (n-- > 0)
            fin_sem_post(&s_);
    }
    static constexpr int max() noexcept { return INT_MAX; }

    using native_handle_type = fin_sem *;
    native_handle_type native_handle() { return &s_; }

private:
    fin_sem s_;
};

// An OS thread with a runtime of its own, which calls body(args...) with copies of both, as std::thread does: std::ref
// passes a reference. The copies end in the thread, behind the body. An exception that leaves it ends the program. The
// destructor and an assignment join, as those of std::jthread do. std::system_error if the thread cannot be started.
class thread {
public:
    thread() noexcept = default;
    template <class Body, class... Args, class = std::enable_if_t<!std::is_same_v<std::decay_t<Body>, thread>>>
    FIN_TAGGED_ explicit thread(Body &&body, Args &&...args) {
        using own = call<std::decay_t<Body>, std::decay_t<Args>...>;
        auto *c = new own(std::forward<Body>(body), std::forward<Args>(args)...);
        auto run = [](void *p) noexcept {
            static_cast<own *>(p)->run();
            delete static_cast<own *>(p);
        };
        handle_ = new (std::nothrow) fin_thread_handle();
        int error = handle_ ? fin_thread_start(handle_, run, c) : -ENOMEM;
        if (error != 0) {
            delete handle_;
            delete c;
            detail::raise<std::system_error>(-error, std::generic_category(), "fin::thread");
        }
    }
    thread(thread &&other) noexcept { swap(other); }
    FIN_BLOCKING thread &operator=(thread &&other) noexcept {
        thread taken(std::move(other));
        taken.swap(*this);
        return *this;
    }
    FIN_BLOCKING ~thread() {
        if (joinable())
            join();
    }

    bool joinable() const noexcept { return handle_ != nullptr; }
    // std::system_error, EINVAL, if there is no thread to be joined.
    FIN_TAGGED_ FIN_BLOCKING void join() {
        check_joinable();
        fin_thread_join_nc(handle_);
        delete std::exchange(handle_, nullptr);
    }
    // 0, or -ECANCELED and then it has not been joined.
    [[nodiscard]] FIN_TAGGED_ FIN_BLOCKING int join_cancellable() {
        check_joinable();
        int error = fin_thread_join(handle_);
        if (error == 0)
            delete std::exchange(handle_, nullptr);
        return error;
    }

    void swap(thread &other) noexcept { std::swap(handle_, other.handle_); }
    using native_handle_type = fin_thread_handle *; // null if there is no thread to be joined
    native_handle_type native_handle() noexcept { return handle_; }

private:
    FIN_TAGGED_ void check_joinable() const {
        if (!joinable())
            detail::raise<std::system_error>(EINVAL, std::generic_category(), "fin::thread");
    }

    template <class Body, class... Args> struct call {
        using called = detail::once<Body, Args...>;
        static_assert(std::is_invocable_v<called, Args...>, "a thread calls body(args...), with the copies as rvalues");

        template <class B, class... A>
        explicit call(B &&b, A &&...a) : body(std::forward<B>(b)), args(std::forward<A>(a)...) {}
        void run() {
            using result = std::remove_cv_t<decltype(std::apply(static_cast<called>(body), std::move(args)))>;
            static_assert(!std::is_same_v<result, next>, "a thread does not wait as a step does");
            static_assert(!detail::is_task<result>, "a fin::task that a thread returns would not run: start it in a block");
            std::apply(static_cast<called>(body), std::move(args));
        }
        Body body;
        std::tuple<Args...> args;
    };
    fin_thread_handle *handle_ = nullptr;
};

} // namespace fin
#endif
