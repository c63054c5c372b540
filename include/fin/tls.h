// SPDX-License-Identifier: BSD-2-Clause
// TLS over a connected socket, through OpenSSL: a library of its own, libfin-tls, so that libfin needs no OpenSSL. What is
// trusted, the certificates, versions and ciphers are set in the SSL_CTX, which is the caller's.
//
// Cancellation is exact as far as TLS permits, whose smallest unit is a record:
// - a cancelled read has taken no data; what had been received of a record stays in the connection for the next read;
// - a cancelled write has taken no data. Once a record has been made of the data it cannot be taken back: then the write
//   returns how much it took, also when it was cancelled, and what is left of the record is sent before all that follows, by
//   the next write, fin_tls_flush or fin_tls_shutdown;
// - a cancelled handshake goes on where it was, with the next call.
//
// A connection that is idle, whether somebody waits to read or not, has less than a kilobyte beside what OpenSSL has for it.
// What is to be sent has a buffer until it is; what came of a record lies in OpenSSL's until that has all of it. Where there
// is no memory for the former, -ENOMEM, nothing has been read or written, and the call may be made again; where OpenSSL has
// none, -ENOMEM is as final as its other errors, and fin_tls_error says so.
//
// A connection belongs to one thread. One AWE may read while another writes; several that read, or write, take turns. Errors
// of a connection are final, those of its socket are as the socket has them: -EPROTO: the peer does not speak TLS, or what
// came was tampered with; -EKEYREJECTED: its certificate is not one that is trusted; -ECONNABORTED: the connection ended
// without the peer having said so, and maybe before all was said; else what fin_send and fin_recv return. The socket stays
// the caller's to close.
#ifndef FIN_TLS_H
#define FIN_TLS_H

#include <fin/on.h>

#include <openssl/types.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fin_tls;

// Makes a connection of a socket, for which nothing has been sent yet. Returns 0 or -ENOMEM. Does not block. The SSL_CTX may
// be freed afterwards, the socket must stay open until fin_tls_free.
int fin_tls_new(struct fin_tls **out, SSL_CTX *context, int fd);
void fin_tls_free(struct fin_tls *t); // NULL: nothing. Says nothing to the peer: that is fin_tls_shutdown

// For what has to be asked or set besides: protocols (ALPN), the peer's certificate, sessions. Not for reading or writing.
// Does not block.
SSL *fin_tls_ssl(struct fin_tls *t);

// The handshake, as client or server. `host` is the name, or address, that the server's certificate must be for; it is told
// the name as well. NULL: what the SSL_CTX says about verification holds, and no name is compared. Return 0 or a negative
// errno. Blocking.
FIN_BLOCKING int fin_tls_connect(struct fin_tls *t, const char *host);
FIN_BLOCKING int fin_tls_connect_nc(struct fin_tls *t, const char *host);
FIN_BLOCKING int fin_tls_accept(struct fin_tls *t);
FIN_BLOCKING int fin_tls_accept_nc(struct fin_tls *t);

// At most one record's data. Returns the count; 0 where the peer has said that this was all. Blocking. -ENOTCONN before the
// handshake.
FIN_BLOCKING ssize_t fin_tls_read(struct fin_tls *t, void *buffer, size_t size);
FIN_BLOCKING ssize_t fin_tls_read_nc(struct fin_tls *t, void *buffer, size_t size);

// As fin_tls_read, with a continuation (fin/on.h). It does not return; where it is refused it returns a negative errno, as
// the functions there do, and nothing has happened. Readers with and without a stack take turns as they came. *buffer is
// written immediately before the continuation runs: connections of a thread may share one, and what is in it is to be used,
// or copied, before that one waits. Only where an answer of OpenSSL's to the peer has no room, since the peer reads nothing,
// is that waited for with the stack. Until the end fin_cont_of shows a continuation of the library's, and so do reports.
int fin_tls_read_on(struct fin_tls *t, void *buffer, size_t bytes, struct fin_more_on *on, fin_cont *cont, const void *state,
                    size_t size);

// At most 16 KiB, one record. Returns the count when all of it has been given to the socket, or when cancelled meanwhile.
// Where of a message of the peer's that is not data, such as a ticket for a session, only a part has come, it waits for the
// rest first, as fin_tls_shutdown does: OpenSSL takes nothing before. Blocking. -ENOTCONN before the handshake, -EPIPE after
// fin_tls_shutdown.
FIN_BLOCKING ssize_t fin_tls_write(struct fin_tls *t, const void *data, size_t size);
FIN_BLOCKING ssize_t fin_tls_write_nc(struct fin_tls *t, const void *data, size_t size);

// Waits until what cancelled writes took has been given to the socket. Returns 0 or a negative errno. Blocking.
FIN_BLOCKING int fin_tls_flush(struct fin_tls *t);
FIN_BLOCKING int fin_tls_flush_nc(struct fin_tls *t);

// Says that this was all; the peer's data can still be read. Returns 0 or a negative errno; may be repeated. Blocking.
FIN_BLOCKING int fin_tls_shutdown(struct fin_tls *t);
FIN_BLOCKING int fin_tls_shutdown_nc(struct fin_tls *t);

// What OpenSSL said about the error that ended the connection; "" while there was none. Does not block.
const char *fin_tls_error(const struct fin_tls *t);

#ifdef __cplusplus
}
#endif
#endif
