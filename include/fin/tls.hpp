// SPDX-License-Identifier: BSD-2-Clause
// <fin/tls.h> as a class: a TLS connection with its socket, a reader and a writer. Part of libfin-tls.
//
//     fin::tls_stream peer(context, fin::descriptor(fin::check(fin_accept(listener, nullptr, nullptr))));
//     std::string_view line;
//     if (peer.accept() == 0)
//         while (peer.in.line(line) == 0)
//             peer.out.printf("%zu\n", line.size());
//     peer.close(); // or else the peer does not know that this was all
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_TLS_HPP)
#define FIN_TLS_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <cerrno>
#include <memory>
#include <utility>

#include <fin/bufio.hpp>
#include <fin/tls.h>

namespace fin {

// As a fin::stream, over TLS. The constructor throws std::system_error and std::bad_alloc; the functions return what those
// of <fin/tls.h> with these names do, which also says what is cancelled and how. Its end flushes and closes, and does not
// tell the peer that this was all, which close() does: to the peer what came before an exception, or a return in the midst,
// has been cut off (-ECONNABORTED). No call of the handshake may be in progress then, nor at close().
class tls_stream {
public:
    // Nothing is sent yet. The SSL_CTX may be freed afterwards.
    FIN_TAGGED_ tls_stream(SSL_CTX *context, descriptor &&d, size_t size = 4096)
        : fd(std::move(d)), tls_(make(context, fd.get())), in(*fin_tls_calls(), tls_.get(), size),
          out(*fin_tls_calls(), tls_.get(), size) {
        in.tie(out);
    }
    tls_stream(tls_stream &&) noexcept = default;
    FIN_BLOCKING tls_stream &operator=(tls_stream &&other) noexcept {
        tls_stream taken(std::move(other));
        std::swap(tls_, taken.tls_);
        detail::swap_all(*this, taken);
        return *this;
    }

    // The handshake, before all that is read or written. -EBADF after close().
    [[nodiscard]] FIN_BLOCKING int connect(const char *host) { return fd ? fin_tls_connect(tls_.get(), host) : -EBADF; }
    [[nodiscard]] FIN_BLOCKING int connect_nc(const char *host) {
        return fd ? fin_tls_connect_nc(tls_.get(), host) : -EBADF;
    }
    [[nodiscard]] FIN_BLOCKING int accept() { return fd ? fin_tls_accept(tls_.get()) : -EBADF; }
    [[nodiscard]] FIN_BLOCKING int accept_nc() { return fd ? fin_tls_accept_nc(tls_.get()) : -EBADF; }

    // Flushes, and tells the peer that this was all; what it says can still be read.
    FIN_BLOCKING int shutdown() {
        int error = fd ? out.flush() : -EBADF;
        return error ? error : fin_tls_shutdown(tls_.get());
    }
    // The same, unless the peer is gone, and closes. Returns 0; why not all has been written, which a call before may have
    // said, too, or why the peer could not be told; or the error of the close. It is closed then, whatever it says: what the
    // reader has got can be read, and then it is -EBADF, as is a flush. If an AWE is in a call of the reader or writer then
    // the program ends, with a message.
    FIN_BLOCKING int close() {
        if (!fd)
            return -EBADF;
        int error = out.error();
        if (error == 0)
            error = out.flush();
        if (error == 0)
            error = told(fin_tls_shutdown(tls_.get()));
        if (error == 0)
            error = detail::none_left(out);
        int closed = fd.close();
        forget();
        return error ? error : closed;
    }

    SSL *ssl() const noexcept { return fin_tls_ssl(tls_.get()); }
    const char *error() const noexcept { return fin_tls_error(tls_.get()); } // fin_tls_error
    using native_handle_type = fin_tls *;
    native_handle_type native_handle() const noexcept { return tls_.get(); }

    // The library's: whether who was to be told was there; that there is a descriptor.
    static int told(int error) noexcept {
        return error == -ENOTCONN || error == -EPIPE || error == -ECONNRESET || error == -ECONNABORTED ? 0 : error;
    }
    void forget() noexcept { detail::forget(in, out); }

    descriptor fd;

private:
    struct free {
        void operator()(fin_tls *t) const noexcept { fin_tls_free(t); }
    };
    FIN_TAGGED_ static fin_tls *make(SSL_CTX *context, int fd) {
        fin_tls *t = nullptr;
        check(fd < 0 ? -EINVAL : fin_tls_new(&t, context, fd), "fin::tls_stream");
        return t;
    }
    std::unique_ptr<fin_tls, free> tls_;

public:
    reader in;
    writer out;
};

} // namespace fin
#endif
