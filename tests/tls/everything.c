// SPDX-License-Identifier: BSD-2-Clause
// TLS connections between AWEs of several threads, of which each end is another thread's from burst to burst: handshakes,
// reads, writes and ends in blocks that are cancelled at random, and bursts in which nothing is cancelled and no timer runs:
// so what is not told hangs. What a cancelled call says it has not done must not have been done, and what it says it has
// must come, each byte once.
// FIN_SEED=n FIN_ROUNDS=n in the environment: others, and more.
#define _GNU_SOURCE
#include "everything.h"

#include <netinet/tcp.h>

static struct fin_event here; // threads that have come to the end of a burst
static struct certificate certificate;
static SSL_CTX *contexts[2];
static SSL_SESSION *sessions[2]; // of TLS 1.2 and 1.3, that the next connections may go on with
static unsigned resumed, shaken;

// ---- who passes on what comes, in pieces

struct passing {
    int from, to;
    unsigned piece;
};

static void passes(void *passing) {
    struct passing *p = passing;
    char data[4096];
    ssize_t n, sent = 0;
    while (sent >= 0 && (n = fin_recv_nc(p->from, data, 1 + chance(p->piece), 0)) > 0) {
        for (ssize_t at = 0; at < n && sent >= 0; at += sent)
            sent = fin_send_nc(p->to, data + at, (size_t)(n - at), 0);
        if (chance(4) == 0)
            fin_yield();
    }
    if (sent < 0 || n < 0)
        shutdown(p->from, SHUT_RDWR);
    shutdown(p->to, sent < 0 || n < 0 ? SHUT_RDWR : SHUT_WR);
}

static void passes_on(void *connection) {
    struct connection *c = connection;
    struct passing ways[2];
    fin_finish {
        for (int i = 0; i < 2; i++) {
            ways[i] = (struct passing){c->through[i], c->through[1 - i], c->piece};
            fin_async_call(passes, &ways[i]);
        }
    }
    close(c->through[0]);
    close(c->through[1]);
}

// ---- a burst

static bool writes_in(const struct end *e, unsigned burst) {
    const struct connection *c = e->c;
    return burst >= 1 && burst < BURSTS && (burst < c->fate_at || (c->fate == HALF && e->number != c->striker));
}

static bool ends_in(const struct end *e, unsigned burst) {
    const struct connection *c = e->c;
    if (c->fate == HALF)
        return burst == (e->number == c->striker ? c->fate_at : BURSTS);
    return c->fate == CLEAN && burst == BURSTS;
}

// The one that does not break off.
static void meets_break(struct end *e) {
    if (e->burst == 0) {
        shakes(e);
        return;
    }
    fin_finish {
        if (chance(2))
            fin_async_call(writes, &e->writers[chance(WRITERS)]);
        read_all(e);
    }
}

static void shakes_and_breaks(struct end *e) {
    if (e->burst == 0 && chance(2)) {
        fin_timeout(some_time()) {
            fin_tls_flush(e->t);
            run_handshake(new_handshake(e));
        }
    }
    breaks(e);
}

static void writes_all(void *end) {
    struct end *e = end;
    fin_finish {
        if (writes_in(e, e->burst))
            for (unsigned w = 0; w < WRITERS; w++)
                if (e->promised[e->burst][w] > e->sent[w])
                    fin_async_call(writes, &e->writers[w]);
        if (ends_in(e, e->burst))
            fin_async_call(says_all, e);
    }
    if (e->number && e->c->version == TLS1_3_VERSION && writes_in(e, e->burst) && chance(3) == 0) {
        e->also = "writes a ticket";
        HOLDS(SSL_new_session_ticket(fin_tls_ssl(e->t)) != 1 || fin_tls_write_nc(e->t, "", 0) == 0);
        e->also = NULL;
    }
    ERR_clear_error();
    fin_event_advance(&e->wrote, 1);
}

// Nobody stays in a read while it writes.
static void reads_late(struct end *e) {
    struct act *a = new_read(e);
    while (fin_event_read(&e->wrote) < e->burst) {
        if (!calm[e->burst])
            peeks(e, a);
        fin_yield();
    }
    read_all(e);
}

static void talks(struct end *e) {
    fin_finish {
        switch (e->order[e->burst]) {
        case ANSWERS:
            read_all(e);
            writes_all(e);
            break;
        case READS_LATE:
            fin_async_call(writes_all, e);
            reads_late(e);
            break;
        default:
            fin_async_call(writes_all, e);
            if (chance(2))
                pause_here();
            read_all(e);
        }
    }
}

static void acts_in_burst(void *end) {
    struct end *e = end;
    const struct connection *c = e->c;
    bool breaks_now = c->fate == BROKEN && e->burst == c->fate_at;
    if (breaks_now && e->number == c->striker) {
        shakes_and_breaks(e);
    } else if (breaks_now) {
        meets_break(e);
    } else if (breaks_off(e)) {
        if (e->t)
            stays_broken(e);
    } else if (e->burst == 0) {
        fin_finish {
            if (chance(4) == 0)
                fin_async_call(shakes, e);
            shakes(e);
        }
    } else {
        talks(e);
    }
}

