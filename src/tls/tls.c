// SPDX-License-Identifier: BSD-2-Clause
// OpenSSL never sees the socket: it reads from `in` and writes to `out`, which calls of Fin fill and empty between its
// calls. So nothing blocks inside OpenSSL, and what a call of it has done is in the buffers, whatever becomes of the AWE
// that made it.
#include <fin/tls.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include <fin/cancel.h>
#include <fin/io.h>
#include <fin/sync.h>

// A record's data; that of a record as it is sent, however it is cut up, and an alert or the like behind it.
enum { RECORD = 16 * 1024, OUT_SIZE = RECORD + 4096, IN_SIZE = RECORD + 1024 };

struct fin_tls {
    SSL *ssl;
    int fd, error;
    bool begun, ready, ended, in_eof;
    struct fin_mutex reading, sending;
    struct fin_event received; // advanced when there is more, or nobody receives any more
    size_t in_at, in_end, out_at, out_end;
    char text[120];
    char in[IN_SIZE], out[OUT_SIZE];
};

static int give_in(BIO *b, char *p, int n) {
    struct fin_tls *t = BIO_get_data(b);
    size_t have = t->in_end - t->in_at, take = (size_t)n < have ? (size_t)n : have;
    BIO_clear_retry_flags(b);
    if (have == 0) {
        if (!t->in_eof)
            BIO_set_retry_read(b);
        return t->in_eof ? 0 : -1;
    }
    memcpy(p, t->in + t->in_at, take);
    t->in_at += take;
    return (int)take;
}

static int take_out(BIO *b, const char *p, int n) {
    struct fin_tls *t = BIO_get_data(b);
    size_t room = OUT_SIZE - t->out_end, take = (size_t)n < room ? (size_t)n : room;
    BIO_clear_retry_flags(b);
    if (take == 0) {
        BIO_set_retry_write(b);
        return -1;
    }
    memcpy(t->out + t->out_end, p, take);
    t->out_end += take;
    return (int)take;
}

static long control(BIO *b, int command, long number, void *pointer) {
    struct fin_tls *t = BIO_get_data(b);
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH || (command == BIO_CTRL_EOF && t->in_eof && t->in_at == t->in_end);
}

