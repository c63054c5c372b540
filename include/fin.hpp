// SPDX-License-Identifier: BSD-2-Clause
// Fin for C++17: the words of <fin/async.h> with lambdas, and classes for those who avoid macros.
//
//     fin_finish { fin_async { read_one(a); }; fin_async { read_one(b); }; }
//     fin::finish([&](fin::scope &s) { s.async([&] { read_one(a); }); s.async([&] { read_one(b); }); });
//
// The body of fin_async captures by reference. An exception that leaves an async body cancels its finish block and is
// rethrown where the block ends; of several, the first. An exception that leaves the block itself cancels it too, waits for
// its work, and goes on. A block left by return, break or goto waits and rethrows likewise.
#ifndef FIN_HPP
#define FIN_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fin.h>
#include <fin/cont.hpp>
#include <fin/sync.hpp>

namespace fin {

class scope;
template <class T> class task;

namespace detail {

// What the name that an async looks for stands for inside an async body.
struct body_scope {};

// C++'s exceptions in flight in this OS thread: those being handled, and the number of those being thrown.
__attribute__((always_inline)) inline void **exceptions() {
#if FIN_SANITIZED
    return reinterpret_cast<void **>(abi::__cxa_get_globals());
#else
    return fin_thread_here_()->exceptions;
#endif
}
inline unsigned thrown() { return *reinterpret_cast<unsigned *>(exceptions() + 1); }

__attribute__((always_inline)) inline bool in_flight(void *const *e) {
    return __builtin_expect((reinterpret_cast<uintptr_t>(e[0]) | reinterpret_cast<uintptr_t>(e[1])) != 0, 0);
}

// An async where something is: it stays the owner's, whether the owner goes on after the body or before its end. So the
// async is eager. Out of line: the others are to be short.
__attribute__((noinline, cold)) inline void eager_in_flight(fin_finish_block *block, void (*fn)(void *), void *arg) {
    void **e = exceptions();
    void *caught = std::exchange(e[0], nullptr), *thrown = std::exchange(e[1], nullptr);
    fin_eager_call_(block, fn, arg);
    e = exceptions();
    e[0] = caught;
    e[1] = thrown;
}

__attribute__((always_inline)) inline void eager_call(fin_finish_block *block, void (*fn)(void *), void *arg) {
    if (in_flight(exceptions()))
        eager_in_flight(block, fn, arg);
    else
        fin_eager_call_(block, fn, arg);
}

// A finish block; one entry of the `for` that is a finish block, see FIN_FINISH_.
class block {
public:
    __attribute__((always_inline)) explicit block(uint32_t flags) {
        fin_finish_enter_(&b_, flags);
#if FIN_SANITIZED
        exceptions_ = exceptions();
#else
        exceptions_ = fin_self->exceptions; // from here on the thread has a runtime
#endif
        thrown_before_ = *reinterpret_cast<unsigned *>(exceptions_ + 1);
    }
    block(const block &) = delete;
    block &operator=(const block &) = delete;

    bool open() const { return open_; }
    fin_finish_block *raw() { return &b_; }
    void *const *exceptions_in_flight() const { return exceptions_; }
    void cancel() { fin_cancel_block_(&b_); }

    // The end of the block.
    __attribute__((always_inline)) void close() {
        open_ = false;
        fin_finish_leave_(&b_);
        if (__builtin_expect(static_cast<bool>(error_), 0))
            std::rethrow_exception(std::move(error_));
    }

    // The block was left before its end.
    __attribute__((always_inline)) ~block() noexcept(false) {
        if (__builtin_expect(open_, 0)) {
            bool unwinding = thrown() > thrown_before_;
            if (unwinding)
                cancel();
            fin_finish_leave_(&b_);
            if (error_ && !unwinding)
                std::rethrow_exception(std::move(error_));
        }
    }