static void burst(int me, unsigned n) {
    fin_finish {
        for (unsigned i = 0; i < 2 * connection_count; i++) {
            struct end *e = &connections[i / 2].ends[i % 2];
            if (e->thread[n] != me)
                continue;
            e->burst = n;
            fin_async_call(acts_in_burst, e);
        }
    }
}

static void thread(void *number) {
    int me = (int)(intptr_t)number;
    own_seed = seed * 977 + (unsigned)me * 7919;
    fin_finish {
        for (unsigned i = 0; i < connection_count; i++)
            if (connections[i].thread == me && connections[i].through[0] >= 0)
                fin_async_call(passes_on, &connections[i]);
        for (unsigned n = 0; n <= BURSTS; n++) {
            burst(me, n);
            fin_event_advance(&here, 1);
            fin_event_await_nc(&here, (n + 1) * thread_count);
        }
        for (unsigned i = (unsigned)me; i < 2 * connection_count; i += thread_count) {
            struct end *e = &connections[i / 2].ends[i % 2];
            if (e->t)
                shutdown(e->fd, SHUT_RDWR); // for those who pass on
        }
    }
}

// ---- the world

// Tickets of which some are so large that they come in several records, before which OpenSSL takes nothing to write.
static int fills_ticket(SSL *ssl, void *unused) {
    static char data[3000];
    (void)unused;
    size_t size = chance(2) ? 0 : chance(sizeof data);
    return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), data, size);
}

static SSL_TICKET_RETURN takes_ticket(SSL *ssl, SSL_SESSION *s, const unsigned char *name, size_t size,
                                      SSL_TICKET_STATUS status, void *unused) {
    (void)ssl, (void)s, (void)name, (void)size, (void)unused;
    bool good = status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW;
    return good ? SSL_TICKET_RETURN_USE_RENEW : SSL_TICKET_RETURN_IGNORE_RENEW;
}

static void make_pair(int fd[2]) {
    int small = 4096;
    bool is_tcp = chance(3) == 0;
    if (!is_tcp) {
        stream_pair(fd);
    } else {
        struct sockaddr_in address;
        int listener = tcp_listen(&address, 1);
        fd[0] = tcp_connect(&address);
        fd[1] = accept(listener, NULL, NULL);
        HOLDS(fd[1] >= 0 && close(listener) == 0);
    }
    for (int i = 0; i < 2; i++) {
        setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        if (chance(is_tcp ? 8 : 2) == 0)
            setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
        if (chance(3) == 0)
            fcntl(fd[i], F_SETFL, O_NONBLOCK);
    }
}

static void make_sockets(struct connection *c) {
    int there[2], back[2];
    make_pair(there);
    c->ends[0].fd = there[0];
    c->ends[1].fd = there[1];
    c->through[0] = c->through[1] = -1;
    if (chance(3))
        return;
    make_pair(back);
    c->through[0] = there[1];
    c->through[1] = back[0];
    c->ends[1].fd = back[1];
    c->piece = chance(2) ? 1 + chance(30) : 4096;
    c->thread = (int)chance(thread_count);
}

static void make_promises(struct end *e) {
    for (unsigned n = 0; n <= BURSTS; n++) {
        for (unsigned w = 0; w < WRITERS; w++) {
            e->promised[n][w] = n ? e->promised[n - 1][w] : 0;
            if (writes_in(e, n) && chance(3))
                e->promised[n][w] += e->c->piece && e->c->piece < 40 ? chance(2000) : chance(chance(2) ? 6000 : 2 * LARGEST);
        }
    }
}

// What waits for the other end must not be both.
static void make_orders(struct connection *c) {
    for (unsigned n = 0; n <= BURSTS; n++) {
        int first = (int)chance(2);
        c->ends[first].order[n] = chance(3) ? AT_ONCE : ANSWERS;
        c->ends[1 - first].order[n] = chance(3) ? AT_ONCE : READS_LATE;
    }
}

static void offer_session(struct connection *c) {
    SSL_SESSION *s = sessions[c->version == TLS1_3_VERSION];
    c->offered = s && chance(2);
    if (c->offered)
        HOLDS(SSL_set_session(fin_tls_ssl(c->ends[0].t), s) == 1);
}

