// SPDX-License-Identifier: BSD-2-Clause
// What a C++20 coroutine waits for without a stack of a fin::tls_stream (<fin/tls.hpp>), beside what <fin/co_bufio.hpp> has
// for its reader and writer. Part of libfin-tls.
//
//     if (co_await fin::co::accept(peer) == 0)
//         while (co_await fin::co::line(peer.in, text) == 0)
//             co_await fin::co::write(peer.out, "what?\n");
//     co_await fin::co::close(peer);
#if __cplusplus < 202002L
#error "<fin/coro.hpp> needs C++20: compile with -std=c++20 or newer"
#elif !defined(FIN_CO_TLS_HPP)
#define FIN_CO_TLS_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // as fin/coro.hpp
#endif

#include <fin/co_bufio.hpp>
#include <fin/tls.hpp>

namespace fin {
namespace co {

// As the functions of fin::tls_stream with these names; `host` must stay until then.
inline auto connect(tls_stream &s, const char *host) {
    auto start = [&s, host](auto... rest) { return s.fd ? fin_tls_connect_on(s.native_handle(), host, rest...) : -EBADF; };
    return detail::operation<decltype(start), fin_more_on>(start);
}
inline auto accept(tls_stream &s) {
    auto start = [&s](auto... rest) { return s.fd ? fin_tls_accept_on(s.native_handle(), rest...) : -EBADF; };
    return detail::operation<decltype(start), fin_more_on>(start);
}
FIN_TAGGED_ inline task<int> shutdown(tls_stream &s) {
    int error = s.fd ? co_await flush(s.out) : -EBADF;
    co_return error ? error : co_await wait_on<fin_tls_shutdown_on>(s.native_handle());
}

} // namespace co

namespace detail {
FIN_TAGGED_ inline task<int> tells_end(tls_stream &s) {
    co_return tls_stream::told(co_await co::wait_on<fin_tls_shutdown_on>(s.native_handle()));
}
} // namespace detail

namespace co {

// But where the coroutine cannot wait (-EBUSY, -ENOMEM) it is open as before, as with a fin::stream.
FIN_TAGGED_ inline task<int> close(tls_stream &s) {
    return detail::close_flushed(s, detail::tells_end);
}

} // namespace co
} // namespace fin
#endif
