// SPDX-License-Identifier: BSD-2-Clause
// The durations and time points of <chrono> as Fin's times. Part of <fin.hpp>, which does not include <chrono>: that takes
// the compiler long, and whoever has a duration has included it.
//
//     fin::sleep_for(10ms);
//     fin_timeout(2s) { ... }                            // also fin::timeout, fin::co::timeout, fin::co::sleep
//     fin_deadline(std::chrono::steady_clock::now() + 2s) { ... }
//     fin_timer_slack(fin::ns(1ms));                     // a function of C
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_CHRONO_HPP)
#define FIN_CHRONO_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <type_traits>
#include <utility>

#include <fin/time.h>

namespace fin {
namespace detail {

template <class Duration> using if_duration = decltype(Duration::period::num, std::declval<Duration>().count());
template <class Time> using if_time_point = decltype(Time::clock::now(), std::declval<Time>().time_since_epoch());
template <class Number> using if_fraction = std::enable_if_t<std::is_floating_point_v<Number>>;

// Or 0.5 would be no nanosecond.
template <class Number> constexpr uint64_t whole(Number) {
    static_assert(!std::is_floating_point_v<Number>, "a number is of nanoseconds, and whole: FIN_S / 2, or 500ms");
    return 0;
}

// Rounded up. Of 290 years and more, before or after: the least or the greatest number.
template <class Duration> constexpr int64_t signed_ns(const Duration &d) {
    __extension__ using wide = __int128;
    using floating = std::common_type_t<typename Duration::rep, double>;
    constexpr intmax_t num = Duration::period::num, den = Duration::period::den;
    floating seconds = static_cast<floating>(d.count()) * static_cast<floating>(num) / static_cast<floating>(den);
    if (seconds >= 9.15e9)
        return INT64_MAX;
    if (!(seconds > -9.15e9)) // or not a number
        return INT64_MIN;
    if constexpr (std::is_integral_v<typename Duration::rep>) {
        wide n = static_cast<wide>(d.count()) * num * 1000000000;
        return static_cast<int64_t>(n / den + (n % den > 0));
    } else {
        floating n = static_cast<floating>(d.count()) * (static_cast<floating>(num) * 1e9 / static_cast<floating>(den));
        auto whole = static_cast<int64_t>(n);
        return whole + (static_cast<floating>(whole) < n);
    }
}

} // namespace detail

// A duration in nanoseconds, rounded up, so that no wait is shorter than asked for: 0 of a negative one, and UINT64_MAX,
// which is for ever, of 290 years or more. A number is one of nanoseconds already; a fraction does not compile. Does not
// block.
constexpr uint64_t ns(uint64_t number) { return number; }
template <class Duration, class = detail::if_duration<Duration>> constexpr uint64_t ns(const Duration &d) {
    int64_t n = detail::signed_ns(d);
    return n == INT64_MAX ? UINT64_MAX : n < 0 ? 0 : static_cast<uint64_t>(n);
}
template <class Number, class = detail::if_fraction<Number>> constexpr uint64_t ns(Number n) { return detail::whole(n); }

// What fin_now() will be at that point in time of any clock: 0 if it is over, UINT64_MAX if it is 290 years or more after
// the clock's epoch. The clock is looked at only here: if it is set later, that changes nothing. A number is one of
// fin_now() already. Does not block.
constexpr uint64_t when(uint64_t now) { return now; }
template <class Time, class = detail::if_time_point<Time>> uint64_t when(const Time &t) {
    int64_t then = detail::signed_ns(t.time_since_epoch());
    int64_t now = detail::signed_ns(Time::clock::now().time_since_epoch()); // before fin_now(): later rather than earlier
    uint64_t at = 0;
    if (then > now && __builtin_add_overflow(fin_now(), static_cast<uint64_t>(then) - static_cast<uint64_t>(now), &at))
        return UINT64_MAX;
    return then == INT64_MAX ? UINT64_MAX : at;
}
template <class Number, class = detail::if_fraction<Number>> constexpr uint64_t when(Number n) { return detail::whole(n); }

namespace detail {

// What these two take.
template <class Time> using if_ns = decltype(fin::ns(std::declval<const Time &>()));
template <class Time> using if_when = decltype(fin::when(std::declval<const Time &>()));

} // namespace detail

// fin_sleep and fin_sleep_until: 0, or -ECANCELED.
template <class Duration, class = detail::if_duration<Duration>> FIN_BLOCKING int sleep_for(const Duration &d) {
    return fin_sleep(fin::ns(d));
}
template <class Time, class = detail::if_time_point<Time>> FIN_BLOCKING int sleep_until(const Time &t) {
    return fin_sleep_until(fin::when(t));
}

} // namespace fin
#endif
