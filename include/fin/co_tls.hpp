// SPDX-License-Identifier: BSD-2-Clause
// What a C++20 coroutine waits for of a fin::tls_stream (<fin/tls.hpp>). Its reader and writer are those of
// <fin/co_bufio.hpp>: who waits to read has no stack. Part of libfin-tls.
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

// As the functions of fin::tls_stream with these names. The handshake, and the end, have a stack while they wait.
inline auto connect(tls_stream &s, const char *host) {
    return with_stack([&s, host]() FIN_BLOCKING { return s.connect(host); });
}
inline auto accept(tls_stream &s) {
    return with_stack([&s]() FIN_BLOCKING { return s.accept(); });
}
FIN_TAGGED_ inline task<int> close(tls_stream &s) {
    return detail::close_flushed(s, [&s]() FIN_BLOCKING { return s.say_end(); });
}

} // namespace co
} // namespace fin
#endif
