// SPDX-License-Identifier: BSD-2-Clause
// <fin/offload.h> with lambdas. Part of <fin.hpp>.
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_OFFLOAD_HPP)
#define FIN_OFFLOAD_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <fin.hpp>
#include <fin/offload.h>

namespace fin {
namespace detail {

// What a body returns that is called once.
template <class Body> using result_once = decltype(std::declval<once<Body>>()());

template <class Result, class = void> struct holder {
    std::optional<Result> result;
    template <class Body> void run(Body &&body) { result.emplace(static_cast<once<Body>>(body)()); }
    Result take() { return std::move(*result); }
};
template <class Result> struct holder<Result, std::enable_if_t<std::is_reference_v<Result>>> {
    std::remove_reference_t<Result> *result = nullptr;
    template <class Body> void run(Body &&body) {
        result = [](auto &&r) { return __builtin_addressof(r); }(static_cast<once<Body>>(body)());
    }
    Result take() { return static_cast<Result>(*result); }
};
template <> struct holder<void> {
    template <class Body> void run(Body &&body) { static_cast<once<Body>>(body)(); }
    void take() {}
};

template <class Body> struct FIN_TAGGED_ offloaded {
    Body &&body;
    holder<result_once<Body>> result;
    std::exception_ptr error;

    static void run(void *p) noexcept {
        auto *o = static_cast<offloaded *>(p);
        FIN_TRY_ {
            o->result.run(std::forward<Body>(o->body));
        } FIN_CATCH_ {
            o->error = std::current_exception();
        }
    }
};

template <class Body> FIN_TAGGED_ result_once<Body> offload(int (*call)(void (*)(void *), void *), Body &&body) {
    check_not_next<result_once<Body>>();
    offloaded<Body> o{std::forward<Body>(body), {}, nullptr};
    check(call(&offloaded<Body>::run, &o));
    if (o.error)
        std::rethrow_exception(std::move(o.error));
    return o.result.take();
}

} // namespace detail

// fin_offload of a lambda: returns its result, or throws the exception that left it. Throws std::system_error if it was
// cancelled before it began or there is no thread for it.
template <class Body> FIN_TAGGED_ FIN_BLOCKING auto offload(Body &&body) -> detail::result_once<Body> {
    return detail::offload(fin_offload, std::forward<Body>(body));
}
template <class Body> FIN_TAGGED_ FIN_BLOCKING auto offload_nc(Body &&body) -> detail::result_once<Body> {
    return detail::offload(fin_offload_nc, std::forward<Body>(body));
}

} // namespace fin
#endif
