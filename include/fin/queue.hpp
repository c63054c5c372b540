// SPDX-License-Identifier: BSD-2-Clause
// A bounded buffer of C++ objects, between AWEs of one thread or of several: who finds it full, or empty, waits, first come
// first served. Between processes, and for what can be copied as bytes, there are channels (<fin/chan.hpp>).
//
//     fin::bounded_queue<std::string> lines(16);
//     fin_async {
//         for (std::string own; read_line(own) && lines.push(std::move(own)) == 0;) { }
//         lines.close();
//     };
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

// Room for `most` objects, at least one. Objects are moved in and out, which must not wait for anything. Cancellation is
// exact: after -ECANCELED nothing was pushed, and the object is as before, or nothing was popped. Nobody may be in one of
// its calls when it ends. (With FIN_ELIDE nobody pops while one pushes: then `most` is all that there can be.)
template <class T> class bounded_queue {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                  "what moves into a queue, and out of it, must not throw: let it be a pointer");
    template <class U> using if_copied = std::enable_if_t<std::is_copy_constructible_v<U>>;

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
    template <class U = T, class = if_copied<U>> [[nodiscard]] FIN_TAGGED_ FIN_BLOCKING int push(const T &object) {
        return push(T(object));
    }
    // -EAGAIN instead of waiting. Not cancelled.
    [[nodiscard]] int try_push(T &&object) {
        return room_.try_acquire() ? put(object) : is_over(false) ? -EPIPE : -EAGAIN;
    }
    template <class U = T, class = if_copied<U>> [[nodiscard]] FIN_TAGGED_ int try_push(const T &object) {
        return try_push(T(object));
    }

    // Waits for an object, which is assigned to `out`, or made in it, a std::optional<T>. 0; -ECANCELED; -ESHUTDOWN if the
    // queue has been closed, and all that was pushed has been popped.
    template <class Out> [[nodiscard]] FIN_TAGGED_ FIN_BLOCKING int pop(Out &out) {
        int error = items_.acquire_cancellable();
        return error ? error : take(out);
    }
    template <class Out> [[nodiscard]] FIN_TAGGED_ int try_pop(Out &out) {
        return items_.try_acquire() ? take(out) : is_over(true) ? -ESHUTDOWN : -EAGAIN;
    }

    // No more is pushed; who waits for room is told so, and who waits for an object once there is none: one after the other,
    // the next when the AWE of the one before runs.
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

    bool is_over(bool when_empty) {
        in_turn here(*this);
        return closed_ && !(when_empty && count_ > 0);
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
    // Where the copy throws the room is given back.
    template <class U = T> FIN_TAGGED_ int put_copy(const U &object) {
        struct acquired {
            semaphore *room;
            ~acquired() {
                if (room)
                    room->release();
            }
        } acquired = {&room_};
        T copy(object);
        acquired.room = nullptr;
        return put(copy);
    }
    template <class Out> FIN_TAGGED_ int take(Out &out) {
        static_assert(std::is_same_v<Out, std::optional<T>> || std::is_nothrow_assignable_v<Out &, T>,
                      "an object is popped into what it can be assigned to without an exception, or a std::optional of it");
        std::optional<T> object;
        {
            in_turn here(*this);
            if (count_ > 0) {
                object.emplace(*std::move(places_[first_]));
                places_[first_].reset();
                first_ = (first_ + 1) % most_;
                count_--;
            }
        }
        (object ? room_ : items_).release();
        if (!object)
            return -ESHUTDOWN;
        if constexpr (std::is_same_v<Out, std::optional<T>>)
            out.emplace(*std::move(object));
        else
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
