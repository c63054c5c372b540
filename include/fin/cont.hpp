// SPDX-License-Identifier: BSD-2-Clause
// <fin/cont.h> for C++: continuations that know the type of their state. Included by <fin.hpp>.
//
//     static void serve(connection *&c, int result) { ... fin::block_on<serve>(c); }
//
// Or a closure, which is its own state: fin::block_on([c](int result) { ... });
//
// What a continuation's frame holds is lost where it blocks: no destructor runs. The state is copied as bytes, so it must be
// trivially copyable, and small; that is checked when the program is compiled. An exception that leaves a continuation ends
// its AWE, cancels the finish block and is rethrown where that ends.
//
// A continuation must not return. One that is declared to return fin::no_return, of which there is no value, cannot: the
// compiler refuses a return, and warns where the end is reached (-Wreturn-type), as after a call that may be refused.
#ifndef FIN_CONT_HPP
#define FIN_CONT_HPP

#include <type_traits>

#include <fin/cont.h>

namespace fin {
// What a continuation may be declared to return: there is no value of it, so it cannot.
class no_return {
    explicit no_return(int); // nobody's: with none but deleted constructors it would be an aggregate
    no_return(const no_return &) = delete;
};

namespace detail {

void failed() noexcept;

template <class State> constexpr void check_state() {
    static_assert(std::is_trivially_copyable_v<State> && std::is_trivially_destructible_v<State>,
                  "the state of a continuation is copied as bytes");
    static_assert(sizeof(State) <= FIN_CONT_STATE, "the state of a continuation has up to 40 bytes: let it point to more");
    static_assert(alignof(State) <= alignof(void *), "the state of a continuation is aligned as a pointer is");
}

template <class Result> constexpr void check_result() {
    static_assert(std::is_void_v<Result> || std::is_same_v<Result, no_return>,
                  "a continuation does not return: declare it void or fin::no_return");
}

template <class Call> void guarded(Call call) {
    bool threw = false;
    try {
        call();
    } catch (...) {
        failed();
        threw = true;
    }
    if (threw)
        fin_cont_end();
}

template <auto Step, class State> void step(void *state, int result) {
    check_state<State>();
    constexpr bool callable = std::is_invocable_v<decltype(Step), State &, int>;
    static_assert(callable, "a continuation is called with (State &, int result)");
    if constexpr (callable) {
        check_result<std::invoke_result_t<decltype(Step), State &, int>>();
        guarded([&] { Step(*static_cast<State *>(state), result); });
    }
}

// Copied: the next wait puts its state in the same place.
template <class Closure> void closure(void *state, int result) {
    check_state<Closure>();
    check_result<std::invoke_result_t<Closure, int>>();
    guarded([&] {
        Closure run = *static_cast<Closure *>(state);
        run(result);
    });
}

} // namespace detail

// fin_block_on, fin_yield_on and the others, with Step(State &, int) as the continuation.
template <auto Step, class State> int block_on(const State &s) {
    return fin_block_on(detail::step<Step, State>, &s, sizeof s);
}
template <auto Step, class State> int block_on_nc(const State &s) {
    return fin_block_on_nc(detail::step<Step, State>, &s, sizeof s);
}
template <auto Step, class State> int yield_on(const State &s) {
    return fin_yield_on(detail::step<Step, State>, &s, sizeof s);
}

// With a closure that is called with the result.
template <class Closure, class = std::enable_if_t<std::is_invocable_v<Closure, int>>> int block_on(const Closure &c) {
    return fin_block_on(detail::closure<Closure>, &c, sizeof c);
}
template <class Closure, class = std::enable_if_t<std::is_invocable_v<Closure, int>>> int yield_on(const Closure &c) {
    return fin_yield_on(detail::closure<Closure>, &c, sizeof c);
}

// For fin_cont_of, fin_thread_handoff_if and the others: what these made of Step.
template <auto Step, class State> constexpr fin_cont *continuation = detail::step<Step, State>;

} // namespace fin

#endif
