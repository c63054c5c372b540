// SPDX-License-Identifier: BSD-2-Clause
// What OpenSSL reads from and writes to. Who waits to receive has a small buffer; of a record that is larger OpenSSL gets
// the rest right here, into a buffer of its own, which is there while a part of a record is in it. What it writes lies in
// `out` until calls of Fin have sent it, and what it answers meanwhile behind that, where it may be moved: who reads does
// not wait for room, because the peer may write all before it reads. So a connection that is idle has no buffers but the
// small one (tests/tls/idle.c). The price is a second call for each large record.
#include "tls/tls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

// A record, however it is cut up, and an alert or the like behind it.
enum { OUT_SIZE = 16 * 1024 + 4096 };
// Of answers that have no room there. A peer that asks for more, and reads nothing, is waited for.
enum { FIRST_BEHIND = 4096, MOST_BEHIND = 256 * 1024 };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

// One for each wait: others of the thread have their turn.
static ssize_t receive(struct fin_tls *t, char *p, size_t n) {
    t->in_more = false;
    ssize_t got = recv(t->fd, p, n, MSG_DONTWAIT);
    t->in_eof = got == 0;
    if (got < 0 && errno != EAGAIN && errno != EINTR)
        t->in_error = -errno;
    return got;
}

static int give_in(BIO *b, char *p, int n) {
    struct fin_tls *t = BIO_get_data(b);
    size_t have = t->in_end - t->in_at, take = least((size_t)n, have);
    BIO_clear_retry_flags(b);
    if (have > 0) {
        memcpy(p, t->in + t->in_at, take);
        t->in_at += take;
        return (int)take;
    }
    ssize_t got = t->in_more ? receive(t, p, (size_t)n) : -1;
    if (t->in_eof)
        return 0;
    if (got < 0)
        BIO_set_retry_read(b);
    return (int)got;
}

// The one used last, for any thread: malloc is not quick with that size.
static char *spare;

bool fin_tls_has_out(struct fin_tls *t) {
    if (t->out)
        return true;
    t->out = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQUIRE);
    if (!t->out)
        t->out = malloc(OUT_SIZE);
    t->out_size = t->out ? OUT_SIZE : 0;
    return t->out != NULL;
}

bool fin_tls_all_sent(struct fin_tls *t) {
    if (t->out_at != t->out_end)
        return false;
    if (t->out)
        free(t->out_size == OUT_SIZE ? __atomic_exchange_n(&spare, t->out, __ATOMIC_ACQ_REL) : t->out);
    t->out = t->behind;
    t->out_at = 0;
    t->out_end = t->behind_end;
    t->out_size = t->behind_size;
    t->behind = NULL;
    t->behind_end = t->behind_size = 0;
    t->has_data = false; // which lies at the begin of `out` only
    t->has_answers &= t->out != NULL;
    return !t->out;
}

static size_t take_behind(struct fin_tls *t, const char *p, size_t n) {
    if (t->behind_end == t->behind_size) {
        size_t size = t->behind ? 2 * t->behind_size : FIRST_BEHIND;
        char *more = size <= MOST_BEHIND ? realloc(t->behind, size) : NULL;
        if (!more)
            return 0;
        t->behind = more;
        t->behind_size = size;
    }
    size_t take = least(n, t->behind_size - t->behind_end);
    memcpy(t->behind + t->behind_end, p, take);
    t->behind_end += take;
    return take;
}

static int take_out(BIO *b, const char *p, int n) {
    struct fin_tls *t = BIO_get_data(b);
    size_t take = t->behind || !fin_tls_has_out(t) ? 0 : least((size_t)n, t->out_size - t->out_end);
    BIO_clear_retry_flags(b);
    if (take > 0) {
        memcpy(t->out + t->out_end, p, take);
        t->out_end += take;
    } else if (t->out) {
        take = take_behind(t, p, (size_t)n);
    }
    if (take == 0)
        BIO_set_retry_write(b);
    return take ? (int)take : -1;
}

static long control(BIO *b, int command, long number, void *pointer) {
    const struct fin_tls *t = BIO_get_data(b);
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

BIO *fin_tls_bio(struct fin_tls *t) {
    const BIO_METHOD *method = the_method();
    BIO *b = method ? BIO_new(method) : NULL;
    if (b) {
        BIO_set_data(b, t);
        BIO_set_init(b, 1);
    }
    return b;
}
