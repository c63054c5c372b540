// SPDX-License-Identifier: BSD-2-Clause
// Nothing blocks inside OpenSSL (bio.c), and what a call of it has done is in the connection, whatever becomes of the AWE
// that made it. Between its calls, those of Fin wait: until something has been received, and sent.
#include "tls/tls.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fin/cancel.h>
#include <fin/io.h>

#include "not_cancelled.h"

enum { RECORD = 16 * 1024 }; // its data

int fin_tls_new(struct fin_tls **out, SSL_CTX *context, int fd) {
    if (!context)
        return -EINVAL;
    struct fin_tls *t = calloc(1, sizeof *t);
    BIO *b = fin_tls_bio(t);
    SSL *ssl = SSL_new(context);
    if (!t || !b || !ssl) {
        free(t);
        BIO_free(b);
        SSL_free(ssl);
        return -ENOMEM;
    }
    t->ssl = ssl;
    t->fd = fd;
    fin_mutex_init(&t->reading);
    fin_mutex_init(&t->sending);
    fin_event_init(&t->received);
    SSL_set_bio(ssl, b, b);
    // A write that needs a handshake of the peer's would be neither taken nor not.
    SSL_set_options(ssl, SSL_OP_NO_RENEGOTIATION);
    SSL_clear_options(ssl, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_set_quiet_shutdown(ssl, 0); // we would take our own end for the peer's
    SSL_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY); // drop_buffers relies on the latter
    SSL_set_read_ahead(ssl, 1); // as much as there is in one call
    *out = t;
    return 0;
}

void fin_tls_free(struct fin_tls *t) {
    if (!t)
        return;
    SSL_free(t->ssl);
    free(t->out);
    free(t->behind);
    free(t->host);
    free(t);
}

SSL *fin_tls_ssl(struct fin_tls *t) { return t->ssl; }
const char *fin_tls_error(const struct fin_tls *t) { return t->text; }

static bool matters_to_nobody(const struct fin_tls *t, int r) {
    return (r == -EPIPE || r == -ECONNRESET) && !t->has_data;
}

int fin_tls_flushed(struct fin_tls *t, int r) { return matters_to_nobody(t, r) ? 0 : r; }

void fin_tls_leave_sending(struct fin_tls *t, int r) {
    while (matters_to_nobody(t, r) && !fin_tls_all_sent(t))
        t->out_at = t->out_end;
    fin_mutex_unlock(&t->sending);
}

static FIN_BLOCKING int send_all(struct fin_tls *t) {
    if (fin_tls_all_sent(t))
        return 0;
    int r = fin_mutex_lock(&t->sending);
    if (r != 0)
        return r;
    while (r >= 0 && !fin_tls_all_sent(t)) {
        r = (int)fin_send(t->fd, t->out + t->out_at, t->out_end - t->out_at, 0);
        t->out_at += r > 0 ? (size_t)r : 0;
    }
    fin_tls_leave_sending(t, r);
    return r < 0 ? r : 0;
}

int fin_tls_flush(struct fin_tls *t) { return fin_tls_flushed(t, send_all(t)); }

// A reader that waited until the peer reads might wait for a peer that does the same: so it waits for either. Who is sending
// may be cancelled before its answers are sent.
bool fin_tls_send_some(struct fin_tls *t) {
    if (fin_tls_all_sent(t))
        return false;
    if (fin_mutex_trylock(&t->sending) != 0)
        return t->has_answers;
    ssize_t n = send(t->fd, t->out + t->out_at, t->out_end - t->out_at, MSG_DONTWAIT | MSG_NOSIGNAL);
    bool fails = n < 0 && errno != EAGAIN && errno != EINTR;
    t->out_at += n > 0 ? (size_t)n : 0;
    bool rest = !fin_tls_all_sent(t);
    fin_mutex_unlock(&t->sending);
    return rest && !fails;
}

void fin_tls_received(struct fin_tls *t, size_t n) {
    t->in_at = 0;
    t->in_end = n;
    t->in_eof = n == 0;
    t->in_more = n == sizeof t->in;
    fin_event_advance(&t->received, 1);
}

// An error of the socket that came in place of the rest, which OpenSSL has not been told of.
int fin_tls_socket_error(struct fin_tls *t) {
    int r = t->in_error;
    t->in_error = 0;
    return r;
}

// Pre: t->reading is held, and OpenSSL has taken all that came: so while somebody waits here nobody else receives.
static FIN_BLOCKING int receive(struct fin_tls *t) {
    ssize_t n = fin_recv(t->fd, t->in, sizeof t->in, 0);
    if (n < 0)
        return (int)n;
    fin_tls_received(t, (size_t)n);
    return 0;
}

