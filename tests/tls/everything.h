// SPDX-License-Identifier: BSD-2-Clause
// For everything.c: connections, of which each end has AWEs that write messages and AWEs that read what the other end's do.
#ifndef FIN_TESTS_TLS_EVERYTHING_H
#define FIN_TESTS_TLS_EVERYTHING_H

#include <fcntl.h>
#include <openssl/err.h>

#include <fin/thread.h>
#include <fin/tls.h>

#include "attempts.h"
#include "certificate.h"

enum { CONNECTIONS = 6, WRITERS = 2, RECORD = 16384, HEADER = 3, LARGEST = 40000 };

// What becomes of a connection in a certain burst: the last, where both ends say that this was all; or an earlier one, where
// one end does, and hears the other on, or where it breaks off.
enum fate { CLEAN, HALF, BROKEN };

struct writer {
    struct end *e;
    unsigned number;
};

// Who answers writes when it has read all; who reads late does so when it has written all.
enum order { AT_ONCE, ANSWERS, READS_LATE };

struct end {
    struct writer writers[WRITERS];
    struct connection *c;
    struct end *peer;
    struct fin_tls *t;
    int fd, number;
    int thread[BURSTS + 1]; // who uses it in that burst
    enum order order[BURSTS + 1];
    unsigned burst;
    struct fin_event wrote, has_read; // up to which burst: all that it had to, and all that was for it
    bool quits;       // its readers, as nothing more is written to it in this burst
    const char *also; // is being done: for the report
    size_t promised[BURSTS + 1][WRITERS]; // from the beginning to the end of that burst
    size_t sent[WRITERS], received[WRITERS];
    unsigned char header[HEADER]; // of the message that comes
    unsigned header_size, rest;
    bool told_end; // 0 has been read
    struct act *readers[2]; // or NULL
};

struct connection {
    enum fate fate;
    unsigned fate_at;
    int striker; // the end that says first that this was all, or breaks off
    int version;
    bool offered; // a session to go on with
    int through[2]; // descriptors of who passes on what comes, in pieces; or -1
    int thread;     // its
    unsigned piece; // at most
    struct end ends[2];
};

static struct connection connections[CONNECTIONS];
static unsigned connection_count;
static bool calm[BURSTS + 1]; // nothing is cancelled in that burst, and no timer runs
static unsigned char bytes[2 * WRITERS][251 * 256 + LARGEST];

static const unsigned char *bytes_of(const struct end *e, unsigned writer, size_t at) {
    return bytes[e->number * WRITERS + (int)writer] + at % (251 * 256);
}

static void make_bytes(void) {
    for (unsigned w = 0; w < 2 * WRITERS; w++)
        for (unsigned i = 0; i < sizeof bytes[w]; i++)
            bytes[w][i] = (unsigned char)(i % 251 * 3 + i % (251 * 256) / 251 + w * 50);
}

static bool try_act(struct act *a, const struct end *e) {
    if (!calm[e->burst])
        return attempt(a);
    a->cancels = a->was_cancelled = false;
    attempt_calmly(a);
    HOLDS_OF(a, !a->waits && (a->result != -ECANCELED || a->ends));
    return a->result != -ECANCELED;
}

static bool breaks_off(const struct end *e) { return e->c->fate == BROKEN && e->burst >= e->c->fate_at; }

// What is said of a connection that the peer has broken off.
static bool is_broken(ssize_t r) { return r == -ECONNABORTED || r == -ECONNRESET || r == -EPIPE || r == -EPROTO; }

// The form that is never cancelled, where the attempt is not to be.
static bool by_nc(const struct act *a) { return !a->cancels && !a->serves && a->how % 2; }

// ---- the handshake

static ssize_t run_handshake(struct act *a) {
    const struct end *e = a->object;
    if (e->number == 0)
        return by_nc(a) ? fin_tls_connect_nc(e->t, "localhost") : fin_tls_connect(e->t, "localhost");
    return by_nc(a) ? fin_tls_accept_nc(e->t) : fin_tls_accept(e->t);
}

