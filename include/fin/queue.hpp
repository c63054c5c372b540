// SPDX-License-Identifier: BSD-2-Clause
// A bounded buffer of C++ objects, between AWEs of one thread or of several: who finds it full, or empty, waits, first come
// first served. Between processes, and for what can be copied as bytes, there are channels (<fin/chan.hpp>).
//
//     fin::bounded_queue<std::string> lines(16);
//     fin_async { while (read_line(line)) lines.push(std::move(line)); lines.close(); };
//     for (std::string line; lines.pop(line) == 0;) ...
//
// A coroutine awaits fin::co::push and fin::co::pop (<fin/co_sync.hpp>). <fin.hpp> does not include this, as it takes
// <memory>.
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_QUEUE_HPP)
#define FIN_QUEUE_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <sched.h>

#include <fin.hpp>

namespace fin {
namespace detail {
struct queue_halves;
} // namespace detail

// Room for `most` objects, at least one. Objects are moved in and out. Cancellation is exact: after -ECANCELED nothing was
// pushed, and the object is as before, or nothing was popped. Nobody may be in one of its calls when it ends.
template <class T> class bounded_queue {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                  "what moves into a queue, and out of it, must not throw: let it be a pointer");

public:
    FIN_TAGGED_ explicit bounded_queue(size_t most)
        : room_(checked(most)), items_(0), most_(most), places_(std::make_unique<std::optional<T>[]>(most)) {}
    bounded_queue(const bounded_queue &) = delete;
    bounded_queue &operator=(const bounded_queue &) = delete;

    // Waits for room. 0; -ECANCELED; -EPIPE if the queue has been closed.
    [[nodiscard]] FIN_BLOCKING int push(T &&object) {
        int error = room_.acquire_cancellable();
        return error ? error : put(object);
    }
    [[nodiscard]] FIN_BLOCKING int push(const T &object) { return push(T(object)); }
    // -EAGAIN instead of waiting. Not cancelled.
    [[nodiscard]] int try_push(T &&object) { return room_.try_acquire() ? put(object) : -EAGAIN; }
    [[nodiscard]] int try_push(const T &object) { return try_push(T(object)); }

    // Waits for an object, which is assigned to `out`: a T, or a std::optional<T>. 0; -ECANCELED; -ESHUTDOWN if the queue
    // has been closed, and all that was pushed has been popped.
    template <class Out> [[nodiscard]] FIN_BLOCKING int pop(Out &out) {
        int error = items_.acquire_cancellable();
        return error ? error : take(out);
    }
    template <class Out> [[nodiscard]] int try_pop(Out &out) { return items_.try_acquire() ? take(out) : -EAGAIN; }

    // No more is pushed; who waits for room is told so, and who waits for an object once there is none.
    void close() {
        {
            in_turn here(*this);
            if (closed_)
                return;
            closed_ = true;
        }
        room_.release(); // one each, which is passed on by who gets it
        items_.release();
    }

private:
    friend struct detail::queue_halves;

    FIN_TAGGED_ static int checked(size_t most) {
        if (most == 0 || most >= INT_MAX)
            detail::raise<std::length_error>("fin::bounded_queue");
        return static_cast<int>(most);
    }

    // The rest of push and of pop, of who has acquired room, or an object.
    int put(T &object) {
        bool closed;
        {
            in_turn here(*this);
            closed = closed_;
            if (!closed)
                places_[(first_ + count_++) % most_].emplace(std::move(object));
        }
        (closed ? room_ : items_).release();
        return closed ? -EPIPE : 0;
    }
    template <class Out> int take(Out &out) {
        std::optional<T> object;
        {
            in_turn here(*this);
            if (count_ > 0) {
                object = std::exchange(places_[first_], std::nullopt);
                first_ = (first_ + 1) % most_;
                count_--;
            }
        }
        (object ? room_ : items_).release();
        if (!object)
            return -ESHUTDOWN;
        out = *std::move(object);
        return 0;
    }

    // Held for no longer than it takes to move an object.
    class in_turn {
    public:
        explicit in_turn(bounded_queue &q) : taken_(q.taken_) {
            for (int tries = 0; taken_.test_and_set(std::memory_order_acquire); tries++)
                if (tries > 100)
                    sched_yield();
        }
        in_turn(const in_turn &) = delete;
        ~in_turn() { taken_.clear(std::memory_order_release); }

    private:
        std::atomic_flag &taken_;
    };

    semaphore room_, items_;
    std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
    bool closed_ = false;
    size_t most_, first_ = 0, count_ = 0;
    std::unique_ptr<std::optional<T>[]> places_;
};

} // namespace fin
#endif