static FIN_BLOCKING int receive_more(struct fin_tls *t) {
    int r = fin_tls_socket_error(t);
    return r ? r : receive(t);
}

void fin_tls_leave_reading(struct fin_tls *t) {
    fin_mutex_unlock(&t->reading);
    fin_event_advance(&t->received, 1);
}

// Takes what OpenSSL has said of a call that failed. That we refuse a certificate may come after what is wrong with it.
static void take_errors(bool *no_memory, bool *rejected) {
    *no_memory = *rejected = false;
    for (unsigned long e; (e = ERR_get_error()) != 0;) {
        *no_memory |= ERR_GET_REASON(e) == ERR_R_MALLOC_FAILURE;
        *rejected |= ERR_GET_LIB(e) == ERR_LIB_SSL && ERR_GET_REASON(e) == SSL_R_CERTIFICATE_VERIFY_FAILED;
    }
}

// What OpenSSL says first, and what is wrong with the certificate where that is why.
static void describe(struct fin_tls *t, unsigned long error, bool rejected) {
    long result = SSL_get_verify_result(t->ssl);
    char text[120] = "OpenSSL gives no reason";
    if (error)
        ERR_error_string_n(error, text, sizeof text);
    bool more = rejected && result != X509_V_OK;
    snprintf(t->text, sizeof t->text, "%s%s%s", text, more ? ": " : "", more ? X509_verify_cert_error_string(result) : "");
}

// The connection is over. The alert that says why to the peer may be in `out`.
static int failed(struct fin_tls *t) {
    bool no_memory, rejected;
    unsigned long error = ERR_peek_error();
    take_errors(&no_memory, &rejected);
    describe(t, error, rejected);
    if (no_memory || SSL_get_verify_result(t->ssl) == X509_V_ERR_OUT_OF_MEM)
        t->error = -ENOMEM;
    else if (t->in_eof && t->in_at == t->in_end)
        t->error = -ECONNABORTED;
    else
        t->error = rejected ? -EKEYREJECTED : -EPROTO;
    fin_tls_send_some(t);
    fin_event_advance(&t->received, 1); // nothing will come that counts
    return t->error;
}

// What a call of OpenSSL lacks; `why` is from SSL_get_error, which knows it until the next AWE calls OpenSSL. -EAGAIN:
// something is to be received; -ENOBUFS: what is there is to be sent first, for OpenSSL has more to write. Where there is
// nothing, there was no memory for it.
static int lacks(struct fin_tls *t, int why) {
    switch (why) {
    case SSL_ERROR_WANT_READ:
        return -EAGAIN;
    case SSL_ERROR_WANT_WRITE:
        return fin_tls_all_sent(t) ? -ENOMEM : -ENOBUFS;
    case SSL_ERROR_ZERO_RETURN:
        return -ECONNABORTED;
    default:
        return failed(t);
    }
}

// Of a session that goes on OpenSSL verifies nothing, neither the name nor whether the certificate was trusted. What it
// found then it says as that of the connection.
static bool may_go_on(SSL *ssl, const char *name) {
    X509 *peer = SSL_SESSION_get0_peer(SSL_get_session(ssl));
    if (!peer || SSL_get_verify_result(ssl) != X509_V_OK)
        return false;
    int fits = X509_check_ip_asc(peer, name, 0);
    if (fits == -2) // it is no address
        fits = X509_check_host(peer, name, 0, X509_VERIFY_PARAM_get_hostflags(SSL_get0_param(ssl)), NULL);
    return fits == 1;
}

// There are suites without certificates, and keys that both sides have: then OpenSSL verifies nothing, either.
static int look_who_is_there(struct fin_tls *t) {
    bool none = !SSL_SESSION_get0_peer(SSL_get_session(t->ssl));
    if (!t->host || (!none && (!SSL_session_reused(t->ssl) || may_go_on(t->ssl, t->host))))
        return 0;
    snprintf(t->text, sizeof t->text, none ? "the server has shown no certificate" : "the session was not with that host");
    t->ready = false;
    return t->error = -EKEYREJECTED;
}

int fin_tls_handshake_step(struct fin_tls *t) {
    if (t->error)
        return t->error;
    if (!t->ready) {
        ERR_clear_error();
        int result = SSL_do_handshake(t->ssl), why = SSL_get_error(t->ssl, result);
        t->ready = result == 1;
        if (!t->ready)
            return lacks(t, why);
    }
    return look_who_is_there(t);
}