static int run_handshake_on(struct act *a) {
    const struct end *e = a->object;
    return e->number == 0 ? fin_tls_connect_on(e->t, "localhost", &a->more_on, REST)
                          : fin_tls_accept_on(e->t, &a->more_on, REST);
}

static struct act *new_handshake(struct end *e) {
    struct act *a = new_act("handshake", e);
    a->run = run_handshake;
    a->run_on = run_handshake_on;
    a->how = chance(2);
    return a;
}

static void shakes(void *end) {
    struct end *e = end;
    struct act *a = new_handshake(e);
    char c;
    bool anything = false;
    while (!anything) {
        if (chance(8) == 0 && SSL_in_init(fin_tls_ssl(e->t)))
            HOLDS_OF(a, fin_tls_write(e->t, "x", 1) == -ENOTCONN && fin_tls_read(e->t, &c, 1) == -ENOTCONN);
        anything = try_act(a, e);
        if (!anything && chance(4) == 0)
            pause_here();
    }
    HOLDS_OF(a, a->result == 0 || (breaks_off(e) && is_broken(a->result)));
    HOLDS_OF(a, a->result != 0 || SSL_version(fin_tls_ssl(e->t)) == e->c->version);
}

// ---- writing

static void make_message(struct act *a, struct end *e, unsigned writer, size_t most) {
    size_t n = 1 + chance(chance(3) ? 100 : chance(3) ? 3000 : LARGEST);
    n = n < most ? n : most;
    a->size = n + HEADER;
    size_t taken = a->size < RECORD ? n : RECORD - HEADER;
    unsigned char *p = a->v[0].iov_base;
    p[0] = (unsigned char)writer;
    p[1] = (unsigned char)(taken % 256);
    p[2] = (unsigned char)(taken / 256);
    memcpy(p + HEADER, bytes_of(e, writer, e->sent[writer]), n);
}

static ssize_t run_write(struct act *a) {
    struct end *e = a->object;
    return by_nc(a) ? fin_tls_write_nc(e->t, a->v[0].iov_base, a->size) : fin_tls_write(e->t, a->v[0].iov_base, a->size);
}

static int run_write_on(struct act *a) {
    struct end *e = a->object;
    return fin_tls_write_on(e->t, a->v[0].iov_base, a->size, &a->more_on, REST);
}

static int flush_within(struct end *e, uint64_t ns) {
    int r = 0;
    if (calm[e->burst])
        return fin_tls_flush_nc(e->t);
    fin_timeout(ns) {
        r = fin_tls_flush(e->t);
    }
    return r;
}

// What is between writes.
static void does_more(struct end *e) {
    int r = 0;
    e->also = "between writes";
    SSL *ssl = fin_tls_ssl(e->t);
    switch (chance(e->c->version == TLS1_3_VERSION ? 6 : 3)) {
    case 0: r = flush_within(e, some_time()); break;
    case 1: pause_here(); break;
    case 2: r = (int)fin_tls_write(e->t, "", 0); break;
    case 3: SSL_key_update(ssl, chance(2) ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED); break;
    case 4: (void)(e->number && SSL_new_session_ticket(ssl)); break;
    default:
        if (e->number) {
            SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
            SSL_verify_client_post_handshake(ssl);
        }
    }
    ERR_clear_error(); // of what cannot be at the moment
    e->also = NULL;
    HOLDS(r == 0 || r == -ECANCELED || (breaks_off(e) && is_broken(r)));
}

static bool write_once(struct act *a, struct end *e, unsigned writer, size_t most) {
    unsigned char *message = malloc(HEADER + LARGEST);
    a->v[0].iov_base = message;
    make_message(a, e, writer, most);
    a->run = run_write;
    a->run_on = run_write_on;
    a->how = chance(2);
    bool anything;
    do { // the same again
        anything = try_act(a, e);
        if (!anything && chance(2))
            pause_here();
    } while (!anything);
    memset(message, 0xee, HEADER + LARGEST); // nobody looks at it any more
    free(message);
    if (a->result < 0) {
        HOLDS_OF(a, breaks_off(e) && is_broken(a->result));
        return false;
    }
    HOLDS_OF(a, a->result == (ssize_t)(a->size < RECORD ? a->size : RECORD));
    e->sent[writer] += (size_t)a->result - HEADER;
    return true;
}

