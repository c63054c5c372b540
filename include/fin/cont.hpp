// SPDX-License-Identifier: BSD-2-Clause
// <fin/cont.h> for C++: an AWE that waits without a stack says what for by what its continuation returns. Included by
// <fin.hpp>.
//
//     static fin::next serve(connection *&c, int n) {
//         std::lock_guard hold(c->lock);                    // unlocked before the AWE waits
//         if (n <= 0 || !handle(c, n))
//             return fin::end();
//         return fin::wait_on<serve, fin_recv_on>(c, &c->on, c->fd, c->buffer, sizeof c->buffer, 0);
//     }
//     fin::finish([&](fin::scope &s) { s.async_cont<begin>(c); });
//
// When the AWE waits every frame of its step has ended and all destructors have run. So what in C is refused when the
// program runs, to wait in frames that own something, cannot be written: a function that holds a lock has nothing to wait
// with, only a fin::next to return; one made inside a finish block has to leave that, which waits for its work. A fin::next
// is neither stored nor copied, and nobody may ignore it. A continuation cannot return without saying what comes next.
//
// A step may also be a closure, which is its own state: return fin::block_on([c](int result) { ...; return fin::end(); });
// Its state, the closure and the arguments of what it waits for are copied as bytes, so they must be trivially copyable, and
// small; that is checked when the program is compiled.
//
// What is refused when it begins (fin/cont.h: no memory, say) is the result that the continuation gets, at once. A fin_mutex
// that was locked without an object that unlocks it is found then: std::system_error with EBUSY. An exception that leaves a
// step ends its AWE, cancels the finish block and is rethrown where that ends.
#ifndef FIN_CONT_HPP
#define FIN_CONT_HPP

#include <cerrno>
#include <cstring>
#include <system_error>
#include <type_traits>

#include <fin/cont.h>

namespace fin {

class next;

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
    static_assert(!std::is_same_v<Result, next>,
                  "a block does not wait in the place of its AWE: return what comes next behind it");
}

template <auto Step, class State> void step(void *state, int result);
template <class Closure> void closure(void *state, int result);

} // namespace detail

// What an AWE waits for, and what runs then. Made by the functions below, and returned by steps: nothing else can be done
// with it.
class [[nodiscard]] next {
public:
    next(const next &) = delete;
    next &operator=(const next &) = delete;

    // Of the library: wait(continuation, state, size) is what a function ending in _on does with them.
    template <class State, class Wait>
    next(fin_cont *cont, const State &s, Wait wait) : begin_(&begin<Wait>), cont_(cont), size_(sizeof s) {
        detail::check_state<State>();
        detail::check_wait<Wait>();
        std::memcpy(state_, &s, sizeof s);
        std::memcpy(wait_, &wait, sizeof wait);
    }
    // Begins; a negative errno where that is refused, otherwise it does not return.
    int begin() const { return begin_(*this); }
    // The continuation runs at once, in the explicit AWE that runs.
    void go_on(int result) const {
        std::memcpy(fin_cont_state(fin_awe_self()), state_, size_);
        fin_call_continuation(cont_, result);
    }

private:
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

[[noreturn]] inline void refused(int error) { throw std::system_error(-error, std::generic_category()); }

// A step; does not return. What catches is left before the AWE ends.
template <class Call> void guarded(Call call) {
    try {
        call();
    } catch (...) {
        failed();
    }
    fin_cont_end();
}

template <class Call> void run_step(Call call) {
    guarded([&] {
        const next n = call();
        int error = n.begin();
        if (error == -EBUSY)
            throw std::system_error(EBUSY, std::generic_category(), "a step has left a fin_mutex locked");
        n.go_on(error);
    });
}

template <auto Step, class State> void step(void *state, int result) {
    check_state<State>();
    constexpr bool callable = std::is_invocable_v<decltype(Step), State &, int>;
    static_assert(callable, "a continuation is called with (State &, int result)");
    if constexpr (callable) {
        using returned = std::invoke_result_t<decltype(Step), State &, int>;
        check_result<returned>();
        if constexpr (std::is_same_v<returned, next>)
            run_step([&] { return Step(*static_cast<State *>(state), result); });
    }
}

// Copied: the next wait puts its state in the same place.
template <class Closure> void closure(void *state, int result) {
    using returned = std::invoke_result_t<Closure, int>;
    check_state<Closure>();
    check_result<returned>();
    if constexpr (std::is_same_v<returned, next>)
        run_step([&] {
            Closure run = *static_cast<Closure *>(state);
            return run(result);
        });
}

template <class Closure> using if_closure = std::enable_if_t<std::is_invocable_v<Closure, int>>;

inline int ends(fin_cont *, const void *, size_t) { fin_cont_end(); }

} // namespace detail

// For fin_cont_of, fin_thread_handoff_if and the others: what these make of Step.
template <auto Step, class State> constexpr fin_cont *continuation = detail::step<Step, State>;

// Waits as fin_block_on does, until somebody schedules the AWE; then Step(State &, int result) runs. Likewise the others.
template <auto Step, class State> next block_on(const State &s) { return {continuation<Step, State>, s, fin_block_on}; }
template <auto Step, class State> next block_on_nc(const State &s) {
    return {continuation<Step, State>, s, fin_block_on_nc};
}
template <auto Step, class State> next yield_on(const State &s) { return {continuation<Step, State>, s, fin_yield_on}; }

// Waits with Operation, a function of the library that ends in _on: with these arguments, before the continuation.
template <auto Step, auto Operation, class State, class... Args> next wait_on(const State &s, Args... args) {
    return {continuation<Step, State>, s,
            [args...](fin_cont *cont, const void *state, size_t size) { return Operation(args..., cont, state, size); }};
}

// `to` runs next: fin_switch_context.
template <auto Step, class State> next switch_context(const State &s, fin_awe *to) {
    return {continuation<Step, State>, s,
            [to](fin_cont *cont, const void *state, size_t size) { return fin_cont_switch_(cont, state, size, to); }};
}

// With a closure that is called with the result.
template <class Closure, class = detail::if_closure<Closure>> next block_on(const Closure &c) {
    return {detail::closure<Closure>, c, fin_block_on};
}
template <class Closure, class = detail::if_closure<Closure>> next yield_on(const Closure &c) {
    return {detail::closure<Closure>, c, fin_yield_on};
}
template <auto Operation, class Closure, class... Args, class = detail::if_closure<Closure>>
next wait_on(const Closure &c, Args... args) {
    return {detail::closure<Closure>, c,
            [args...](fin_cont *cont, const void *state, size_t size) { return Operation(args..., cont, state, size); }};
}

// The AWE ends.
inline next end() { return {nullptr, char(), detail::ends}; }

} // namespace fin

#endif
