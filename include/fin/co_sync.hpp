// SPDX-License-Identifier: BSD-2-Clause
// What a C++20 coroutine waits for without a stack: the objects of <fin/sync.h>, and the ends of threads, as functions of
// <fin/sync_on.h>. Part of <fin/coro.hpp>.
//
//     auto hold = co_await fin::co::hold(m); // until the end of its scope, whatever the task waits for meanwhile
//     if (!hold)
//         co_return; // cancelled
#if __cplusplus < 202002L
#error "<fin/coro.hpp> needs C++20: compile with -std=c++20 or newer"
#elif !defined(FIN_CO_SYNC_HPP)
#define FIN_CO_SYNC_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // as fin/coro.hpp
#endif

#include <fin/coro.hpp>

namespace fin {
template <class T> class bounded_queue;

namespace detail {

template <auto Operation, class... Args> auto sync_operation(Args... args) {
    return stored_last<fin_sync_on, Operation>(args...);
}

} // namespace detail

namespace co {

// A mutex that the task holds, until the object ends; or what came instead.
class [[nodiscard]] held {
public:
    held(fin_mutex &m, int error) noexcept : m_(error == 0 ? &m : nullptr), error_(error) {}
    held(held &&other) noexcept : m_(std::exchange(other.m_, nullptr)), error_(other.error_) {}
    held &operator=(held &&other) noexcept {
        held taken(std::move(other));
        std::swap(m_, taken.m_);
        std::swap(error_, taken.error_);
        return *this;
    }
    ~held() { unlock(); }

    explicit operator bool() const noexcept { return m_ != nullptr; }
    int error() const noexcept { return error_; } // 0, or -ECANCELED; -EBUSY inside fin_finish
    void unlock() noexcept { // before its end
        if (fin_mutex *m = std::exchange(m_, nullptr))
            fin_mutex_unlock(m);
    }

private:
    fin_mutex *m_;
    int error_;
};

} // namespace co

namespace detail {

template <class Start> class [[nodiscard]] holding : public operation<Start, fin_sync_on> {
public:
    holding(Start start, fin_mutex &m) : operation<Start, fin_sync_on>(start), m_(m) {}
    co::held await_resume() const noexcept { return {m_, operation<Start, fin_sync_on>::await_resume()}; }

private:
    fin_mutex &m_;
};
template <auto Lock> auto hold_by(fin_mutex &m) {
    return holding([&m](auto... rest) { return Lock(&m, rest...); }, m);
}

// Waits for a semaphore, and goes on from there.
template <class Start, class Rest> class [[nodiscard]] passing : public operation<Start, fin_sync_on> {
public:
    passing(Start start, Rest rest) : operation<Start, fin_sync_on>(start), rest_(std::move(rest)) {}
    int await_resume() {
        int error = operation<Start, fin_sync_on>::await_resume();
        return error ? error : rest_();
    }

private:
    Rest rest_;
};
template <class Rest> auto pass(semaphore &s, Rest rest) {
    return passing([&s](auto... on) { return fin_sem_wait_on(s.native_handle(), on...); }, rest);
}
struct queue_halves {
    template <class T> static auto push(bounded_queue<T> &q, T &object) {
        return pass(q.room_, [&q, &object] { return q.put(object); });
    }
    template <class T> FIN_TAGGED_ static auto push_copy(bounded_queue<T> &q, const T &object) {
        return pass(q.room_, [&q, &object] { return q.put_copy(object); });
    }
    template <class T, class Out> FIN_TAGGED_ static auto pop(bounded_queue<T> &q, Out &out) {
        return pass(q.items_, [&q, &out] { return q.take(out); });
    }
};

} // namespace detail

namespace co {

// <fin/sync.h>: 0 or -ECANCELED. A mutex locked in this way is the task's, and may be kept while it awaits other things.
// Functions whose names end in _nc are not cancelled.
inline auto lock(fin_mutex &m) { return detail::sync_operation<fin_mutex_lock_on>(&m); }
inline auto lock_nc(fin_mutex &m) { return detail::sync_operation<fin_mutex_lock_on_nc>(&m); }
inline auto wait(fin_cond &c, fin_mutex &m) { return detail::sync_operation<fin_cond_wait_on>(&c, &m); }
inline auto wait_nc(fin_cond &c, fin_mutex &m) { return detail::sync_operation<fin_cond_wait_on_nc>(&c, &m); }
inline auto wait(fin_sem &s) { return detail::sync_operation<fin_sem_wait_on>(&s); }
inline auto wait_nc(fin_sem &s) { return detail::sync_operation<fin_sem_wait_on_nc>(&s); }
inline auto await(fin_event &e, uint64_t count) { return detail::sync_operation<fin_event_await_on>(&e, count); }
inline auto await_nc(fin_event &e, uint64_t count) { return detail::sync_operation<fin_event_await_on_nc>(&e, count); }
inline auto await_turn(fin_queue &q, fin_queue_entry &e) { return detail::sync_operation<fin_queue_await_turn_on>(&q, &e); }
inline auto await_turn_nc(fin_queue &q, fin_queue_entry &e) {
    return detail::sync_operation<fin_queue_await_turn_on_nc>(&q, &e);
}
// <fin/thread.h>: waits until it has ended; fin_thread_join does not wait then. A fin::thread must be joinable.
inline auto ended(fin_thread_handle &thread) { return detail::sync_operation<fin_thread_ended_on>(&thread); }
inline auto ended(thread &t) { return ended(*t.native_handle()); }
// The same as lock, but the object that co_await gives unlocks: without a name, at once.
inline auto hold(fin_mutex &m) { return detail::hold_by<fin_mutex_lock_on>(m); }
inline auto hold_nc(fin_mutex &m) { return detail::hold_by<fin_mutex_lock_on_nc>(m); }
inline auto hold(mutex &m) { return hold(*m.native_handle()); }
inline auto hold_nc(mutex &m) { return hold_nc(*m.native_handle()); }
// The classes of <fin/sync.hpp>. A lock of the standard library that is kept around a co_await has to adopt a mutex locked
// in this way: std::lock_guard hold(m, std::adopt_lock). If it has locked the mutex itself, co_await gives -EBUSY.
inline auto lock(mutex &m) { return lock(*m.native_handle()); }
inline auto wait(condition_variable &c, mutex &m) { return wait(*c.native_handle(), *m.native_handle()); }
inline auto wait(semaphore &s) { return wait(*s.native_handle()); }
inline auto lock_nc(mutex &m) { return lock_nc(*m.native_handle()); }
inline auto wait_nc(condition_variable &c, mutex &m) { return wait_nc(*c.native_handle(), *m.native_handle()); }
inline auto wait_nc(semaphore &s) { return wait_nc(*s.native_handle()); }
// <fin/queue.hpp>. What is pushed is moved, or copied, when there is room: until then it must exist.
template <class T> auto push(bounded_queue<T> &q, std::type_identity_t<T> &&object) {
    return detail::queue_halves::push(q, object);
}
template <class T> requires std::is_copy_constructible_v<T>
FIN_TAGGED_ auto push(bounded_queue<T> &q, const std::type_identity_t<T> &object) {
    return detail::queue_halves::push_copy(q, object);
}
template <class T, class Out> FIN_TAGGED_ auto pop(bounded_queue<T> &q, Out &out) {
    return detail::queue_halves::pop(q, out);
}

} // namespace co
} // namespace fin
#endif