static void open_connection(struct connection *c) {
    memset(c, 0, sizeof *c);
    c->fate = (enum fate)chance(3);
    c->fate_at = c->fate == CLEAN ? BURSTS : c->fate == HALF ? 1 + chance(BURSTS - 1) : chance(BURSTS);
    c->striker = (int)chance(2);
    c->version = chance(3) ? TLS1_3_VERSION : TLS1_2_VERSION;
    make_sockets(c);
    for (int i = 0; i < 2; i++) {
        struct end *e = &c->ends[i];
        e->c = c;
        e->peer = &c->ends[1 - i];
        e->number = i;
        fin_event_init(&e->wrote);
        fin_event_init(&e->has_read);
        bool moves = chance(2);
        for (unsigned n = 0; n <= BURSTS; n++)
            e->thread[n] = n == 0 || moves ? (int)chance(thread_count) : e->thread[0];
        for (unsigned w = 0; w < WRITERS; w++)
            e->writers[w] = (struct writer){e, w};
        make_promises(e);
        HOLDS(fin_tls_new(&e->t, contexts[i], e->fd) == 0);
        if (chance(2))
            HOLDS(SSL_set_max_send_fragment(fin_tls_ssl(e->t), 512 + chance(2000)) == 1);
    }
    make_orders(c);
    SSL *client = fin_tls_ssl(c->ends[0].t);
    HOLDS(SSL_set_min_proto_version(client, c->version) == 1 && SSL_set_max_proto_version(client, c->version) == 1);
    offer_session(c);
}

static void keep_session(struct connection *c) {
    SSL *client = fin_tls_ssl(c->ends[0].t);
    SSL_SESSION *s = SSL_get1_session(client), **kept = &sessions[c->version == TLS1_3_VERSION];
    shaken += c->offered;
    resumed += c->offered && SSL_session_reused(client);
    if (s && SSL_SESSION_is_resumable(s)) {
        SSL_SESSION_free(*kept);
        *kept = s;
    } else {
        SSL_SESSION_free(s);
    }
}

static void close_connection(struct connection *c) {
    if (c->fate != BROKEN)
        keep_session(c);
    for (int i = 0; i < 2; i++) {
        struct end *e = &c->ends[i];
        if (!e->t)
            continue;
        fin_tls_free(e->t);
        HOLDS(close(e->fd) == 0);
    }
}

static void one_round(void) {
    own_seed = seed * 2654435761u;
    next_random(&own_seed);
    thread_count = 1 + chance(THREADS);
    connection_count = 1 + chance(CONNECTIONS);
    for (unsigned n = 0; n <= BURSTS; n++)
        calm[n] = chance(2);
    fin_event_init(&here);
    for (unsigned i = 0; i < connection_count; i++)
        open_connection(&connections[i]);
    on_all_threads(thread);
    for (unsigned i = 0; i < connection_count; i++)
        close_connection(&connections[i]);
    free_acts();
}

static void show_end(const struct end *e) {
    const size_t *promised = e->promised[e->burst];
    fprintf(stderr, "  end %d: fd %d burst %u%s, order %d, promised %zu %zu sent %zu %zu", e->number, e->fd, e->burst,
            calm[e->burst] ? ", calm" : "", (int)e->order[e->burst], promised[0], promised[1], e->sent[0], e->sent[1]);
    fprintf(stderr, " received %zu %zu%s%s%s\n", e->received[0], e->received[1], e->told_end ? ", end" : "",
            e->also ? ", " : "", e->also ? e->also : "");
}

static void hangs(int unused) {
    (void)unused;
    fprintf(stderr, "hangs: FIN_SEED=%u FIN_ROUNDS=1; %u threads, %d at the end of a burst, %s\n", seed, thread_count,
            (int)here.count, fin_io_backend());
    for (unsigned i = 0; i < connection_count; i++) {
        const struct connection *c = &connections[i];
        fprintf(stderr, "connection %u: fate %d in burst %u of end %d, TLS %x, pieces %u\n", i, (int)c->fate, c->fate_at,
                c->striker, (unsigned)c->version, c->piece);
        show_end(&c->ends[0]);
        show_end(&c->ends[1]);
    }
    for (int i = 0; i < act_count && i < ACTS; i++)
        if (acts[i] && acts[i]->waits)
            show(acts[i]);
    abort();
}

int main(void) {
    CHECK(certificate_make(&certificate));
    contexts[0] = client_context(&certificate);
    contexts[1] = server_context(&certificate);
    SSL_CTX_use_certificate(contexts[0], certificate.x509); // which the server may ask for between data
    SSL_CTX_use_PrivateKey(contexts[0], certificate.key);
    SSL_CTX_set_post_handshake_auth(contexts[0], 1);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(contexts[1]), certificate.x509);
    SSL_CTX_set_session_id_context(contexts[1], (const unsigned char *)"fin", 3);
    CHECK_EQ(SSL_CTX_set_session_ticket_cb(contexts[1], fills_ticket, takes_ticket, NULL), 1);
    make_bytes();
    unsigned rounds = run_rounds(40, 3, 30, one_round, hangs);
    if (getenv("FIN_SHOW"))
        printf("%u of %u sessions went on\n", resumed, shaken);
    CHECK(rounds < 40 || resumed > 0);
    for (int i = 0; i < 2; i++) {
        SSL_SESSION_free(sessions[i]);
        SSL_CTX_free(contexts[i]);
    }
    certificate_free(&certificate);
    return 0;
}
