// SPDX-License-Identifier: BSD-2-Clause
// Exceptions, also where they are switched off (-fno-exceptions): there nothing is caught, as nothing is thrown, and what
// would be thrown ends the program with its message. And names that several headers need. Not for programs: <fin.hpp>
// includes this.
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_RAISE_HPP)
#define FIN_RAISE_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <type_traits>
#include <utility>

// In place of `try` and `catch (...)`. FIN_TAGGED_ marks what is compiled to something else without exceptions, or calls
// such a function: it has another name then, as a program may have files of both kinds, of which a linker keeps one function
// of each name.
#ifdef __cpp_exceptions
#define FIN_TRY_ try
#define FIN_CATCH_ catch (...)
#define FIN_TAGGED_
#else
#define FIN_TRY_ if (true)
#define FIN_CATCH_ if (false)
#define FIN_TAGGED_ [[gnu::abi_tag("no_exceptions")]]
#endif

namespace fin {
class next;
template <class T> class task;
} // namespace fin

namespace fin::detail {

template <class T> constexpr bool is_task = false;
template <class T> constexpr bool is_task<task<T>> = true;

// As what a body is called that is called once: as an rvalue, if it is one and can be called so.
template <class Body, class... Args>
using once = std::conditional_t<std::is_invocable_v<Body, Args...>, Body &&, std::add_lvalue_reference_t<Body>>;

// Does it return a task? <fin/coro.hpp> keeps it then until that has ended.
template <class Body, class = void> constexpr bool makes_task = false;
template <class Body>
constexpr bool makes_task<Body, std::enable_if_t<is_task<std::invoke_result_t<once<std::decay_t<Body>>>>>> = true;
template <class Body> FIN_TAGGED_ task<void> kept(Body &&body);

template <class Exception, class... What> [[noreturn]] FIN_TAGGED_ inline void raise(What &&...what) {
#ifdef __cpp_exceptions
    throw Exception(std::forward<What>(what)...);
#else
    std::fprintf(stderr, "fin: %s\n", Exception(std::forward<What>(what)...).what());
    std::abort();
#endif
}

// `throw;`
[[noreturn]] FIN_TAGGED_ inline void raise_again() {
#ifdef __cpp_exceptions
    throw;
#else
    std::abort();
#endif
}

// In a catch clause; what exception it is says C++.
[[noreturn]] __attribute__((noinline, cold)) inline void not_kept(const char *block) noexcept {
    std::fprintf(stderr, "fin: an exception leaves a step or an async, and its finish block cannot keep it: %s\n", block);
    std::terminate();
}

// Of a coroutine whose frame is not where its promise says: GCC 12 makes that of one that declares no variable and awaits
// something in the condition of a statement. It would find neither its parameters nor what it awaits.
[[noreturn]] __attribute__((noinline, cold)) inline void misplaced() noexcept {
    std::fprintf(stderr, "fin: GCC makes wrong code of this coroutine, which has a co_await in the condition of an if, a "
                         "switch or a loop, and declares no variable: declare one in it\n");
    std::abort();
}

// Of what is called in a co_await, and may be a temporary there.
template <class Body> constexpr void check_in_co_await() {
#if !defined(__clang__) && __GNUC__ < 13
    static_assert(std::is_lvalue_reference_v<Body> || std::is_trivially_copyable_v<std::decay_t<Body>>,
                  "what a closure in a co_await owns, GCC 12 destroys twice: give the closure a name");
#endif
}

template <class T> constexpr bool lies_in_a_coroutine = alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;
template <class T> constexpr bool lies_in_a_coroutine<T &> = true;

// Would a T refer to a temporary, or to an rvalue? That can be converted to what binds to nothing else.
template <class From, class T>
constexpr bool is_temporary = std::is_lvalue_reference_v<T> && !std::is_function_v<std::remove_reference_t<T>> &&
                              std::is_convertible_v<From, std::remove_reference_t<T> &&>;

} // namespace fin::detail

#endif