    // From a catch clause.
    __attribute__((noinline, cold)) void failed() noexcept {
        if (!error_)
            error_ = std::current_exception();
        cancel();
    }

private:
    fin_finish_block b_; // first: see failed() below
    std::exception_ptr error_;
    void **exceptions_;
    bool open_ = true;
    unsigned thrown_before_;
};

__attribute__((always_inline)) inline void lazy_call(block &b, void (*fn)(void *), void *arg) {
    if (__builtin_expect(FIN_IN_OWNER_(b.raw()) && !in_flight(b.exceptions_in_flight()), 1))
        FIN_LAZY_CALL_(b.raw(), fn, arg);
    else
        eager_call(b.raw(), fn, arg);
}

// The timer outlives the wait at the end of the block: bases end after it.
struct timeout_timer {
    fin_timer timer_;
    ~timeout_timer() { fin_timeout_end_(&timer_); }
};

class timeout_block : private timeout_timer, public block {
public:
    using begin = void (*)(fin_finish_block *, fin_timer *, uint64_t);
    __attribute__((always_inline)) timeout_block(begin begin, uint64_t time) : block(0) { begin(raw(), &timer_, time); }
    __attribute__((always_inline)) ~timeout_block() noexcept(false) {}
};

template <class Body> auto invoke(Body &b, int) -> decltype(b(body_scope{}), void()) { b(body_scope{}); }
template <class Body> auto invoke(Body &b, long) -> decltype(b(), void()) { b(); }

static_assert(std::is_standard_layout_v<block>, "a block's address is that of its first member");

// From the catch clause around a body: its block is cancelled and keeps the exception. All blocks inside the body have
// ended, so the current one is the body's own.
__attribute__((noinline, cold)) inline void failed() noexcept {
    fin_finish_block *b = fin_self->current;
    while (b->flags & FIN_FINISH_EAGER)
        b = b->parent;
    reinterpret_cast<block *>(b)->failed();
}

// The body's closure moves to the stack that it runs on: the next iteration of a loop makes the next one in the same place.
template <class Body> __attribute__((noinline)) void run(void *closure) noexcept {
    try {
        Body body(std::move(*static_cast<Body *>(closure)));
        invoke(body, 0);
    } catch (...) {
        failed();
    }
}

template <class Body> __attribute__((always_inline)) inline void eager(block *owner, Body &&b) {
    if constexpr (std::is_lvalue_reference_v<Body> || std::is_const_v<Body>) {
        std::decay_t<Body> copy(b);
        eager(owner, std::move(copy));
    } else {
        eager_call(owner->raw(), &run<Body>, &b);
    }
}

// fin_async is `site % lambda`: the one operator form in which the body can come last.
struct eager_site {
    block *owner;
    template <class Body> __attribute__((always_inline)) void operator%(Body &&b) const { eager(owner, std::move(b)); }
};

struct lazy_site {
    block *owner;
    template <class Body> __attribute__((always_inline)) void operator%(Body &&b) const {
        lazy_call(*owner, &run<Body>, &b);
    }
};

FIN_BLOCKING inline lazy_site site(block &, block &owner) { return {&owner}; }
FIN_BLOCKING inline eager_site site(body_scope, block &owner) { return {&owner}; }

FIN_BLOCKING __attribute__((always_inline)) inline void call_site(block &b, void (*fn)(void *), void *arg) {
    lazy_call(b, fn, arg);
}
FIN_BLOCKING __attribute__((always_inline)) inline void call_site(body_scope, void (*fn)(void *), void *arg) {
    eager_call(NULL, fn, arg);
}

struct elided {
    template <class Body> void operator%(Body &&b) const { b(); }
};

} // namespace detail

// The finish block of fin::finish. May be passed on and used from anywhere in the block's own thread until it ends.
class scope {
public:
    explicit scope(detail::block &b) : block_(&b) {}

    // Runs body() at once; where it blocks, the caller goes on. The body has a stack of its own from the start.
    template <class Body> void async(Body &&body) { detail::eager(block_, std::forward<Body>(body)); }

    // Starts a coroutine: <fin/coro.hpp>.
    void async(task<void> &&t);

    // Starts an AWE from a continuation, Step(State &, int): see <fin/cont.hpp>.
    template <auto Step, class State> fin_awe *async_cont(const State &s) {
        return fin_cont_start_(block_->raw(), detail::step<Step, State>, &s, sizeof s);
    }

