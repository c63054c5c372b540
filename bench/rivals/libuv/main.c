// SPDX-License-Identifier: BSD-2-Clause
// The quote server, the hello server and the echo server in libuv's callbacks.
#include <uv.h>

#include "../rival.h"

enum { BUFFER = 1024 };

struct client {
    uv_tcp_t tcp;
    uv_timer_t timer;
    uv_write_t write;
    struct quote quote;
    uint8_t seen;
    int handles; // that are open
    char buffer[BUFFER];
};

static uv_connection_cb on_connection;
static uv_read_cb on_read;
static bool echoing;

static void on_closed(uv_handle_t *h) {
    struct client *c = h->data;
    if (--c->handles == 0)
        free(c);
}

static void end(struct client *c) {
    if (uv_is_closing((uv_handle_t *)&c->tcp))
        return;
    uv_close((uv_handle_t *)&c->tcp, on_closed);
    if (c->handles == 2)
        uv_close((uv_handle_t *)&c->timer, on_closed);
}

static void allocate_buffer(uv_handle_t *h, size_t size, uv_buf_t *buffer) {
    struct client *c = h->data;
    (void)size;
    *buffer = uv_buf_init(c->buffer, BUFFER);
}

static struct client *accept_client(uv_stream_t *listener, int handles) {
    struct client *c = allocate(sizeof *c);
    c->handles = 1;
    uv_tcp_init(listener->loop, &c->tcp);
    c->tcp.data = c;
    if (handles == 2) {
        uv_timer_init(listener->loop, &c->timer);
        c->timer.data = c;
        c->handles = 2;
    }
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0)
        end(c);
    else
        uv_read_start((uv_stream_t *)&c->tcp, allocate_buffer, on_read);
    return c;
}

// ---- quotes

static void send_quote(uv_timer_t *t);

static void wait_for_next(struct client *c) {
    next_quote(&c->quote, quote_period());
    uint64_t now = uv_hrtime();
    uv_timer_start(&c->timer, send_quote, c->quote.due > now ? (c->quote.due - now) / 1000000 : 0, 0);
}

static void on_quote_sent(uv_write_t *w, int status) {
    if (status != 0)
        end(w->handle->data);
    else
        wait_for_next(w->handle->data);
}

static void send_quote(uv_timer_t *t) {
    struct client *c = t->data;
    uv_buf_t data = uv_buf_init((char *)&c->quote, sizeof c->quote);
    int sent = uv_try_write((uv_stream_t *)&c->tcp, &data, 1);
    if (sent == sizeof c->quote) {
        wait_for_next(c);
        return;
    }
    data.base += sent > 0 ? sent : 0;
    data.len -= sent > 0 ? (size_t)sent : 0;
    uv_write(&c->write, (uv_stream_t *)&c->tcp, &data, 1, on_quote_sent);
}

static void on_subscription(uv_stream_t *s, ssize_t n, const uv_buf_t *buffer) {
    struct client *c = s->data;
    if (n == 0)
        return;
    if (n != sizeof c->quote.price || c->quote.due) {
        end(c);
        return;
    }
    memcpy(&c->quote.price, buffer->base, sizeof c->quote.price);
    c->quote.due = uv_hrtime();
    send_quote(&c->timer);
}

static void on_quote_client(uv_stream_t *listener, int status) {
    if (status == 0)
        accept_client(listener, 2);
}

// ---- hello and echo: reading stops while an answer leaves, for that may be the buffer

static void on_sent(uv_write_t *w, int status) {
    struct client *c = w->handle->data;
    if (status != 0)
        end(c);
    else
        uv_read_start((uv_stream_t *)&c->tcp, allocate_buffer, on_read);
}

static void on_request(uv_stream_t *s, ssize_t n, const uv_buf_t *buffer) {
    struct client *c = s->data;
    if (n < 0) {
        end(c);
        return;
    }
    uv_buf_t data = uv_buf_init(buffer->base, (unsigned)n);
    if (!echoing) {
        unsigned requests = requests_in(buffer->base, (size_t)n, &c->seen);
        if (requests > MOST_PIPELINED) {
            end(c);
            return;
        }
        data = uv_buf_init((char *)hellos(), requests * HELLO_SIZE);
    }
    if (data.len == 0)
        return;
    int sent = uv_try_write(s, &data, 1);
    if (sent == (int)data.len)
        return;
    data.base += sent > 0 ? sent : 0;
    data.len -= sent > 0 ? (size_t)sent : 0;
    uv_read_stop(s);
    uv_write(&c->write, s, &data, 1, on_sent);
}

static void on_client(uv_stream_t *listener, int status) {
    if (status == 0)
        accept_client(listener, 1);
}

int main(int argc, char **argv) {
    static uv_tcp_t listener;
    if (argc != 3) {
        fprintf(stderr, "usage: %s quotes|http|echo PORT\n", argv[0]);
        return 2;
    }
    bool quotes = strcmp(argv[1], "quotes") == 0;
    on_connection = quotes ? on_quote_client : on_client;
    on_read = quotes ? on_subscription : on_request;
    echoing = strcmp(argv[1], "echo") == 0;
    uv_loop_t *loop = uv_default_loop();
    uv_tcp_init(loop, &listener);
    if (uv_tcp_open(&listener, rival_listen(argv[2])) != 0 || uv_listen((uv_stream_t *)&listener, 4096, on_connection) != 0)
        die("libuv");
    return uv_run(loop, UV_RUN_DEFAULT);
}
