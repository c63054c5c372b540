// SPDX-License-Identifier: BSD-2-Clause
// Several tasks at once, with what they return: all of them, or the first. And one with a limit of time.
//
//     auto [page, user] = co_await fin::co::when_all(fetch(url), look_up(name));
//
//     auto first = co_await fin::co::when_any(ask(one), ask(other));    // a std::variant
//     if (first.index() == 0) ... std::get<0>(first) ...
//
//     std::optional page = co_await fin::co::within(2s, fetch(url));    // empty: not in time
//     std::optional count = co_await fin::co::within(2s, fin::co::recv(fd, buffer, sizeof buffer));
//
// The tasks are given away: temporaries, or std::move(it). They are in a finish block of their own (<fin/co_finish.hpp>),
// and all of them have ended when co_await goes on, or throws: so they may refer to what the coroutine has. They run when
// their turn has come. In the place of a fin::task<>, which returns nothing, stands a std::monostate.
//
// A cancel of the blocks around them cancels all the tasks. Those end as they see fit, mostly with -ECANCELED as what they
// return: for these functions that is a result like any other. For a limit of time around several put them into a
// fin::co::timeout. What <fin/co_finish.hpp> says of blocks that cannot be opened, or not be ended, holds for them:
// std::system_error.
#if __cplusplus < 202002L
#error "<fin/coro.hpp> needs C++20: compile with -std=c++20 or newer"
#elif !defined(FIN_CO_ALL_HPP)
#define FIN_CO_ALL_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // as fin/coro.hpp
#endif

#include <concepts>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fin/coro.hpp>

#ifndef FIN_ELIDE
namespace fin {
namespace detail {

template <class T> using value_of = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

// What an ended task returned or threw.
template <class T> FIN_TAGGED_ value_of<T> result_of(task<T> &t) {
    if constexpr (std::is_void_v<T>) {
        t.await_resume();
        return {};
    } else {
        return t.await_resume();
    }
}

// An exception leaves this task too, and so cancels the block.
template <class T> FIN_TAGGED_ task<> ends_well(task<T> &t) {
    co_await its_end<T>(t);
    t.rethrow();
}

// The first to end cancels the others.
template <class T> FIN_TAGGED_ task<> ends_first(task<T> &t, size_t index, std::optional<size_t> &first, scope &block) {
    co_await its_end<T>(t);
    if (!first) {
        first = index;
        block.cancel();
    }
}

template <size_t... Index, class... T>
FIN_TAGGED_ std::variant<value_of<T>...> result_at(size_t index, std::index_sequence<Index...>, task<T> &...tasks) {
    std::optional<std::variant<value_of<T>...>> result;
    (void)((index == Index && ((void)result.emplace(std::in_place_index<Index>, detail::result_of(tasks)), true)) || ...);
    return *std::move(result);
}

// Nothing has left an ended task, or what says that it was cancelled, as fin::check throws it.
template <class T> FIN_TAGGED_ bool failed_by_cancel_only(const task<T> &t) {
    FIN_TRY_ {
        t.rethrow();
    }
#ifdef __cpp_exceptions
    catch (const std::system_error &e) {
        return e.code() == std::errc::operation_canceled;
    } catch (...) {
        return false;
    }
#endif
    return true;
}

// What a wait of <fin/co_io.hpp> and the like is.
template <class Wait> concept gives_number = std::is_base_of_v<awaited, Wait> && !is_task<Wait> && requires(Wait w) {
    { w.await_resume() } -> std::same_as<int>;
};

} // namespace detail

namespace co {

// co_await gives what all the tasks returned, a std::tuple. The first exception that leaves one of them cancels the others,
// and is thrown when they have ended.
template <class... T> FIN_TAGGED_ task<std::tuple<detail::value_of<T>...>> when_all(task<T>... tasks) {
    finish block;
    (block.async(detail::ends_well(tasks)), ...);
    co_await block.end();
    co_return std::tuple<detail::value_of<T>...>{detail::result_of(tasks)...};
}

// The same of as many tasks as there are: a std::vector, which has no references.
template <class T> FIN_TAGGED_ task<std::vector<detail::value_of<T>>> when_all(std::vector<task<T>> tasks) {
    finish block;
    for (task<T> &t : tasks)
        block.async(detail::ends_well(t));
    co_await block.end();
    std::vector<detail::value_of<T>> values;
    values.reserve(tasks.size());
    for (task<T> &t : tasks)
        values.push_back(detail::result_of(t));
    co_return values;
}

// Cancels the others when the first task has ended, waits for them, and gives what the first returned or throws what it
// threw: a std::variant, which has no references, and whose index() says which it was. What the others return or throw is
// lost, though they may have done their work just in time: what must not be lost, a task has to keep elsewhere.
template <class... T> requires(sizeof...(T) > 0)
FIN_TAGGED_ task<std::variant<detail::value_of<T>...>> when_any(task<T>... tasks) {
    std::optional<size_t> first;
    finish block;
    size_t n = 0;
    (block.async(detail::ends_first(tasks, n++, first, block)), ...);
    co_await block.end();
    co_return detail::result_at(*first, std::index_sequence_for<T...>(), tasks...);
}

// The same of as many tasks as there are: which one was first, and what it returned, which may be a reference. Of none it
// throws std::logic_error.
template <class T> FIN_TAGGED_ task<std::pair<size_t, detail::value_of<T>>> when_any(std::vector<task<T>> tasks) {
    if (tasks.empty())
        detail::raise<std::logic_error>("fin::co::when_any of no task");
    std::optional<size_t> first;
    finish block;
    for (size_t i = 0; i < tasks.size(); i++)
        block.async(detail::ends_first(tasks[i], i, first, block));
    co_await block.end();
    co_return std::pair<size_t, detail::value_of<T>>(*first, detail::result_of(tasks[*first]));
}

// One task, cancelled when so much time is over (nanoseconds, or a duration of <chrono>), whose end it waits for: a
// std::optional of what the task returned, which is empty if the time was over before that end. An exception that leaves the
// task is thrown, but for a std::system_error with ECANCELED after that time. As with when_any, a task has to keep elsewhere
// what must not be lost though it was done just in time.
template <class Time, class T, class = detail::if_ns<Time>>
FIN_TAGGED_ task<std::optional<detail::value_of<T>>> within(Time time, task<T> work) {
    static_assert(!std::is_reference_v<T>, "fin::co::within gives a std::optional, which has no references");
    fin::co::timeout limit(time);
    co_await detail::its_end<T>(work);
    bool late = co_await limit.end();
    if (late && detail::failed_by_cancel_only(work))
        co_return std::nullopt;
    co_return detail::result_of(work);
}

// The same of what waits itself, as in co_await fin::co::within(FIN_S, fin::co::line(peer.in, text)), and gives an int.
// Nothing is lost: it is empty only where that was cancelled, and the time was over.
template <class Time, class Wait, class = detail::if_ns<Time>>
requires detail::gives_number<Wait> FIN_TAGGED_ task<std::optional<int>> within(Time time, Wait work) {
    fin::co::timeout limit(time);
    int result = co_await std::move(work);
    bool late = co_await limit.end();
    if (late && result == -ECANCELED)
        co_return std::nullopt;
    co_return result;
}

} // namespace co
} // namespace fin
#endif

#endif
