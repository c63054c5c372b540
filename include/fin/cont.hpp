// SPDX-License-Identifier: BSD-2-Clause
// <fin/cont.h> for C++: continuations that know the type of their state. Included by <fin.hpp>.
//
//     static void serve(connection *&c, int result) { ... fin::block_on<serve>(c); }
//
// What a continuation's frame holds is lost where it blocks: no destructor runs. The state is copied as bytes, so it must be
// trivially copyable, and small; that is checked when the program is compiled. An exception that leaves a continuation ends
// its AWE, cancels the finish block and is rethrown where that ends.
#ifndef FIN_CONT_HPP
#define FIN_CONT_HPP

#include <type_traits>

#include <fin/cont.h>

namespace fin {
namespace detail {

void failed() noexcept;

template <auto Step, class State> void step(void *state, int result) {
    static_assert(std::is_trivially_copyable_v<State> && std::is_trivially_destructible_v<State>,
                  "the state of a continuation is copied as bytes");
    static_assert(sizeof(State) <= FIN_CONT_STATE, "the state of a continuation has up to 40 bytes: let it point to more");
    static_assert(alignof(State) <= alignof(void *), "the state of a continuation is aligned as a pointer is");
    static_assert(std::is_invocable_v<decltype(Step), State &, int>, "a continuation is called with (State &, int result)");
    bool threw = false;
    try {
        Step(*static_cast<State *>(state), result);
    } catch (...) {
        failed();
        threw = true;
    }
    if (threw)
        fin_cont_end();
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

// For fin_cont_of, fin_thread_handoff_if and the others: what these made of Step.
template <auto Step, class State> constexpr fin_cont *continuation = detail::step<Step, State>;

} // namespace fin

#endif
