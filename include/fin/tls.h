// SPDX-License-Identifier: BSD-2-Clause
// TLS over a connected socket, through OpenSSL: a library of its own, libfin-tls, so that libfin needs no OpenSSL. What is
// trusted, the certificates, versions and ciphers are set in the SSL_CTX, which is the caller's.
//
// Cancellation is exact as far as TLS permits, whose smallest unit is a record:
// - a cancelled read has taken no data; a part of a record that had been received stays in the connection for the next read;
// - a cancelled write has taken no data. But once a record has been made of the data it cannot be taken back: then the write
//   returns how much it took, even if it was cancelled, and the rest of the record is sent before all that follows, by the
//   next write, fin_tls_flush or fin_tls_shutdown;
// - a cancelled handshake goes on where it was when the next call is made.
//
// An idle connection, whether somebody waits to read or not, takes less than a kilobyte besides what OpenSSL has for it.
// Data to be sent has a buffer until it is sent; a part of a record that has come lies in a buffer of OpenSSL's until all of
// the record is there. If there is no memory for the former, -ENOMEM, nothing has been read or written, and the call may be
// made again; if OpenSSL has no memory, -ENOMEM is as final as its other errors, and fin_tls_error says so. (Not all of
// OpenSSL tells that apart: it may call it an error of its own, -EPROTO, or a certificate that cannot be used.)
//
// A connection is used by one thread at a time: another may go on with it where no call is in progress. One AWE may read
// while another writes; several that read, or write, take turns. What the SSL_CTX has OpenSSL call back must not wait, since
// other calls for the connection would come in between, and must not ask to be called again. Errors of a connection are
// final; those of its socket are as final as they are for the socket: -EPROTO: the peer does not speak TLS, or what came was
// tampered with; -EKEYREJECTED: its certificate is not one that is trusted, or it has shown none, by whatever the SSL_CTX
// allows in place of that, to a client that names a host; -ECONNABORTED: the connection ended without the peer having said
// so, and maybe before all was said; else what fin_send and fin_recv return.
// The socket stays the caller's to close.
#ifndef FIN_TLS_H
#define FIN_TLS_H

#include <fin/bufio.h>

#include <openssl/types.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fin_tls;

// Makes a connection out of a socket; nothing is sent for it yet. Returns 0, -ENOMEM, or -EINVAL if there is no SSL_CTX.
// Does not block. The SSL_CTX may be freed afterwards; the socket must stay open until fin_tls_free. Whatever the SSL_CTX
// says, a peer that asks for a renegotiation (TLS 1.2) is refused, an end without a word is an error, and fin_tls_shutdown
// says that this was all (SSL_OP_NO_RENEGOTIATION, no SSL_OP_IGNORE_UNEXPECTED_EOF, no quiet shutdown; SSL_MODE_AUTO_RETRY).
int fin_tls_new(struct fin_tls **out, SSL_CTX *context, int fd);
// No call may be in progress. NULL: nothing. Says nothing to the peer: that is fin_tls_shutdown, without which OpenSSL lets
// no session of the connection be gone on with. Does not block.
void fin_tls_free(struct fin_tls *t);

// The SSL of the connection, for anything else that has to be asked or set: protocols (ALPN), the peer's certificate,
// sessions. Not for reading or writing. Does not block.
SSL *fin_tls_ssl(struct fin_tls *t);

// The handshake, as client or server. `host` is the name, or address, that the server's certificate must be for; the
// server is told the name as well. A dot at its end does not count. A session to go on with (SSL_set_session) is offered
// only if its certificate was trusted and is for that name; otherwise a new one begins. (Whether it was trusted OpenSSL
// does not say of one that a callback brings, SSL_CTX_set_psk_use_session_callback: that is for the callback to know.)
// NULL: what the SSL_CTX says about verification holds, and no name is compared. Return 0 or a negative errno; -EINVAL:
// `host` cannot be a name, is another one than that of a call before, which was cancelled, or that was on the other side.
// A server that has no one any more to send tickets for sessions to can still read what that one said.
// Blocking.
FIN_BLOCKING int fin_tls_connect(struct fin_tls *t, const char *host);
FIN_BLOCKING int fin_tls_connect_nc(struct fin_tls *t, const char *host);
FIN_BLOCKING int fin_tls_accept(struct fin_tls *t);
FIN_BLOCKING int fin_tls_accept_nc(struct fin_tls *t);