static FIN_BLOCKING int handshake(struct fin_tls *t) {
    int r = fin_mutex_lock(&t->reading), step;
    if (r != 0)
        return r;
    while (r == 0 && ((step = fin_tls_handshake_step(t)) == -EAGAIN || step == -ENOBUFS)) {
        r = send_all(t);
        if (r == 0 && step == -EAGAIN)
            r = receive_more(t);
    }
    if (r == 0)
        r = step ? step : fin_tls_flush(t);
    fin_tls_leave_reading(t);
    return r;
}

// Without the dot at its end, which is for name servers; 0 where it cannot be a name. One that begins with a dot would be to
// OpenSSL any name that ends so.
static size_t name_size(const char *host) {
    size_t n = strlen(host);
    if (n > 0 && host[n - 1] == '.')
        n--;
    return n > 0 && n <= TLSEXT_MAXLEN_host_name && host[0] != '.' && host[n - 1] != '.' ? n : 0;
}

static bool same_name(const char *host, const char *other) {
    size_t n = name_size(host);
    return n == name_size(other) && memcmp(host, other, n) == 0;
}

static bool expect_host(SSL *ssl, const char *name) {
    SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    if (SSL_get_session(ssl) && !may_go_on(ssl, name))
        SSL_set_session(ssl, NULL);
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1)
        return true;
    return SSL_set_tlsext_host_name(ssl, name) == 1 && SSL_set1_host(ssl, name) == 1;
}

static int begin_connect(struct fin_tls *t, const char *host) {
    size_t size = host ? name_size(host) : 0;
    if (host && size == 0)
        return -EINVAL;
    if (host && !t->host && (t->host = calloc(1, size + 1)))
        memcpy(t->host, host, size);
    if (host && (!t->host || !expect_host(t->ssl, t->host))) {
        free(t->host);
        t->host = NULL;
        return -ENOMEM;
    }
    SSL_set_connect_state(t->ssl);
    t->begun = true;
    return 0;
}

// What goes on is what was begun, and who was to be there then.
int fin_tls_begin_connect(struct fin_tls *t, const char *host) {
    if (t->host ? host && !same_name(host, t->host) : host && t->begun)
        return -EINVAL;
    return !t->begun ? begin_connect(t, host) : SSL_is_server(t->ssl) ? -EINVAL : 0;
}

int fin_tls_begin_accept(struct fin_tls *t) {
    if (t->begun && !SSL_is_server(t->ssl))
        return -EINVAL;
    if (!t->begun)
        SSL_set_accept_state(t->ssl);
    t->begun = true;
    return 0;
}

int fin_tls_connect(struct fin_tls *t, const char *host) {
    int r = fin_tls_begin_connect(t, host);
    return r ? r : handshake(t);
}

int fin_tls_accept(struct fin_tls *t) {
    int r = fin_tls_begin_accept(t);
    return r ? r : handshake(t);
}

// Where nothing is in them; that for writing, too, which a message such as a ticket makes OpenSSL get. Some versions would
// give up the beginning of a record whose rest has not come.
static void drop_buffers(struct fin_tls *t) {
    if (SSL_pending(t->ssl) == 0 && strcmp(SSL_rstate_string(t->ssl), "RH") == 0) // reads the header of a record next
        SSL_free_buffers(t->ssl);
}

ssize_t fin_tls_try_read(struct fin_tls *t, void *buffer, size_t size) {
    size_t n;
    for (;;) {
        if (t->error)
            return t->error;
        ERR_clear_error();
        size_t before = t->out_end + t->behind_end;
        int r, why = SSL_get_error(t->ssl, SSL_read_ex(t->ssl, buffer, size, &n));
        t->has_answers |= t->out_end + t->behind_end > before;
        if (why == SSL_ERROR_NONE || why == SSL_ERROR_WANT_READ) {
            fin_tls_send_some(t); // what it answered
            drop_buffers(t);
        }
        if (why == SSL_ERROR_NONE)
            return (ssize_t)n;
        if (why == SSL_ERROR_ZERO_RETURN)
            return 0;
        r = lacks(t, why);
        if (r == -EAGAIN)
            return (r = fin_tls_socket_error(t)) != 0 ? r : -EAGAIN;
        if (r == -ENOBUFS)
            r = send_all(t);
        if (r != 0)
            return r;
    }
}

// The peer may be waiting for what OpenSSL has answered.
static FIN_BLOCKING int send_and_receive(struct fin_tls *t) {
    int r = POLLOUT;
    while (r == POLLOUT && fin_tls_send_some(t))
        r = fin_poll(t->fd, POLLIN | POLLOUT);
    return r < 0 ? r : receive(t);
}

static FIN_BLOCKING ssize_t read_record(struct fin_tls *t, void *buffer, size_t size) {
    ssize_t r;
    while ((r = fin_tls_try_read(t, buffer, size)) == -EAGAIN)
        if ((r = send_and_receive(t)) != 0)
            break;
    return r;
}