    void cancel() { block_->cancel(); }

private:
    detail::block *block_;
};

// Runs body(scope), then waits until all that it started has ended.
template <class Body> FIN_BLOCKING void finish(Body &&body) {
    detail::block b(0);
    scope s(b);
    body(s);
    b.close();
}

// The same, shielded from the cancellation of the blocks around it.
template <class Body> FIN_BLOCKING void finish_nc(Body &&body) {
    detail::block b(FIN_FINISH_NC);
    scope s(b);
    body(s);
    b.close();
}

namespace detail {
template <class Body> FIN_BLOCKING bool timed(timeout_block::begin begin, uint64_t time, Body &&body) {
    {
        timeout_block b(begin, time);
        scope s(b);
        body(s);
        b.close();
    }
    return fin_timed_out();
}
} // namespace detail

// The same; cancelled when the time (nanoseconds) is over, or when fin_now() is `when`. Returns whether it was: the work may
// be done all the same.
template <class Body> FIN_BLOCKING bool timeout(uint64_t ns, Body &&body) {
    return detail::timed(fin_timeout_begin_, ns, std::forward<Body>(body));
}
template <class Body> FIN_BLOCKING bool deadline(uint64_t when, Body &&body) {
    return detail::timed(fin_deadline_begin_, when, std::forward<Body>(body));
}

// The result of a fin_* call, or std::system_error where it is a negative errno.
template <class Int> Int check(Int result) {
    if (result < 0)
        throw std::system_error(static_cast<int>(-result), std::generic_category());
    return result;
}

namespace detail {

template <class Result> struct holder {
    std::optional<Result> result;
    template <class Body> void run(Body &body) { result.emplace(body()); }
    Result take() { return std::move(*result); }
};
template <class Result> struct holder<Result &> {
    Result *result = nullptr;
    template <class Body> void run(Body &body) { result = &body(); }
    Result &take() { return *result; }
};
template <> struct holder<void> {
    template <class Body> void run(Body &body) { body(); }
    void take() {}
};

template <class Body, class Result> struct offloaded {
    Body &body;
    holder<Result> result;
    std::exception_ptr error;

    static void run(void *p) noexcept {
        auto *o = static_cast<offloaded *>(p);
        try {
            o->result.run(o->body);
        } catch (...) {
            o->error = std::current_exception();
        }
    }
};

template <class Body> auto offload(int (*call)(void (*)(void *), void *), Body &body) -> decltype(body()) {
    using job = offloaded<Body, decltype(body())>;
    job o{body, {}, nullptr};
    check(call(&job::run, &o));
    if (o.error)
        std::rethrow_exception(std::move(o.error));
    return o.result.take();
}

} // namespace detail

// fin_offload of a lambda: its result, or the exception that left it. Where it was cancelled before it began or there is no
// thread for it, std::system_error.
template <class Body> FIN_BLOCKING auto offload(Body &&body) -> decltype(body()) {
    return detail::offload(fin_offload, body);
}
template <class Body> FIN_BLOCKING auto offload_nc(Body &&body) -> decltype(body()) {
    return detail::offload(fin_offload_nc, body);
}

} // namespace fin

#ifndef FIN_ELIDE
#define FIN_CXX_FINISH_(flags, label)                                                                                 \
    for (::fin::detail::block fin_async_must_be_inside_fin_finish((FIN_ARCH_FRAME_POINTER_(), flags)),                \
         &fin_cancel_must_be_inside_fin_finish [[maybe_unused]] = fin_async_must_be_inside_fin_finish,                \
         &label [[maybe_unused]] = fin_async_must_be_inside_fin_finish;                                               \
         fin_async_must_be_inside_fin_finish.open(); fin_async_must_be_inside_fin_finish.close())
#define FIN_CXX_LAMBDA_ [&]([[maybe_unused]] ::fin::detail::body_scope fin_async_must_be_inside_fin_finish) FIN_BLOCKING

#define fin_finish FIN_CXX_FINISH_(0u, fin_no_label_)
#define fin_finish_as(label) FIN_CXX_FINISH_(0u, fin_cancel_as_needs_fin_finish_as_##label)
#define fin_finish_nc FIN_CXX_FINISH_(FIN_FINISH_NC, fin_no_label_)
#define FIN_CXX_TIMED_(begin, time)                                                                                   \
    for (::fin::detail::timeout_block fin_async_must_be_inside_fin_finish((FIN_ARCH_FRAME_POINTER_(), begin), (time)), \
         &fin_cancel_must_be_inside_fin_finish [[maybe_unused]] = fin_async_must_be_inside_fin_finish;                \
         fin_async_must_be_inside_fin_finish.open(); fin_async_must_be_inside_fin_finish.close())
#define fin_timeout(ns) FIN_CXX_TIMED_(fin_timeout_begin_, ns)
#define fin_deadline(when) FIN_CXX_TIMED_(fin_deadline_begin_, when)
#define fin_async                                                                                                     \
    ::fin::detail::site(fin_async_must_be_inside_fin_finish, fin_cancel_must_be_inside_fin_finish) % FIN_CXX_LAMBDA_
#define fin_async_eager                                                                                               \
    ((void)fin_async_must_be_inside_fin_finish,                                                                       \
     ::fin::detail::site(::fin::detail::body_scope(), fin_cancel_must_be_inside_fin_finish)) %                        \
        FIN_CXX_LAMBDA_
#undef fin_async_call
#undef fin_cancel
#undef fin_cancel_as
#define fin_async_call(fn, arg) ::fin::detail::call_site(fin_async_must_be_inside_fin_finish, fn, arg)
#define fin_cancel() fin_cancel_must_be_inside_fin_finish.cancel()
#define fin_cancel_as(label) fin_cancel_as_needs_fin_finish_as_##label.cancel()
#endif

#endif
