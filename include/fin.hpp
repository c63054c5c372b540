// SPDX-License-Identifier: BSD-2-Clause
// Fin for C++17: the words of <fin/async.h> with lambdas, and classes for those who avoid macros.
//
//     fin_finish { fin_async { read_one(a); }; fin_async { read_one(b); }; }
//     fin::finish([&](fin::scope &s) { s.async([&] { read_one(a); }); s.async([&] { read_one(b); }); });
//
// The body of fin_async captures by reference; variables of the block end before its wait. An exception that leaves
// a body, also one of fin_async_call, cancels its finish block and is rethrown where the block ends; of several, the first.
// One that leaves the block itself cancels the block, too, waits for its work, and goes on, in place of what left a body: so
// what waits in a block and throws if cancelled (fin::check) is better a body, too. A block left by return, break or goto
// also waits and rethrows. With -fno-exceptions what would be thrown ends the program with its message.
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_HPP)
#define FIN_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fin.h>
#include <fin/chan.hpp>
#include <fin/check.hpp>
#include <fin/chrono.hpp>
#include <fin/cont.hpp>
#include <fin/descriptor.hpp>
#include <fin/rpc.hpp>
#include <fin/sync.hpp>
#include <fin/waitset.hpp>

namespace fin {
namespace detail {

// The type, inside an async body, of the name that an async looks for.
struct body_scope {};

// C++'s two words for the exceptions in flight in this OS thread: those being handled, and the number of those being thrown.
inline void **exceptions() { return reinterpret_cast<void **>(abi::__cxa_get_globals()); }
inline unsigned thrown(void *const *exceptions) { return *reinterpret_cast<const unsigned *>(exceptions + 1); }

// The same, in a load, where the thread has a runtime. In a program with a sanitizer the runtime has other words, which say
// that there is an exception in flight.
__attribute__((always_inline)) inline void *const *known_exceptions() {
#if FIN_SANITIZED
    return exceptions();
#else
    return fin_self->exceptions;
#endif
}

// Where the words that the runtime knows count something. They are nobody's where the thread's runtime began before C++ was
// there, which a plugin has brought.
__attribute__((noinline, cold)) inline unsigned thrown_so_far() {
    if (fin_no_exceptions_(fin_self->exceptions))
        fin_self->exceptions = exceptions();
    return thrown(exceptions());
}

// An async while an exception is in flight, which stays the owner's, whether that goes on after the body or before its end:
// so the async is eager. Out of line, to keep the other paths short.
__attribute__((noinline, cold)) inline void eager_in_flight(fin_finish_block *b, void (*fn)(void *), void *arg,
                                                             uint32_t flags) {
    void **e = exceptions();
    void *caught = std::exchange(e[0], nullptr), *thrown = std::exchange(e[1], nullptr);
    fin_eager_call_with_(b, fn, arg, flags);
    e = exceptions();
    e[0] = caught;
    e[1] = thrown;
}

__attribute__((always_inline)) inline void eager_call(fin_finish_block *b, void fn(void *), void *arg, uint32_t flags = 0) {
    if (fin_no_exceptions_(known_exceptions()))
        fin_eager_call_with_(b, fn, arg, flags);
    else
        eager_in_flight(b, fn, arg, flags);
}

// The exception that left a body of a block, with FIN_FINISH_FAILED, lies behind what C knows of the block: in `block`
// below, and in a struct fin_finish_on.
inline std::exception_ptr *error_of(fin_finish_block *b) { return reinterpret_cast<std::exception_ptr *>(b + 1); }

__attribute__((noinline, cold)) inline std::exception_ptr take_error(fin_finish_block *b) noexcept {
    b->flags &= ~static_cast<uint32_t>(FIN_FINISH_FAILED);
    return std::exchange(*error_of(b), nullptr); // one that is empty has nothing to destroy
}

// A finish block, as a variable of the `for` that is the block: see FIN_FINISH_.
class block {
public:
    __attribute__((always_inline)) explicit block(uint32_t flags) {
        fin_finish_enter_(&b_, flags | FIN_FINISH_CXX);
        exceptions_ = known_exceptions();
        thrown_before_ = thrown(exceptions_);
        if (__builtin_expect(thrown_before_ != 0, 0)) {
            thrown_before_ = thrown_so_far();
            exceptions_ = known_exceptions();
        }
    }
    block(const block &) = delete;
    block &operator=(const block &) = delete;