// Where there is no memory for it, there may be later. Threads that come first at once each make one, of which one stays.
static BIO_METHOD *the_method(void) {
    static BIO_METHOD *method;
    static int number;
    BIO_METHOD *m = __atomic_load_n(&method, __ATOMIC_ACQUIRE), *none = NULL;
    if (m)
        return m;
    int n = __atomic_load_n(&number, __ATOMIC_RELAXED), unknown = 0;
    if (n <= 0 && (n = BIO_get_new_index()) > 0 && // they are few
        !__atomic_compare_exchange_n(&number, &unknown, n, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        n = unknown;
    if (n <= 0 || !(m = BIO_meth_new(n | BIO_TYPE_SOURCE_SINK, "fin")))
        return NULL;
    BIO_meth_set_read(m, give_in);
    BIO_meth_set_write(m, take_out);
    BIO_meth_set_ctrl(m, control);
    if (__atomic_compare_exchange_n(&method, &none, m, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return m;
    BIO_meth_free(m);
    return none;
}

int fin_tls_new(struct fin_tls **out, SSL_CTX *context, int fd) {
    BIO_METHOD *method = the_method();
    struct fin_tls *t = calloc(1, sizeof *t);
    BIO *b = method ? BIO_new(method) : NULL;
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
    BIO_set_data(b, t);
    BIO_set_init(b, 1);
    SSL_set_bio(ssl, b, b);
    // A write that needs a handshake of the peer's would be neither taken nor not.
    SSL_set_options(ssl, SSL_OP_NO_RENEGOTIATION);
    SSL_clear_options(ssl, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    *out = t;
    return 0;
}

void fin_tls_free(struct fin_tls *t) {
    if (!t)
        return;
    SSL_free(t->ssl);
    free(t);
}

SSL *fin_tls_ssl(struct fin_tls *t) { return t->ssl; }
const char *fin_tls_error(const struct fin_tls *t) { return t->text; }

static bool all_sent(struct fin_tls *t) {
    if (t->out_at != t->out_end)
        return false;
    t->out_at = t->out_end = 0;
    return true;
}

int fin_tls_flush(struct fin_tls *t) {
    if (all_sent(t))
        return 0;
    int r = fin_mutex_lock(&t->sending);
    if (r != 0)
        return r;
    while (r >= 0 && !all_sent(t)) {
        r = (int)fin_send(t->fd, t->out + t->out_at, t->out_end - t->out_at, 0);
        t->out_at += r > 0 ? (size_t)r : 0;
    }
    fin_mutex_unlock(&t->sending);
    return r < 0 ? r : 0;
}

// As much as can be sent without waiting. A reader that waited until the peer reads might wait for a peer that does the
// same.
static void send_some(struct fin_tls *t) {
    if (all_sent(t) || fin_mutex_trylock(&t->sending) != 0)
        return;
    ssize_t n = send(t->fd, t->out + t->out_at, t->out_end - t->out_at, MSG_DONTWAIT | MSG_NOSIGNAL);
    t->out_at += n > 0 ? (size_t)n : 0;
    all_sent(t);
    fin_mutex_unlock(&t->sending);
}

// Pre: t->reading is held, all that came has been taken.
static FIN_BLOCKING int receive(struct fin_tls *t) {
    ssize_t n = fin_recv(t->fd, t->in, IN_SIZE, 0);
    if (n < 0)
        return (int)n;
    t->in_eof = n == 0;
    t->in_at = 0;
    t->in_end = (size_t)n;
    fin_event_advance(&t->received, 1);
    return 0;
}

static void leave_reading(struct fin_tls *t) {
    fin_mutex_unlock(&t->reading);
    fin_event_advance(&t->received, 1);
}

// Takes what OpenSSL has said of a call that failed: was it for want of memory?
static bool no_memory(void) {
    bool is = false;
    for (unsigned long e; (e = ERR_get_error()) != 0;)
        is |= ERR_GET_REASON(e) == ERR_R_MALLOC_FAILURE;
    return is;
}

// The connection is over. The alert that says why to the peer may be in `out`.
static int failed(struct fin_tls *t) {
    ERR_error_string_n(ERR_peek_error(), t->text, sizeof t->text);
    if (no_memory() || SSL_get_verify_result(t->ssl) == X509_V_ERR_OUT_OF_MEM)
        t->error = -ENOMEM;
    else if (t->in_eof && t->in_at == t->in_end)
        t->error = -ECONNABORTED;
    else
        t->error = !t->ready && SSL_get_verify_result(t->ssl) != X509_V_OK ? -EKEYREJECTED : -EPROTO;
    send_some(t);
    fin_event_advance(&t->received, 1); // nothing will come that counts
    return t->error;
}

// Waits for what a call of OpenSSL lacks; `why` is from SSL_get_error, which knows it until the next AWE calls OpenSSL.
// Returns 0: it is to be made again; 1: the peer has said that this was all; or -errno.
static FIN_BLOCKING int wait_for_more(struct fin_tls *t, int why) {
    switch (why) {
    case SSL_ERROR_WANT_READ:
        return receive(t);
    case SSL_ERROR_WANT_WRITE:
        return fin_tls_flush(t);
    case SSL_ERROR_ZERO_RETURN:
        return 1;
    default:
        return failed(t);
    }
}

static FIN_BLOCKING int handshake(struct fin_tls *t) {
    int r = fin_mutex_lock(&t->reading);
    if (r != 0)
        return r;
    r = t->error;
    while (r == 0 && !t->ready) {
        ERR_clear_error();
        int result = SSL_do_handshake(t->ssl), why = SSL_get_error(t->ssl, result);
        t->ready = result == 1;
        if (why == SSL_ERROR_WANT_READ)
            r = fin_tls_flush(t);
        if (r == 0 && !t->ready)
            r = wait_for_more(t, why);
    }
    if (r == 0)
        r = fin_tls_flush(t);
    leave_reading(t);
    return r == 1 ? -ECONNABORTED : r;
}

static bool expect_host(SSL *ssl, const char *host) {
    SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1)
        return true;
    return SSL_set_tlsext_host_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1;
}

int fin_tls_connect(struct fin_tls *t, const char *host) {
    if (!t->begun) {
        if (host && (!*host || strlen(host) > TLSEXT_MAXLEN_host_name))
            return -EINVAL;
        if (host && !expect_host(t->ssl, host))
            return -ENOMEM;
        SSL_set_connect_state(t->ssl);
        t->begun = true;
    }
    return handshake(t);
}

int fin_tls_accept(struct fin_tls *t) {
    if (!t->begun)
        SSL_set_accept_state(t->ssl);
    t->begun = true;
    return handshake(t);
}

static FIN_BLOCKING ssize_t read_record(struct fin_tls *t, void *buffer, size_t size) {
    size_t n;
    for (;;) {
        if (t->error)
            return t->error;
        ERR_clear_error();
        int why = SSL_get_error(t->ssl, SSL_read_ex(t->ssl, buffer, size, &n));
        if (why == SSL_ERROR_NONE || why == SSL_ERROR_WANT_READ)
            send_some(t); // what it answered
        if (why == SSL_ERROR_NONE)
            return (ssize_t)n;
        int r = wait_for_more(t, why);
        if (r != 0)
            return r == 1 ? 0 : r;
    }
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
    leave_reading(t);
    return r;
}

// Until more has come: whoever reads receives it, else the caller does.
static FIN_BLOCKING int await_more(struct fin_tls *t) {
    if (fin_mutex_trylock(&t->reading) != 0)
        return fin_event_await(&t->received, fin_event_read(&t->received) + 1);
    int r = receive(t);
    leave_reading(t);
    return r;
}

// A step towards the end of a message of the peer's, such as a ticket, that comes in several records. Until then OpenSSL
// takes nothing to write.
static FIN_BLOCKING int finish_message(struct fin_tls *t) {
    if (t->error)
        return t->error;
    ERR_clear_error();
    int why = SSL_get_error(t->ssl, SSL_do_handshake(t->ssl));
    if (why == SSL_ERROR_NONE || (why == SSL_ERROR_WANT_READ && !all_sent(t)))
        return 0;
    int r = why == SSL_ERROR_WANT_READ ? await_more(t) : wait_for_more(t, why);
    return r == 1 ? -ECONNABORTED : r;
}

// Until OpenSSL takes data and there is room for a record. Nothing blocks between that and the making of the record.
static FIN_BLOCKING int make_room(struct fin_tls *t) {
    int r = !t->ready ? -ENOTCONN : fin_cancelled() ? -ECANCELED : 0;
    while (r == 0 && (!all_sent(t) || SSL_in_init(t->ssl)))
        r = all_sent(t) ? finish_message(t) : fin_tls_flush(t);
    return r ? r : t->error;
}

ssize_t fin_tls_write(struct fin_tls *t, const void *data, size_t size) {
    size_t n = 0;
    int r = make_room(t);
    if (r != 0)
        return r;
    if (t->ended)
        return -EPIPE;
    if (size == 0)
        return 0;
    ERR_clear_error();
    if (SSL_write_ex(t->ssl, data, size < RECORD ? size : RECORD, &n) != 1)
        return failed(t);
    r = fin_tls_flush(t);
    return r == 0 || r == -ECANCELED ? (ssize_t)n : r;
}

int fin_tls_shutdown(struct fin_tls *t) {
    int r = make_room(t);
    if (r != 0)
        return r;
    ERR_clear_error();
    if (!t->ended && SSL_shutdown(t->ssl) < 0)
        return failed(t);
    t->ended = true;
    return fin_tls_flush(t);
}

#define NOT_CANCELLED(type, call)                                                                                           \
    type r = 0;                                                                                                             \
    fin_finish_nc { r = call; }                                                                                             \
    return r

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