// As much as it has promised; where the peer breaks off, until it hears of that.
static void writes(void *writer) {
    const struct writer *w = writer;
    struct end *e = w->e;
    struct act *a = new_act("write", e);
    size_t end = e->promised[e->burst][w->number];
    bool broken = breaks_off(e), goes_on = true;
    while (goes_on && (broken || e->sent[w->number] < end)) {
        goes_on = write_once(a, e, w->number, broken ? LARGEST : end - e->sent[w->number]);
        if (chance(3) == 0)
            does_more(e);
    }
    e->also = "flushes";
    int r = fin_tls_flush_nc(e->t);
    e->also = NULL;
    HOLDS_OF(a, broken || r == 0);
}

// ---- reading

static ssize_t run_read(struct act *a) {
    struct end *e = a->object;
    return by_nc(a) ? fin_tls_read_nc(e->t, a->data, a->size) : fin_tls_read(e->t, a->data, a->size);
}

static int run_read_on(struct act *a) {
    struct end *e = a->object;
    return fin_tls_read_on(e->t, a->data, a->size, &a->more_on, REST);
}

static const unsigned char *take_message(struct end *e, const struct act *a, const unsigned char *p, size_t n) {
    unsigned w = e->header[0];
    if (e->header_size < HEADER) {
        e->header[e->header_size++] = *p;
        e->rest = e->header[1] + e->header[2] * 256u;
        HOLDS_OF(a, e->header[0] < WRITERS && (e->header_size < HEADER || (e->rest > 0 && e->rest <= RECORD - HEADER)));
        return p + 1;
    }
    n = n < e->rest ? n : e->rest;
    HOLDS_OF(a, memcmp(p, bytes_of(e->peer, w, e->received[w]), n) == 0);
    e->received[w] += n;
    e->rest -= (unsigned)n;
    e->header_size = e->rest ? HEADER : 0;
    return p + n;
}

static void take_bytes(struct end *e, const struct act *a, const unsigned char *p, size_t size) {
    for (const unsigned char *end = p + size; p < end;)
        p = take_message(e, a, p, (size_t)(end - p));
    for (unsigned w = 0; w < WRITERS; w++)
        HOLDS_OF(a, breaks_off(e) || e->received[w] <= e->peer->promised[e->burst][w]);
}

static bool has_all(const struct end *e) {
    return e->header_size == 0 && memcmp(e->received, e->peer->promised[e->burst], sizeof e->received) == 0;
}

// Has the peer said that this was all, or does it in this burst?
static bool expects_end_in(const struct end *e, unsigned burst) {
    const struct connection *c = e->c;
    return c->fate != BROKEN && (burst == BURSTS || (burst >= c->fate_at && e->number != c->striker));
}

static bool expects_end(const struct end *e) { return expects_end_in(e, e->burst); }

static bool is_done(const struct end *e) {
    return breaks_off(e) ? e->told_end : has_all(e) && (e->told_end || !expects_end(e));
}

static void note_done(struct end *e) {
    uint64_t n = fin_event_read(&e->has_read);
    if (is_done(e) && n < e->burst)
        fin_event_advance(&e->has_read, e->burst - n);
}

static void has_read(struct act *a) {
    struct end *e = a->object;
    ssize_t n = a->result;
    if (n == -ECANCELED)
        return;
    HOLDS_OF(a, n <= (ssize_t)a->size);
    if (n > 0)
        take_bytes(e, a, a->data, (size_t)n);
    else if (n == 0)
        HOLDS_OF(a, has_all(e) && expects_end(e));
    else
        HOLDS_OF(a, breaks_off(e) && is_broken(n));
    e->told_end = n <= 0;
    note_done(e);
}