    fin_finish_block *raw() { return &b_; }
    void *const *exceptions_in_flight() const { return exceptions_; }
    void cancel() { fin_cancel_block_(&b_); }

    // The end of the block.
    __attribute__((always_inline)) void close() {
        fin_finish_leave_(&b_);
        exceptions_ = nullptr;
        if (__builtin_expect(b_.flags & FIN_FINISH_FAILED, 0))
            std::rethrow_exception(take_error(&b_));
    }

    // In a catch clause: an exception leaves the block. The one that left a body before counts, of which this is most likely
    // a consequence: the block has been cancelled since. It waits here, and not in the destructor, because the scope, which
    // what is in the block may use until its end, ends before that.
    [[noreturn]] FIN_TAGGED_ __attribute__((noinline, cold)) void leave() {
        if (b_.flags & FIN_FINISH_FAILED)
            close();
        cancel();
        fin_finish_leave_(&b_);
        exceptions_ = nullptr;
        if (b_.flags & FIN_FINISH_FAILED)
            (void)take_error(&b_); // it came second
        raise_again();
    }

    // The block was left before its end.
    __attribute__((always_inline)) ~block() noexcept(false) {
        if (__builtin_expect(exceptions_ != nullptr, 0)) {
            bool unwinding = thrown(exceptions()) > thrown_before_;
            if (unwinding)
                cancel();
            fin_finish_leave_(&b_);
            if (b_.flags & FIN_FINISH_FAILED) {
                std::exception_ptr error = take_error(&b_);
                if (!unwinding)
                    std::rethrow_exception(std::move(error));
            }
        }
    }

private:
    fin_finish_block b_;
    [[maybe_unused]] void *error_; // error_of(&b_)
    void *const *exceptions_; // NULL once the block is closed
    unsigned thrown_before_;
};

// Where an async is written: in what may be a lambda, or in a function with a name. A lambda may be called in a block inside
// the block that it is written in, and be inlined into that inner block's function: then its async must not be lazy.
template <bool Lambda> struct place {};
#define FIN_CXX_PLACE_ ::fin::detail::place<sizeof __func__ == sizeof "operator()">()

template <bool Lambda> __attribute__((always_inline)) inline bool lazy_here(block &b, place<Lambda>) {
    if (__builtin_expect(!FIN_IN_FRAME_(b.raw()), 0) || (Lambda && __builtin_expect(fin_self->current != b.raw(), 0)))
        return false; // each has its own __builtin_expect: of the whole condition GCC loses which way is likely
    return fin_no_exceptions_(b.exceptions_in_flight());
}

template <class Place>
__attribute__((always_inline)) inline void lazy_call(block &b, void (*fn)(void *), void *arg, Place p) {
    if (__builtin_expect(lazy_here(b, p), 1))
        FIN_LAZY_CALL_(b.raw(), fn, arg);
    else
        eager_call(b.raw(), fn, arg);
}

// The timer outlives the wait at the end of the block, because base classes are destroyed after it.
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

// A body is of a type of the program's: what is called with it here says `detail::`, so that no function of that name in the
// namespace of the type is called instead.
template <class Body> void call_body(Body &b) {
    static_assert(!is_task<Body>, "a finish block owns a fin::task<>: nobody would take another's value");
    if constexpr (std::is_invocable_v<once<Body>>) {
        check_not_next<decltype(static_cast<once<Body>>(b)())>();
        static_cast<once<Body>>(b)();
    } else if constexpr (!is_task<Body>) { // fin_async's lambda
        check_not_next<decltype(b(body_scope{}))>();
        b(body_scope{});
    }
}

// From the catch clause around a body or a step: its block is cancelled and keeps the exception. All blocks inside the body
// have ended, so the current block is the body's own. A block of C cannot keep an exception.
__attribute__((noinline, cold)) inline void failed() noexcept {
    fin_finish_block *b = fin_self->current;
    while (b->flags & FIN_FINISH_EAGER)
        b = b->parent;
    if (!(b->flags & FIN_FINISH_CXX))
        not_kept(b->flags & FIN_FINISH_ON ? "one of fin_finish_open or fin_timeout_open, which is open" : "one of C");
    if (!(b->flags & FIN_FINISH_FAILED)) {
        new (error_of(b)) std::exception_ptr(std::current_exception());
        b->flags |= FIN_FINISH_FAILED;
    }
    fin_cancel_block_(b);
}

// The body's closure moves to the stack that it runs on: the next iteration of a loop makes the next one in the same place.
template <class Body> FIN_TAGGED_ __attribute__((noinline)) void run(void *closure) noexcept {
    FIN_TRY_ {
        Body body(std::move(*static_cast<Body *>(closure)));
        detail::call_body(body);
    } FIN_CATCH_ {
        failed();
    }
}

template <class Body>
__attribute__((always_inline)) inline void eager(fin_finish_block *owner, Body &&b, uint32_t flags = 0) {
    if constexpr (std::is_lvalue_reference_v<Body> || std::is_const_v<Body>) {
        std::decay_t<Body> copy(b);
        detail::eager(owner, std::move(copy), flags);
    } else {
        detail::eager_call(owner, &run<Body>, __builtin_addressof(b), flags);
    }
}

// fin_async is `site % lambda`: the one operator form in which the body can come last. It is no member, and takes the site
// by value: so no template of the program's for any two operands is a better match.
struct eager_site {
    fin_finish_block *owner;
    template <class Body> friend __attribute__((always_inline)) inline void operator%(eager_site s, Body &&b) {
        detail::eager(s.owner, std::move(b));
    }
};

template <class Place> struct lazy_site {
    block *owner;
    template <class Body> friend __attribute__((always_inline)) inline void operator%(lazy_site s, Body &&b) {
        detail::lazy_call(*s.owner, &run<Body>, &b, Place());
    }
};

template <class Place> FIN_BLOCKING inline lazy_site<Place> site(block &, block &owner, Place) { return {&owner}; }
template <class Place> FIN_BLOCKING inline eager_site site(body_scope, block &owner, Place) { return {owner.raw()}; }
template <class Here> FIN_BLOCKING inline eager_site site_eager(const Here &, block &owner) { return {owner.raw()}; }

// A function as a body. An exception that leaves it is caught, unless its type says that none does.
struct call {
    void (*fn)(void *);
    void *arg;
};

FIN_TAGGED_ __attribute__((noinline)) inline void run_function(void *arg, void (*fn)(void *)) noexcept {
    FIN_TRY_ {
        fn(arg);
    } FIN_CATCH_ {
        failed();
    }
}

FIN_TAGGED_ __attribute__((noinline)) inline void run_call(void *closure) noexcept {
    call c = *static_cast<call *>(closure);
    static_cast<fin_body *>(fin_self->current->pending)->entry = reinterpret_cast<void *>(c.fn); // for who looks
    run_function(c.arg, c.fn);
}

// An async outside any block gets an error about one name that is not there; the other name is this then.
struct no_block {};

inline fin_finish_block *raw_of(block &b) { return b.raw(); }
inline fin_finish_block *raw_of(no_block) { return nullptr; } // in a body of <fin/thc.h>: the current one

// fin_async_call: where it is written, which block it belongs to, and the function, which may throw or does not.
template <class Place>
FIN_BLOCKING __attribute__((always_inline)) inline void call_site(block &b, block &, void (*fn)(void *) noexcept, void *arg,
                                                                  Place p) {
    lazy_call(b, fn, arg, p);
}
template <class Owner, class Place>
FIN_BLOCKING __attribute__((always_inline)) inline void call_site(body_scope, Owner &owner, void (*fn)(void *) noexcept,
                                                                  void *arg, Place) {
    eager_call(raw_of(owner), fn, arg);
}
template <class Place>
FIN_BLOCKING __attribute__((always_inline)) inline void call_site(block &b, block &, void (*fn)(void *), void *arg,
                                                                  [[maybe_unused]] Place p) {
#if !FIN_SANITIZED
    if (__builtin_expect(lazy_here(b, p), 1)) {
        FIN_ARCH_LAZY_VIA_(b.raw(), run_function, fn, arg);
        return;
    }
#endif
    call c{fn, arg};
    eager_call(b.raw(), run_call, &c);
}
template <class Owner, class Place>
FIN_BLOCKING __attribute__((always_inline)) inline void call_site(body_scope, Owner &owner, void (*fn)(void *), void *arg,
                                                                  Place) {
    call c{fn, arg};
    eager_call(raw_of(owner), run_call, &c);
}

// FIN_ELIDE: what is left of a site, and of a block.
struct elided {
    template <class Body> friend void operator%(elided, Body &&b) {
        check_not_next<decltype(b())>();
        b();
    }
};
inline elided site(int) { return {}; }
struct elided_block {
    explicit elided_block(uint32_t) {}
    elided_block *raw() { return this; }
    void cancel() {}
    void close() {}
    [[noreturn]] FIN_TAGGED_ void leave() { raise_again(); }
};
inline void cancel(elided_block *) {}
inline void cancel(fin_finish_block *b) { fin_cancel_block_(b); }
struct elided_timeout : elided_block {
    elided_timeout(timeout_block::begin, uint64_t) : elided_block(0) {}
};
template <class Body> void eager(elided_block *, Body &&body, uint32_t) {
    std::decay_t<Body> own(std::forward<Body>(body));
    detail::call_body(own);
}

#ifdef FIN_ELIDE
using scope_block = elided_block;
using raw_block = elided_block;
using scope_timeout = elided_timeout;
#else
using scope_block = block;
using raw_block = fin_finish_block;
using scope_timeout = timeout_block;
#endif

// The block from here to its end.
template <class Scope, class Body>
FIN_TAGGED_ FIN_BLOCKING __attribute__((always_inline)) inline void fill(scope_block &b, Body &body) {
    Scope s(b);
    check_not_next<decltype(body(s))>();
    FIN_TRY_ {
        body(s);
    }
    FIN_CATCH_ {
        b.leave();
    }
    b.close();
}

template <class Scope, class Body>
FIN_TAGGED_ FIN_BLOCKING bool timed(timeout_block::begin begin, uint64_t time, Body &body) {
    {
        scope_timeout b(begin, time);
        detail::fill<Scope>(b, body);
    }
    return fin_timed_out();
}

} // namespace detail

#ifdef FIN_ELIDE
inline namespace sequential { // not the same names as in files of the same program that have the constructs
#endif

// The finish block of fin::finish. May be passed on and used from anywhere in the block's own thread until it ends.
class scope {
public:
    explicit scope(detail::scope_block &b) : block_(b.raw()) {}
    explicit scope(detail::raw_block *b) : block_(b) {}

    // Runs body() at once; if it blocks, the caller goes on. The body has a stack of its own from the start, and nothing is
    // kept for it of the body that calls this: each may start the next one and end, for ever.
    // A body that returns a task, as a coroutine does, is called when its turn has come, and is kept until that has ended.
    template <class Body> FIN_TAGGED_ void async(Body &&body) {
        if constexpr (detail::makes_task<Body>)
            async(detail::kept(std::forward<Body>(body)));
        else
            detail::eager(block_, std::forward<Body>(body), FIN_FINISH_APART);
    }

#ifndef FIN_ELIDE
    // Starts a coroutine: <fin/coro.hpp>.
    FIN_TAGGED_ void async(task<void> &&t);

    // Starts an AWE from a continuation, fin::next Step(State &, int), or a closure: see <fin/cont.hpp>. Throws
    // std::bad_alloc if there is no memory.
    template <auto Step, class State> FIN_TAGGED_ fin_awe &async_cont(const State &s) {
        return detail::started(fin_cont_start_(block_, detail::step<Step, State>, __builtin_addressof(s), sizeof s));
    }
    template <class Closure, class = detail::if_closure<Closure>>
    FIN_TAGGED_ fin_awe &async_cont(const Closure &c) {
        return detail::started(fin_cont_start_(block_, detail::closure<Closure>, __builtin_addressof(c), sizeof c));
    }
#else // these have no sequential form
    void async(task<void> &&t) = delete;
    template <auto Step, class State> fin_awe &async_cont(const State &s) = delete;
    template <class Closure> fin_awe &async_cont(const Closure &c) = delete;
#endif

    void cancel() { detail::cancel(block_); } // in the block's own thread, as all of it

private:
    detail::raw_block *block_;
};

// Runs body(scope), then waits until all that it started has ended. Of the exceptions that leave it or what it started it
// throws the first.
template <class Body> FIN_TAGGED_ FIN_BLOCKING void finish(Body &&body) {
    detail::scope_block b(0);
    detail::fill<scope>(b, body);
}

// The same, shielded from the cancellation of the blocks around it.
template <class Body> FIN_TAGGED_ FIN_BLOCKING void finish_nc(Body &&body) {
    detail::scope_block b(FIN_FINISH_NC);
    detail::fill<scope>(b, body);
}

#pragma push_macro("timeout") // <curses.h> has one
#undef timeout
// The same as finish; cancelled when the time is over, or when it is `when`: nanoseconds and what fin_now() says, or a
// duration and a point in time of <chrono> (<fin/chrono.hpp>). Returns whether that happened; even then the work may have
// been done.
template <class Time, class Body, class = detail::if_ns<Time>>
FIN_TAGGED_ FIN_BLOCKING bool timeout(Time time, Body &&body) {
    return detail::timed<scope>(fin_timeout_begin_, fin::ns(time), body);
}
#pragma pop_macro("timeout")
template <class Time, class Body, class = detail::if_when<Time>>
FIN_TAGGED_ FIN_BLOCKING bool deadline(Time when, Body &&body) {
    return detail::timed<scope>(fin_deadline_begin_, fin::when(when), body);
}

#ifdef FIN_ELIDE
} // namespace sequential
#endif

} // namespace fin

