// SPDX-License-Identifier: BSD-2-Clause
// What serves calls without a stack: a task for each request. <fin/coro.hpp> does not include this, which needs all of it.
// Where a channel has no room for an answer, its task waits for that as fin_rpc_reply does, with the stack of its step.
//
//     fin::task<distance> between(const request &r) { ... co_return d; }
//
//     int error = co_await fin::co::serve<request>(end, between);
#if __cplusplus < 202002L
#error "<fin/coro.hpp> needs C++20: compile with -std=c++20 or newer"
#elif !defined(FIN_CO_SERVE_HPP)
#define FIN_CO_SERVE_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // as fin/coro.hpp
#endif

#include <fin/coro.hpp>

#ifndef FIN_ELIDE
namespace fin {
namespace detail {

template <class Request, class Fn>
FIN_TAGGED_ task<> answer(rpc &r, uint32_t id, request<Request> q, Fn &fn, semaphore &places) {
    using result = std::remove_cv_t<std::remove_reference_t<std::invoke_result_t<Fn &, const Request &>>>;
    static_assert(!std::is_void_v<result> && !std::is_same_v<result, task<>>, "what serves objects returns the answer");
    if constexpr (!is_task<result>) {
        answer_call(r, id, static_cast<const result &>(fn(q.object())));
    } else {
        auto &&a = co_await fn(q.object());
        answer_call(r, id, a);
    }
    places.release();
}

template <class Request, class Fn> FIN_TAGGED_ task<int> serving(rpc &r, Fn fn) {
    std::string bytes;
    semaphore places(FIN_RPC_MOST);
    uint32_t id = 0;
    int error = 0;
    co::finish work;
    for (;;) {
        error = co_await co::wait(places);
        if (error)
            break;
        error = co_await co::accept(r, bytes, id);
        if (error)
            break;
        request<Request> q(bytes.data(), bytes.size());
        if (q) {
            work.async(answer<Request>(r, id, std::move(q), fn, places));
        } else {
            (void)r.reply(id, nullptr, 0);
            places.release();
        }
    }
    (void)co_await work.end();
    co_return error;
}

} // namespace detail

namespace co {

// As fin::rpc::serve with objects or containers, but each request is a task's: fn(request) returns the answer, or a
// fin::task of it, which may await anything meanwhile. fn is copied or moved, and kept (std::ref passes a reference; with
// GCC 12 a closure that owns something has to have a name). At most FIN_RPC_MOST requests are worked on at a time. Awaited,
// it gives the error that ends it, once all of these tasks have ended: -ESHUTDOWN when the other side was closed. An
// exception that leaves one cancels the others, and is thrown to whom awaits: close the end then, because that request has
// no answer. A request of another length, and one whose answer is too long, is answered by an empty message.
template <class Request, class Fn> FIN_TAGGED_ task<int> serve(rpc &r, Fn &&fn) {
    static_assert(std::is_invocable_v<std::decay_t<Fn> &, const Request &>, "what serves is called with (const request &)");
    detail::check_in_co_await<Fn>();
    return detail::serving<Request, std::decay_t<Fn>>(r, std::forward<Fn>(fn));
}

} // namespace co
} // namespace fin
#endif

#endif