static struct act *new_read(struct end *e) {
    struct act *a = new_act("read", e);
    a->run = run_read;
    a->run_on = run_read_on;
    a->heard = has_read;
    a->serves = true;
    return a;
}

static void reads(void *act) {
    struct act *a = act;
    struct end *e = a->object;
    while (!e->quits && !e->told_end) {
        a->size = 1 + chance(chance(3) ? MOST : chance(2) ? 10 : 500);
        a->how = chance(2);
        a->serves = e->readers[1] || breaks_off(e) || has_all(e); // or something is to come
        if (chance(20) == 0)
            HOLDS_OF(a, fin_tls_read(e->t, a->data, 0) == 0);
        if (!try_act(a, e) && chance(3) == 0)
            pause_here();
    }
}

// A read that is cancelled soon, and may have been told something by then.
static void peeks(struct end *e, struct act *a) {
    a->size = 1 + chance(500);
    if (is_done(e))
        return;
    fin_finish {
        START(a);
        pause_here();
        fin_cancel();
    }
}

// Until all is there, and the other end has nothing to write in this burst, such as tickets.
static void read_all(struct end *e) {
    e->quits = false;
    for (int i = 0; i < 2; i++)
        e->readers[i] = i == 0 || chance(3) == 0 ? new_read(e) : NULL;
    note_done(e);
    fin_finish {
        for (int i = 0; i < 2; i++)
            if (e->readers[i])
                fin_async_call(reads, e->readers[i]);
        if (!breaks_off(e)) {
            fin_event_await_nc(&e->peer->wrote, e->burst);
            fin_event_await_nc(&e->has_read, e->burst);
            e->quits = true;
            for (int i = 0; i < 2; i++)
                if (e->readers[i])
                    e->readers[i]->ends = true;
            fin_cancel();
        }
    }
    HOLDS_OF(e->readers[0], is_done(e));
}

// ---- the ends

static ssize_t run_shutdown(struct act *a) {
    struct end *e = a->object;
    return by_nc(a) ? fin_tls_shutdown_nc(e->t) : fin_tls_shutdown(e->t);
}

static int run_shutdown_on(struct act *a) {
    struct end *e = a->object;
    return fin_tls_shutdown_on(e->t, &a->more_on, REST);
}

static void says_all(void *end) {
    struct end *e = end;
    struct act *a = new_act("shutdown", e);
    char c = 0;
    a->run = run_shutdown;
    a->run_on = run_shutdown_on;
    a->how = chance(2);
    for (unsigned n = 1 + chance(2); n; n--) {
        while (!try_act(a, e)) {
        }
        HOLDS_OF(a, a->result == 0);
    }
    e->also = "writes after its end";
    HOLDS_OF(a, (chance(2) || fin_tls_flush_nc(e->t) == 0) && fin_tls_write_nc(e->t, &c, 1) == -EPIPE);
    e->also = NULL;
    if (chance(3) == 0)
        shutdown(e->fd, SHUT_WR);
}

// Without a word, or with some that are no TLS.
static void breaks(struct end *e) {
    unsigned char garbage[500];
    if (chance(2))
        pause_here();
    for (unsigned i = 0; i < sizeof garbage; i++)
        garbage[i] = (unsigned char)chance(256);
    if (chance(3) == 0)
        send(e->fd, garbage, 1 + chance(sizeof garbage), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (chance(3) == 0)
        shutdown(e->fd, chance(2) ? SHUT_RDWR : SHUT_WR);
    if (chance(3) == 0)
        setsockopt(e->fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    fin_tls_free(e->t);
    e->t = NULL;
    HOLDS((chance(2) ? close(e->fd) : fin_close_nc(e->fd)) == 0);
}

// Its errors are final.
static void stays_broken(struct end *e) {
    char c = 0;
    if (e->burst == 1 && SSL_in_init(fin_tls_ssl(e->t)))
        return;
    HOLDS(fin_tls_read(e->t, &c, 1) < 0 && fin_tls_write(e->t, &c, 1) < 0 && fin_tls_shutdown(e->t) < 0);
}

#endif