#ifndef FIN_ELIDE
inline constexpr ::fin::detail::no_block fin_owner_{};
#define FIN_CXX_FINISH_(flags, label)                                                                                       \
    for (::fin::detail::block fin_async_must_be_inside_fin_finish((FIN_ARCH_FRAME_POINTER_(), flags)),                      \
         &fin_cancel_must_be_inside_fin_finish [[maybe_unused]] = fin_async_must_be_inside_fin_finish,                      \
                                               &fin_owner_ [[maybe_unused]] = fin_async_must_be_inside_fin_finish,          \
                                               &label [[maybe_unused]] = fin_async_must_be_inside_fin_finish,               \
                                               *fin_once_ = &fin_async_must_be_inside_fin_finish;                           \
         fin_once_; fin_async_must_be_inside_fin_finish.close(), fin_once_ = nullptr)
#define FIN_CXX_LAMBDA_ [&]([[maybe_unused]] ::fin::detail::body_scope fin_async_must_be_inside_fin_finish) FIN_BLOCKING

#define fin_finish FIN_CXX_FINISH_(0u, fin_no_label_)
#define fin_finish_as(label) FIN_CXX_FINISH_(0u, fin_cancel_as_needs_fin_finish_as_##label)
#define fin_finish_nc FIN_CXX_FINISH_(FIN_FINISH_NC, fin_no_label_)
#define FIN_CXX_TIMED_(begin, time)                                                                                         \
    for (::fin::detail::timeout_block fin_async_must_be_inside_fin_finish((FIN_ARCH_FRAME_POINTER_(), begin), (time)),      \
         &fin_cancel_must_be_inside_fin_finish [[maybe_unused]] = fin_async_must_be_inside_fin_finish,                      \
                                               &fin_owner_ [[maybe_unused]] = fin_async_must_be_inside_fin_finish,          \
                                               *fin_once_ = &fin_async_must_be_inside_fin_finish;                           \
         fin_once_; fin_async_must_be_inside_fin_finish.close(), fin_once_ = nullptr)
