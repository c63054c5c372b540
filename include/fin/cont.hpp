// SPDX-License-Identifier: BSD-2-Clause
// <fin/cont.h> for C++: a continuation says what its AWE waits for, without a stack, by returning it. Part of <fin.hpp>.
//
//     static fin::next serve(connection *&c, int n) {
//         std::lock_guard hold(c->lock);                    // unlocked before the AWE waits
//         if (n <= 0 || !handle(c, n))
//             return fin::end();
//         return fin::wait_on<serve, fin_recv_on>(c, &c->on, c->fd, c->buffer, sizeof c->buffer, 0);
//     }
//     fin::finish([&](fin::scope &s) { s.async_cont<begin>(c); });
//
// When the AWE waits, every frame of its step has ended and all destructors have run. In C, waiting in frames that own
// something is refused when the program runs; here it cannot be written. A function that holds a lock has nothing to wait
// with, only a fin::next to return; and a fin::next made inside a finish block has to leave the block, which waits for its
// work. A fin::next is neither copied nor moved, and can only be returned. The compiler warns if one is ignored, and if the
// end of a step is reached without one (-Wreturn-type).
//
// The state, and the arguments of what is waited for, have the values of the return statement: destructors and the end of a
// finish block come after it and do not change them any more.
//
// A step may be a function, a member function, or a closure, which is its own state: return fin::block_on([c](int result) {
// ...; return fin::end(); }); State, closure and arguments are copied as bytes, so they must be trivially copyable, and
// small; that is checked when the program is compiled.
//
// If a wait is refused when it begins (fin/cont.h: for lack of memory, say), the continuation gets the error as its result,
// when its turn has come. If that turn cannot be waited for either, because a fin_mutex was locked without an object that
// unlocks it, the step is left by std::system_error, with EBUSY. An exception that leaves a step ends its AWE, cancels the
// finish block and is rethrown where the block ends. If the block is one of C, which has no place for exceptions, the
// program ends.
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_CONT_HPP)
#define FIN_CONT_HPP

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <type_traits>

#include <fin/cont.h>
#include <fin/raise.hpp>

namespace fin {
namespace detail {

void failed() noexcept;

enum { WAIT_ROOM = 64 };

template <class State> constexpr void check_state() {
    static_assert(std::is_trivially_copyable_v<State> && std::is_trivially_destructible_v<State>,
                  "the state of a continuation is copied as bytes");
    static_assert(sizeof(State) <= FIN_CONT_STATE, "the state of a continuation has up to 40 bytes: let it point to more");
    static_assert(alignof(State) <= alignof(void *), "the state of a continuation is aligned as a pointer is");
}

template <class Wait> constexpr void check_wait() {
    static_assert(std::is_trivially_copyable_v<Wait> && std::is_trivially_destructible_v<Wait>,
                  "what a continuation waits for is copied as bytes");
    static_assert(sizeof(Wait) <= WAIT_ROOM && alignof(Wait) <= alignof(void *),
                  "what a continuation waits for has up to 64 bytes: let it point to more");
}

template <class Result> constexpr void check_result() {
    static_assert(std::is_same_v<Result, next>, "a continuation returns what comes next: declare it fin::next");
}

// For blocks and bodies that are not steps.
template <class Result> constexpr void check_not_next() {
    static_assert(!std::is_same_v<std::remove_cv_t<Result>, next>,
                  "a block does not wait in the place of its AWE: return what comes next behind it");
    static_assert(!is_task<std::remove_cv_t<Result>>,
                  "a fin::task that a body returns would not run: give the task itself to async, or await it");
}

// A step with a name takes exactly its state's type, not one that the state could be converted to.
template <class Step, class State> constexpr bool takes = std::is_invocable_v<Step, State &, int>;
template <class State> using bare = std::remove_cv_t<std::remove_reference_t<State>>;
template <class R, class A, class State> constexpr bool takes<R (*)(A, int), State> = std::is_same_v<bare<A>, State>;
template <class R, class A, class State>
constexpr bool takes<R (*)(A, int) noexcept, State> = std::is_same_v<bare<A>, State>;

template <auto Step, class State> FIN_TAGGED_ void step(void *state, int result);
template <class Closure> FIN_TAGGED_ void closure(void *state, int result);

struct next_of;

} // namespace detail

// What an AWE waits for, and what runs after that. Made by the functions below, and returned by steps.
class [[nodiscard]] next {
public:
    next(const next &) = delete;
    next &operator=(const next &) = delete;

private:
    friend struct detail::next_of;

