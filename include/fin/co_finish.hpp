// SPDX-License-Identifier: BSD-2-Clause
// Finish blocks of C++20 coroutines (fin/finish_on.h): what a coroutine awaits and starts while such an object exists is in
// the block. It waits at the end of the block with co_await, and has no stack for that time.
//
//     fin::task<> ask_both(int a, int b) {
//         int first = 0, second = 0;
//         fin::co::timeout block(FIN_S);
//         block.async(ask(a, first));                 // fin::task<>
//         block.async(ask(b, second));
//         bool late = co_await block.end();           // both have ended
//     }
//
//     fin::co::timeout limit(10 * FIN_S);             // around what the coroutine itself awaits
//     int n = co_await fin::co::recv(fd, buffer, sizeof buffer);
//     bool late = co_await limit.end();               // n is -ECANCELED then, or it was there just in time
//
// fin::co::finish, finish_nc (shielded from the cancellation of the blocks around it), timeout (nanoseconds) and deadline
// (when fin_now() is that; times of <chrono>: <fin/chrono.hpp>) are fin::scope objects: async, async_cont and cancel are
// theirs, and functions that take a fin::scope & take them. They are local variables of coroutines, and end in the reverse
// order of their beginning. An exception that leaves a task of the block cancels the block, and is thrown by co_await
// end().
//
// A block that is left in another way than by end() waits as fin::finish does, with the stack of the coroutine's step; if an
// exception leaves it, it is cancelled first, and what leaves a task of it is lost.
//
// std::system_error is thrown by the constructor where a block cannot be opened (EINVAL outside a coroutine or a
// continuation; EBUSY inside a finish block of a function), by co_await end() out of turn (EINVAL) and where the coroutine
// cannot wait (EBUSY: inside a finish block of a function, or while a frame has a lock, as a std::lock_guard has that locked
// the mutex itself), and by async and async_cont of a block that has ended (EINVAL).
#if __cplusplus < 202002L
#error "<fin/coro.hpp> needs C++20: compile with -std=c++20 or newer"
#elif !defined(FIN_CO_FINISH_HPP)
#define FIN_CO_FINISH_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // what blocks is called on the program's behalf: docs/blocking.md
#endif

#include <fin/coro.hpp>

#ifndef FIN_ELIDE
namespace fin {

namespace detail {

static_assert(offsetof(fin_finish_on, error) == sizeof(fin_finish_block), "error_of(&block)");

struct no_storage {};

// An open block, which a coroutine is in.
class FIN_TAGGED_ opened {
public:
    template <class... Time> explicit opened(int (*open)(fin_finish_on *, Time...), Time... time) {
        check(open(&f_, time...), "a block of fin::co is opened in a coroutine, and in no finish block of a function");
        f_.block.flags |= FIN_FINISH_CXX;
    }
    opened(const opened &) = delete;
    opened &operator=(const opened &) = delete;

    fin_finish_block *raw() { return &f_.block; }
    int close(fin_cont *cont, const void *state, size_t size) { return fin_finish_close_on(&f_, cont, state, size); }

    // Of a block that was closed in that way. Was it late?
    bool closed(int result) {
        check(result, result != -EBUSY ? "a block of fin::co ends once, after those that were opened in it"
                                       : "a block of fin::co ends in no block of a function, and while no frame has a lock");
        is_open_ = false;
        if (f_.block.flags & FIN_FINISH_FAILED)
            std::rethrow_exception(take_error(&f_.block));
        return result > 0;
    }

    // Nobody would wait for what is started in a block that has ended.
    void check_open() const {
        if (!is_open_)
            check(-EINVAL, "a block of fin::co that has ended starts nothing");
    }

    ~opened() noexcept(false) {
        if (is_open_)
            leave(std::uncaught_exceptions() > in_flight_);
    }

private:
    static void check(int result, const char *rule) {
        if (result < 0)
            raise<std::system_error>(-result, std::generic_category(), rule);
    }

    __attribute__((noinline)) void leave(bool unwinding) {
        if (unwinding)
            fin_cancel_block_(&f_.block);
        fin::check(fin_finish_close_wait(&f_));
        if (!(f_.block.flags & FIN_FINISH_FAILED))
            return;
        std::exception_ptr error = take_error(&f_.block);
        if (!unwinding)
            std::rethrow_exception(std::move(error));
    }

    fin_finish_on f_;
    bool is_open_ = true;
    int in_flight_ = std::uncaught_exceptions();
};

} // namespace detail

namespace co {

// A finish block of the coroutine that makes the object, until co_await end().
class FIN_TAGGED_ finish : private detail::opened, public scope {
public:
    finish() : finish(fin_finish_open) {}

    // co_await: waits until all that is in the block has ended, and leaves it. True if it had a time, which ran out; even
    // then the work may have been done.
    [[nodiscard]] auto end() { return ended(*this); }

    // Those of fin::scope, until the block has ended.
    template <class Work> void async(Work &&work) {
        check_open();
        scope::async(std::forward<Work>(work));
    }
    template <auto Step, class State> fin_awe &async_cont(const State &s) {
        check_open();
        return scope::async_cont<Step>(s);
    }
    template <class Closure, class = detail::if_closure<Closure>> fin_awe &async_cont(const Closure &c) {
        check_open();
        return scope::async_cont(c);
    }

protected:
    template <class... Time>
    explicit finish(int (*open)(fin_finish_on *, Time...), Time... time) : opened(open, time...), scope(raw()) {}

private:
    struct closes {
        opened &block;
        int operator()(detail::no_storage *, fin_cont *c, void *s, size_t n) const { return block.close(c, s, n); }
    };
    class [[nodiscard]] ended : public detail::operation<closes, detail::no_storage> {
    public:
        explicit ended(opened &b) : operation(closes{b}), block_(b) {}
        bool await_resume() const { return block_.closed(operation::await_resume()); }

    private:
        opened &block_;
    };
};

// The same, shielded from the cancellation of the blocks around it.
class FIN_TAGGED_ finish_nc : public finish {
public:
    finish_nc() : finish(fin_finish_open_nc) {}
};
#pragma push_macro("timeout") // <curses.h> has one
#undef timeout
// The same as finish; cancelled when so many nanoseconds are over: co_await end() says whether they are.
class FIN_TAGGED_ timeout : public finish {
public:
    template <class Time, class = detail::if_ns<Time>>
    explicit timeout(Time time) : finish(fin_timeout_open, fin::ns(time)) {}
};
#pragma pop_macro("timeout")
// The same as timeout; cancelled when fin_now() is `when`.
class FIN_TAGGED_ deadline : public finish {
public:
    template <class Time, class = detail::if_when<Time>>
    explicit deadline(Time when) : finish(fin_deadline_open, fin::when(when)) {}
};

} // namespace co

namespace detail {

// Awaits a task, and leaves its value where it is.
template <class T> struct its_end : awaited {
    explicit its_end(task<T> &t) : t_(t) {}
    bool await_ready() const { return t_.await_ready(); }
    template <class Handle> auto await_suspend(Handle h) noexcept { return t_.await_suspend(h); }
    void await_resume() const noexcept {}
    task<T> &t_;
};
template <class T> FIN_TAGGED_ task<> until_end(task<T> &t) { co_await its_end<T>(t); }

} // namespace detail

// From a function, which has a stack: runs a task in a finish block of its own, waits until it has ended, and returns its
// value or throws the exception that left it.
template <class T> FIN_TAGGED_ FIN_BLOCKING T finish(task<T> &&t) {
    finish([&](scope &s) { s.async(detail::until_end(t)); });
    return t.await_resume();
}

} // namespace fin
#endif

#endif