// The commas of template arguments part those of a macro.
#define fin_timeout(...) FIN_CXX_TIMED_(fin_timeout_begin_, ::fin::ns(__VA_ARGS__))
#define fin_deadline(...) FIN_CXX_TIMED_(fin_deadline_begin_, ::fin::when(__VA_ARGS__))
#define fin_async ::fin::detail::site(fin_async_must_be_inside_fin_finish, fin_owner_, FIN_CXX_PLACE_) % FIN_CXX_LAMBDA_
#define fin_async_eager ::fin::detail::site_eager(fin_async_must_be_inside_fin_finish, fin_owner_) % FIN_CXX_LAMBDA_
#undef fin_async_call
#undef fin_async_eager_call
#undef fin_cancel
#undef fin_cancel_as
#define fin_async_call(fn, arg)                                                                                             \
    ::fin::detail::call_site(fin_async_must_be_inside_fin_finish, fin_owner_, fn, arg, FIN_CXX_PLACE_)
#define fin_async_eager_call(fn, arg)                                                                                       \
    ((void)fin_async_must_be_inside_fin_finish,                                                                             \
     ::fin::detail::call_site(::fin::detail::body_scope(), fin_owner_, fn, arg, FIN_CXX_PLACE_))
#define fin_cancel() fin_cancel_must_be_inside_fin_finish.cancel()
#define fin_cancel_as(label) fin_cancel_as_needs_fin_finish_as_##label.cancel()
#else
#undef fin_timeout
#undef fin_deadline
#define fin_timeout(...) FIN_ELIDED_TIMED_(::fin::ns(__VA_ARGS__))
#define fin_deadline(...) FIN_ELIDED_TIMED_(::fin::when(__VA_ARGS__))
#endif

#include <fin/offload.hpp>
#endif