    // wait(continuation, state, size) is what a function ending in _on does with them.
    template <class State, class Wait>
    next(fin_cont *cont, const State &s, Wait wait) : begin_(&begin<Wait>), cont_(cont), size_(sizeof s) {
        detail::check_state<State>();
        detail::check_wait<Wait>();
        std::memcpy(state_, __builtin_addressof(s), sizeof s);
        std::memcpy(wait_, __builtin_addressof(wait), sizeof wait);
    }
    template <class Wait> static int begin(const next &n) {
        const Wait *wait = static_cast<const Wait *>(static_cast<const void *>(n.wait_));
        return (*wait)(n.cont_, n.state_, n.size_);
    }

    int (*begin_)(const next &);
    fin_cont *cont_;
    size_t size_;
    alignas(void *) char state_[FIN_CONT_STATE];
    alignas(void *) char wait_[detail::WAIT_ROOM];
};

namespace detail {

struct next_of {
    template <class State, class Wait> static next make(fin_cont *cont, const State &s, Wait wait) {
        return {cont, s, wait};
    }
    template <auto Step, class State, class Wait> static next step(const State &s, Wait wait) {
        return {detail::step<Step, State>, s, wait};
    }
    template <class Closure, class Wait> static next closure(const Closure &c, Wait wait) {
        return {detail::closure<Closure>, c, wait};
    }
    // Begins the wait, and does not return; throws if neither the wait nor the turn for its refusal can be waited for.
    FIN_TAGGED_ static void begin(const next &n) {
        if (fin_cont_continue_(n.cont_, n.state_, n.size_, n.begin_(n)) != 0)
            raise<std::system_error>(EBUSY, std::generic_category(), "a step has left a fin_mutex locked");
    }
};

// Runs a step; does not return. The catch clause is left before the AWE ends.
template <class Call> FIN_TAGGED_ void guarded(Call call) {
    FIN_TRY_ {
        call();
    } FIN_CATCH_ {
        failed();
    }
    fin_cont_end();
}

template <class Call> FIN_TAGGED_ void run_step(Call call) {
    guarded([&] { next_of::begin(call()); });
}

template <auto Step, class State> FIN_TAGGED_ void step(void *state, int result) {
    check_state<State>();
    constexpr bool callable = takes<decltype(Step), State>;
    static_assert(callable, "a continuation is called with (State &, int result)");
    if constexpr (callable) {
        using returned = std::invoke_result_t<decltype(Step), State &, int>;
        check_result<returned>();
        if constexpr (std::is_same_v<returned, next>)
            run_step([&]() -> next { // as std::invoke, without <functional>
                return std::apply(Step, std::tuple<State &, int>(*static_cast<State *>(state), result));
            });
    }
}

// Copied: the next wait puts its state in the same place.
template <class Closure> FIN_TAGGED_ void closure(void *state, int result) {
    using returned = std::invoke_result_t<Closure &, int>;
    check_state<Closure>();
    check_result<returned>();
    if constexpr (std::is_same_v<returned, next>)
        run_step([&]() -> next {
            Closure run = *static_cast<Closure *>(state);
            return run(result);
        });
}

// Inside fin_finish a coroutine must not be suspended: if a body has blocked there, the coroutine runs on another stack than
// that of whoever it would return to, which is the body's. Clang compiles no such coroutine.
inline bool in_a_block() noexcept {
#ifdef __clang__
    return false;
#else
    return __builtin_expect(!(fin_self->current->flags & FIN_FINISH_CONT), 0);
#endif
}

template <class Closure> using if_closure = std::enable_if_t<std::is_invocable_v<Closure &, int>>;

inline int ends(fin_cont *, const void *, size_t) { fin_cont_end(); }

// The arguments of an operation that come before the continuation and its state.
template <class... T> struct list {};
template <class Before, class... Rest> struct before {
    static_assert(sizeof...(Rest) != 0, "what is waited on takes a continuation at its end, as fin_recv_on does");
};
template <class... Before> struct before<list<Before...>, fin_cont *, const void *, size_t> {
    using type = list<Before...>;
};
template <class... Before, class First, class... Rest>
struct before<list<Before...>, First, Rest...> : before<list<Before..., First>, Rest...> {};
template <class Operation> struct arguments;
template <class... T> struct arguments<int (*)(T...)> : before<list<>, T...> {};
template <class... T> struct arguments<int (*)(T...) noexcept> : before<list<>, T...> {};
template <auto Operation> using arguments_of = typename arguments<decltype(Operation)>::type;
template <class... T> using last = std::tuple_element_t<sizeof...(T) - 1, std::tuple<T...>>;
template <class... T> std::remove_pointer_t<last<T...>> storage_of(list<T...>);

template <auto Operation, class... Args> auto bound(Args... args) {
    return [args...](fin_cont *cont, const void *state, size_t size) { return Operation(args..., cont, state, size); };
}

// The arguments have the operation's types, so that conversions happen where the program calls it.
template <class Args, auto... StepAndOperation> struct waiting;
template <class... Args, auto Step, auto Operation> struct waiting<list<Args...>, Step, Operation> {
    template <class State> next operator()(const State &s, Args... args) const {
        return next_of::step<Step>(s, bound<Operation, Args...>(args...));
    }
};
template <class... Args, auto Operation> struct waiting<list<Args...>, Operation> {
    template <class Closure, class = if_closure<Closure>> next operator()(const Closure &c, Args... args) const {
        return next_of::closure(c, bound<Operation, Args...>(args...));
    }
};
template <auto Only> constexpr auto last_of() { return Only; }
template <auto First, auto Second, auto... Rest> constexpr auto last_of() { return last_of<Second, Rest...>(); }
template <auto... StepAndOperation> using waits = waiting<arguments_of<last_of<StepAndOperation...>()>, StepAndOperation...>;

template <class Known> void make_known(fin_awe *awe, void *known) { (*static_cast<const Known *>(known))(awe); }

} // namespace detail

// The fin_cont that the functions below make of Step: for fin_cont_of, fin_thread_handoff_if and the other functions of C,
// which do here what they do in C.
template <auto Step, class State> constexpr fin_cont *continuation = detail::step<Step, State>;

// Waits as fin_block_on does, until somebody schedules the AWE; then Step(State &, int result) runs. The other two wait as
// the functions of C of their names.
template <auto Step, class State> next block_on(const State &s) { return detail::next_of::step<Step>(s, fin_block_on); }
template <auto Step, class State> next block_on_nc(const State &s) {
    return detail::next_of::step<Step>(s, fin_block_on_nc);
}
template <auto Step, class State> next yield_on(const State &s) { return detail::next_of::step<Step>(s, fin_yield_on); }

// The same; known(fin_awe *) runs when the AWE can be resumed, as the function of fin_block_on_then does, and must not
// throw: there, tell whoever is to schedule the AWE. Anybody told earlier might schedule it before it waits, in vain.
template <auto Step, class State, class Known> next block_on_then(const State &s, Known known) {
    return detail::next_of::step<Step>(s, [known](fin_cont *cont, const void *state, size_t size) {
        return fin_block_on_then(cont, state, size, detail::make_known<Known>,
                                 const_cast<Known *>(__builtin_addressof(known)));
    });
}

// Waits with Operation, a function that ends in _on: fin::wait_on<Step, Operation>(state, its arguments before the
// continuation); or fin::wait_on<Operation>(closure, arguments).
template <auto... StepAndOperation> constexpr detail::waits<StepAndOperation...> wait_on = {};

// Makes `to` run next: fin_switch_context.
template <auto Step, class State> next switch_context(const State &s, fin_awe *to) {
    return detail::next_of::step<Step>(
        s, [to](fin_cont *cont, const void *state, size_t size) { return fin_cont_switch_(cont, state, size, to); });
}

// Wait with a closure, which is called with the result.
template <class Closure, class = detail::if_closure<Closure>> next block_on(const Closure &c) {
    return detail::next_of::closure(c, fin_block_on);
}
template <class Closure, class = detail::if_closure<Closure>> next yield_on(const Closure &c) {
    return detail::next_of::closure(c, fin_yield_on);
}

// The AWE ends.
inline next end() { return detail::next_of::make(nullptr, char(), detail::ends); }

#ifndef FIN_ELIDE
namespace detail {
FIN_TAGGED_ inline fin_awe &started(fin_awe *a) {
    if (!a)
        raise<std::bad_alloc>();
    return *a;
}
} // namespace detail

// From a step: starts an AWE in the same finish block, beside the step's own (fin_async_cont_beside). Throws std::bad_alloc
// if there is no memory, and std::logic_error in an AWE with a stack.
template <auto Step, class State> FIN_TAGGED_ fin_awe &async_cont_beside(const State &s) {
    if (!fin_awe_self())
        detail::raise<std::logic_error>("fin::async_cont_beside in an AWE that has a stack");
    return detail::started(fin_async_cont_beside(continuation<Step, State>, __builtin_addressof(s), sizeof s));
}
#endif

} // namespace fin

#include <fin.hpp>

#endif