// Reads at most one record's data. Returns the count; 0 if the peer has said that this was all, or of a `size` of 0. What
// OpenSSL answers to the peer meanwhile, such as a certificate that it asks for, is sent as soon as the socket has room for
// it. Blocking. -ENOTCONN before the handshake.
FIN_BLOCKING ssize_t fin_tls_read(struct fin_tls *t, void *buffer, size_t size);
FIN_BLOCKING ssize_t fin_tls_read_nc(struct fin_tls *t, void *buffer, size_t size);

// As fin_tls_read, with a continuation (fin/on.h). It does not return unless it is refused: then it returns a negative
// errno, as the functions there do, and nothing has happened. Readers with and without a stack take turns in the order in
// which they came. *buffer is written immediately before the continuation runs: so connections of a thread may share a
// buffer, if each continuation uses or copies what is in it before it waits. Only if OpenSSL's answers have come to a
// quarter of a megabyte, because the peer reads nothing, does it wait for room with a stack. Until the wait ends
// fin_cont_of, and reports, show a continuation of the library.
int fin_tls_read_on(struct fin_tls *t, void *buffer, size_t bytes, struct fin_more_on *on, fin_cont *cont, const void *state,
                    size_t size);

// Writes at most 16 KiB, one record. Returns the count when all of it has been given to the socket, or when cancelled
// meanwhile, or when it cannot be sent for now (-EMFILE, -ENOMEM ...), which fin_tls_flush then says. If only a part has
// come of a message from the peer that is not data, such as a ticket for a session, it first waits for the rest, as
// fin_tls_shutdown does: OpenSSL takes nothing before that. Blocking. -ENOTCONN before the handshake, -EPIPE after
// fin_tls_shutdown.
FIN_BLOCKING ssize_t fin_tls_write(struct fin_tls *t, const void *data, size_t size);
FIN_BLOCKING ssize_t fin_tls_write_nc(struct fin_tls *t, const void *data, size_t size);

// Waits until what cancelled writes took has been given to the socket, with what OpenSSL has to say. Returns 0 or a negative
// errno; where that is all, and the peer is gone, 0. Blocking.
FIN_BLOCKING int fin_tls_flush(struct fin_tls *t);
FIN_BLOCKING int fin_tls_flush_nc(struct fin_tls *t);

// Tells the peer that this was all; its data can still be read. Returns 0 or a negative errno; may be repeated. Blocking.
FIN_BLOCKING int fin_tls_shutdown(struct fin_tls *t);
FIN_BLOCKING int fin_tls_shutdown_nc(struct fin_tls *t);

// The same with a continuation, as fin_tls_read_on: so who does not go on with its handshake, or does not read, costs no
// stack either. `host` and the data are read until the continuation runs.
int fin_tls_connect_on(struct fin_tls *t, const char *host, struct fin_more_on *on, fin_cont *cont, const void *state,
                       size_t size);
int fin_tls_accept_on(struct fin_tls *t, struct fin_more_on *on, fin_cont *cont, const void *state, size_t size);
int fin_tls_write_on(struct fin_tls *t, const void *data, size_t bytes, struct fin_more_on *on, fin_cont *cont,
                     const void *state, size_t size);
int fin_tls_flush_on(struct fin_tls *t, struct fin_more_on *on, fin_cont *cont, const void *state, size_t size);
int fin_tls_shutdown_on(struct fin_tls *t, struct fin_more_on *on, fin_cont *cont, const void *state, size_t size);

// A reader and a writer (fin/bufio.h) of a connection. The writer's flush is fin_tls_flush, too. Return 0, or -EINVAL as
// fin_reader_init. Do not block. The functions are those that another stream on top of this one, or fin::reader, is made
// with: their `stream` is the connection.
int fin_tls_reader_init(struct fin_reader *r, struct fin_tls *t, void *space, size_t size);
int fin_tls_writer_init(struct fin_writer *w, struct fin_tls *t, void *space, size_t size);
const struct fin_stream_calls *fin_tls_calls(void);

// What OpenSSL said about the error that ended the connection, and of a certificate that was refused why; "" if there has
// been none. Does not block.
const char *fin_tls_error(const struct fin_tls *t);

#ifdef __cplusplus
}
#endif
#endif