ssize_t fin_tls_read(struct fin_tls *t, void *buffer, size_t size) {
    if (!t->ready)
        return -ENOTCONN;
    if (size == 0)
        return 0;
    ssize_t r = fin_mutex_lock(&t->reading);
    if (r != 0)
        return r;
    r = read_record(t, buffer, size);
    fin_tls_leave_reading(t);
    return r;
}

// Until more has come: whoever reads receives it, else the caller does.
static FIN_BLOCKING int await_more(struct fin_tls *t) {
    int r = fin_tls_socket_error(t);
    if (r != 0)
        return r;
    if (fin_mutex_trylock(&t->reading) != 0)
        return fin_event_await(&t->received, fin_event_read(&t->received) + 1);
    r = receive(t);
    fin_tls_leave_reading(t);
    return r;
}

// Until the end of a message of the peer's, such as a ticket, that comes in several records, OpenSSL takes nothing to write.
int fin_tls_room_step(struct fin_tls *t) {
    if (!t->ready)
        return -ENOTCONN;
    if (!fin_tls_all_sent(t))
        return -ENOBUFS;
    if (t->error || !SSL_in_init(t->ssl))
        return t->error;
    ERR_clear_error();
    int why = SSL_get_error(t->ssl, SSL_do_handshake(t->ssl));
    if (why == SSL_ERROR_NONE || (why == SSL_ERROR_WANT_READ && !fin_tls_all_sent(t)))
        return fin_tls_room_step(t);
    return lacks(t, why);
}

// Until OpenSSL takes data and there is room for a record. Nothing blocks between that and the making of the record.
static FIN_BLOCKING int make_room(struct fin_tls *t) {
    int r = fin_cancelled() && t->ready ? -ECANCELED : 0, step = 0;
    while (r == 0 && ((step = fin_tls_room_step(t)) == -EAGAIN || step == -ENOBUFS))
        r = step == -EAGAIN ? await_more(t) : send_all(t);
    return r ? r : step;
}

ssize_t fin_tls_take(struct fin_tls *t, const void *data, size_t size) {
    size_t n = 0;
    if (t->ended)
        return -EPIPE;
    if (size == 0)
        return 0;
    if (!fin_tls_has_out(t))
        return -ENOMEM;
    ERR_clear_error();
    if (SSL_write_ex(t->ssl, data, size < RECORD ? size : RECORD, &n) != 1)
        return failed(t);
    t->has_data = true;
    return (ssize_t)n;
}

// The record cannot be taken back, and is sent later, by who can. Only where nobody ever can, it has not been written.
ssize_t fin_tls_written(const struct fin_tls *t, ssize_t n, int r) {
    bool is_over = r == -EPIPE || r == -ECONNRESET || r == -ETIMEDOUT || r == -EBADF || r == -ENOTSOCK || r == -ENOTCONN;
    return t->error ? t->error : is_over ? r : n;
}

int fin_tls_take_end(struct fin_tls *t) {
    if (t->ended)
        return 0;
    if (!fin_tls_has_out(t))
        return -ENOMEM;
    ERR_clear_error();
    if (SSL_shutdown(t->ssl) < 0)
        return failed(t);
    t->ended = true;
    return 0;
}

ssize_t fin_tls_write(struct fin_tls *t, const void *data, size_t size) {
    ssize_t r = make_room(t), n = r ? r : fin_tls_take(t, data, size);
    if (n <= 0)
        return n;
    return fin_tls_written(t, n, send_all(t));
}

int fin_tls_shutdown(struct fin_tls *t) {
    int r = make_room(t);
    if (r == 0)
        r = fin_tls_take_end(t);
    return r ? r : send_all(t);
}

int fin_tls_connect_nc(struct fin_tls *t, const char *host) { NOT_CANCELLED(int, fin_tls_connect(t, host)); }
int fin_tls_accept_nc(struct fin_tls *t) { NOT_CANCELLED(int, fin_tls_accept(t)); }
int fin_tls_flush_nc(struct fin_tls *t) { NOT_CANCELLED(int, fin_tls_flush(t)); }
int fin_tls_shutdown_nc(struct fin_tls *t) { NOT_CANCELLED(int, fin_tls_shutdown(t)); }

ssize_t fin_tls_read_nc(struct fin_tls *t, void *buffer, size_t size) {
    NOT_CANCELLED(ssize_t, fin_tls_read(t, buffer, size));
}

ssize_t fin_tls_write_nc(struct fin_tls *t, const void *data, size_t size) {
    NOT_CANCELLED(ssize_t, fin_tls_write(t, data, size));
}
