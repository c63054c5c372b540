// SPDX-License-Identifier: BSD-2-Clause
// For everything.c: streams, of which one AWE sends and one receives, so that the order of the bytes is known.
#ifndef FIN_TESTS_IO_EVERYTHING_STREAMS_H
#define FIN_TESTS_IO_EVERYTHING_STREAMS_H

#include "everything.h"

enum { STREAMS = 8, LARGEST = 40000 };

struct stream {
    char kind;            // 's': a Unix socket, 't': TCP, 'p': a pipe
    int fd[2], thread[2]; // of who receives, and of who sends
    int file[2];          // registered numbers, or -1
    unsigned from;        // where it begins in the pattern
    _Atomic size_t promised;
    _Atomic bool ends; // no more is promised
    size_t received, sent;
    struct fin_event heard;
    struct fin_receiver *receiver;
    struct act *receives, *sends;
    struct stream *back; // the other direction of its socket
};

static struct stream streams[STREAMS];
static unsigned stream_count;

static void open_ends(struct stream *s) {
    if (s->back) {
        s->fd[0] = s->back->fd[1];
        s->fd[1] = s->back->fd[0];
    } else if (s->kind == 'p') {
        CHECK_EQ(pipe(s->fd), 0);
        fcntl(s->fd[1], F_SETPIPE_SZ, 4096);
    } else if (s->kind == 's') {
        int small = 4096;
        stream_pair(s->fd);
        setsockopt(s->fd[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    } else {
        struct sockaddr_in address;
        int small = 4096, listener = tcp_listen(&address, 1);
        s->fd[1] = tcp_connect(&address);
        s->fd[0] = accept(listener, NULL, NULL);
        if (chance(2))
            setsockopt(s->fd[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
        close(listener);
    }
}

// Every other one may be the way back of the one before it.
static void open_stream(struct stream *s) {
    static const char kinds[] = "sspptt";
    unsigned i = (unsigned)(s - streams);
    struct stream *back = i % 2 && s[-1].kind != 'p' && chance(2) ? s - 1 : NULL;
    *s = (struct stream){
        .kind = back ? back->kind : kinds[chance(6)], .file = {-1, -1}, .from = i * 5000, .back = back};
    if (back)
        back->back = s;
    fin_event_init(&s->heard);
    open_ends(s);
    for (int side = 0; side < 2; side++) {
        s->thread[side] = back && chance(2) ? back->thread[1 - side] : (int)chance(thread_count);
        if (chance(3) == 0)
            fcntl(s->fd[side], F_SETFL, O_NONBLOCK);
    }
    s->receives = new_act("receive", s);
    s->receives->serves = true;
    s->sends = new_act("send", s);
}

static void turn_number(struct stream *s, int side) {
    if (s->file[side] >= 0) {
        HOLDS(fin_file_unregister(s->file[side]) == 0);
        s->file[side] = -1;
    } else {
        s->file[side] = fin_file_register(s->fd[side]);
        HOLDS(s->file[side] >= 0);
    }
}

static void in_two(struct act *a, unsigned char *p) {
    size_t half = a->size / 2 + a->size % 2;
    a->v[0] = (struct iovec){p, half};
    a->v[1] = (struct iovec){p + half, a->size - half};
    a->m = (struct msghdr){.msg_iov = a->v, .msg_iovlen = 2};
}

// Two steps of a half each.
static ssize_t linked(struct act *a, struct fin_step s[2]) {
    int good = fin_linked(s, 2);
    a->counts = true;
    a->moved = 0;
    for (int i = 0; i < 2; i++)
        a->moved += s[i].result > 0 ? (size_t)s[i].result : 0;
    HOLDS_OF(a, s[1].result == -ECANCELED || s[0].result == (ssize_t)a->v[0].iov_len);
    HOLDS_OF(a, good >= 0 || (a->moved == 0 && s[0].result == -ECANCELED));
    return good < 0 ? good : good < 2 && s[good].result < 0 ? s[good].result : (ssize_t)a->moved;
}

// ---- sending

static unsigned char *next_to_send(const struct stream *s) { return pattern + s->from + s->sent; }

static ssize_t send_linked(struct act *a, bool writes) {
    struct fin_step s[2];
    for (int i = 0; i < 2; i++)
        s[i] = writes ? fin_step_write(a->fd, a->v[i].iov_base, a->v[i].iov_len)
                      : fin_step_send(a->fd, a->v[i].iov_base, a->v[i].iov_len, 0);
    return linked(a, s);
}

static ssize_t send_by_pipe(struct act *a) {
    struct stream *s = a->object;
    int p[2];
    HOLDS(pipe(p) == 0 && write(p[1], next_to_send(s), a->size) == (ssize_t)a->size);
    ssize_t n = fin_splice(p[0], NULL, s->fd[1], NULL, a->size, 0);
    close(p[0]);
    close(p[1]);
    return n;
}

// Another may unregister it; what has begun goes on.
static void note_number(struct act *a, int side) {
    struct stream *s = a->object;
    a->forgotten = a->fd != s->fd[side] && a->fd != s->file[side];
}

static bool is_forgotten(const struct act *a) { return a->forgotten && a->result == -EBADF && a->moved == 0; }

static void forgets_number(void *stream) {
    struct stream *s = stream;
    pause_here();
    for (int side = 0; side < 2; side++)
        if (s->thread[side] == own.number && s->file[side] >= 0)
            turn_number(s, side);
}

static ssize_t run_send(struct act *a) {
    struct stream *s = a->object;
    note_number(a, 1);
    unsigned char *p = next_to_send(s);
    off_t at = (off_t)(s->from + s->sent);
    switch (a->how) {
    case 0: return fin_write(a->fd, p, a->size);
    case 1: return fin_writev(a->fd, a->v, 2);
    case 2: a->counts = true; return fin_write_all(a->fd, p, a->size, &a->moved);
    case 3: return send_linked(a, true);
    case 4: return fin_sendfile(s->fd[1], pattern_file, &at, a->size);
    case 5: return send_by_pipe(a);
    case 6: return fin_send(a->fd, p, a->size, 0);
    case 7: return fin_sendmsg(a->fd, &a->m, 0);
    case 8: a->counts = true; return fin_send_all(a->fd, p, a->size, 0, &a->moved);
    case 9: return send_linked(a, false);
    case 10: return fin_send_zc(a->fd, p, a->size, 0);
    case 11: return fin_sendmsg_zc(a->fd, &a->m, 0);
    case 12: return fin_send(a->fd, p, a->size, MSG_WAITALL);
    case 13: return fin_send(a->fd, p, a->size, MSG_DONTWAIT);
    case 14: return fin_sendto(a->fd, p, a->size, 0, NULL, 0);
    default: return fin_sendmsg(a->fd, &a->m, MSG_WAITALL);
    }
}

static int run_send_on(struct act *a) {
    note_number(a, 1);
    unsigned char *p = next_to_send(a->object);
    switch (a->how) {
    case 0: return fin_write_on(&a->on, a->fd, p, a->size, REST);
    case 1: return fin_writev_on(&a->on, a->fd, a->v, 2, REST);
    case 2:
    case 3:
    case 4:
    case 5: a->counts = true; return fin_write_all_on(&a->more_on, a->fd, p, a->size, &a->moved, REST);
    case 6: return fin_send_on(&a->on, a->fd, p, a->size, 0, REST);
    case 7: return fin_sendmsg_on(&a->more_on, a->fd, &a->m, 0, REST);
    case 8: a->counts = true; return fin_send_all_on(&a->more_on, a->fd, p, a->size, 0, &a->moved, REST);
    case 9:
    case 10: return fin_send_at_on(&a->on, fin_now() + chance(100000), a->fd, p, a->size, 0, REST);
    case 13: return fin_send_on(&a->on, a->fd, p, a->size, MSG_DONTWAIT, REST);
    case 14: return fin_sendto_on(&a->more_on, a->fd, p, a->size, 0, NULL, 0, REST);
    default: return fin_send_on(&a->on, a->fd, p, a->size, a->how % 2 ? MSG_WAITALL : 0, REST);
    }
}

static void send_once(struct stream *s, size_t most) {
    struct act *a = s->sends;
    a->size = 2 + chance(chance(3) ? 100 : chance(3) ? 3000 : LARGEST);
    a->size = a->size < most ? a->size : most;
    a->how = chance(s->kind == 'p' ? 6 : 16);
    a->size = a->how == 5 && a->size > 4096 ? 4096 : a->size;
    if (a->size < 2 && (a->how == 3 || a->how == 9))
        a->how = 0;
    in_two(a, next_to_send(s));
    a->fd = s->file[1] >= 0 && chance(2) ? s->file[1] : s->fd[1];
    a->run = run_send;
    a->run_on = run_send_on;
    bool anything = attempt(a);
    HOLDS_OF(a, a->moved <= a->size);
    bool once = (a->how == 13 && a->result == -EAGAIN) || is_forgotten(a);
    HOLDS_OF(a, a->result >= 0 || a->result == -ECANCELED || once);
    HOLDS_OF(a, a->moved > 0 || !anything || once);
    s->sent += a->moved;
    if (a->result == -EAGAIN)
        HOLDS(fin_poll_nc(s->fd[1], POLLOUT) > 0);
}

// Sends what it has promised, and waits without a timer until that is there.
static void sends(void *stream) {
    struct stream *s = stream;
    size_t total = chance(4) ? 1 + chance(6000) : 1 + chance(LARGEST);
    s->promised += total;
    size_t end = s->promised;
    if (chance(6) == 0)
        turn_number(s, 1);
    while (s->sent < end) {
        send_once(s, end - s->sent);
        if (chance(3) == 0)
            pause_here();
    }
    await(&s->heard, end);
}

static void end_stream(struct stream *s) {
    if (s->file[1] >= 0)
        turn_number(s, 1);
    size_t rest = chance(2) ? chance(50) : 0;
    s->promised += rest;
    s->ends = true;
    while (s->sent < s->promised)
        send_once(s, s->promised - s->sent);
    if (s->back || (s->kind != 'p' && chance(2)))
        HOLDS((chance(2) ? fin_shutdown_nc(s->fd[1], SHUT_WR) : shutdown(s->fd[1], SHUT_WR)) == 0);
    else
        HOLDS(fin_close_nc(s->fd[1]) == 0), s->fd[1] = -1;
    fin_event_await_nc(&s->heard, s->sent + 1); // its end
    if (s->fd[1] >= 0 && !s->back)
        close(s->fd[1]);
}

// ---- receiving

static ssize_t receive_linked(struct act *a, bool reads) {
    struct fin_step s[2];
    for (int i = 0; i < 2; i++)
        s[i] = reads ? fin_step_read(a->fd, a->v[i].iov_base, a->v[i].iov_len)
                     : fin_step_recv(a->fd, a->v[i].iov_base, a->v[i].iov_len, MSG_WAITALL);
    return linked(a, s);
}

static ssize_t receive_by_pipe(struct act *a) {
    struct stream *s = a->object;
    int p[2];
    HOLDS(pipe(p) == 0);
    ssize_t n = fin_splice(s->fd[0], NULL, p[1], NULL, a->size, 0);
    HOLDS_OF(a, n <= 0 || read(p[0], a->data, a->size) == n);
    close(p[0]);
    close(p[1]);
    return n;
}

static ssize_t poll_first(struct act *a) {
    struct stream *s = a->object;
    ssize_t n = fin_poll(a->fd, POLLIN);
    HOLDS_OF(a, n == -ECANCELED || n > 0 || a->forgotten);
    return n < 0 ? n : fin_recv_nc(s->fd[0], a->data, a->size, MSG_DONTWAIT);
}

static ssize_t run_receive(struct act *a) {
    struct stream *s = a->object;
    note_number(a, 0);
    if (s->receiver)
        return fin_receiver_next(s->receiver, &a->piece);
    switch (a->how) {
    case 0: return fin_read(a->fd, a->data, a->size);
    case 1: return fin_readv(a->fd, a->v, 2);
    case 2: a->counts = true; return fin_read_all(a->fd, a->data, a->size, &a->moved);
    case 3: return receive_linked(a, true);
    case 4: return receive_by_pipe(a);
    case 5: return fin_recv(a->fd, a->data, a->size, 0);
    case 6: return fin_recvmsg(a->fd, &a->m, 0);
    case 7: a->counts = true; return fin_recv_all(a->fd, a->data, a->size, 0, &a->moved);
    case 8: return receive_linked(a, false);
    case 9: return fin_recv(a->fd, a->data, a->size, MSG_WAITALL);
    case 10: return fin_recvmsg(a->fd, &a->m, MSG_WAITALL);
    case 11: return fin_recv(a->fd, a->data, a->size, MSG_DONTWAIT);
    case 12: return fin_buffers_recv(own.pool, s->fd[0], &a->piece, 0);
    case 13: return fin_buffers_recv(own.pool, s->fd[0], &a->piece, MSG_DONTWAIT);
    case 14: return poll_first(a);
    case 15: return fin_recvfrom(a->fd, a->data, a->size, 0, NULL, NULL);
    default: return fin_buffers_recv(own.pool, s->fd[0], &a->piece, 0);
    }
}

static int run_receive_on(struct act *a) {
    struct stream *s = a->object;
    note_number(a, 0);
    if (s->receiver)
        return fin_receiver_next_on(s->receiver, &a->piece, &a->on, REST);
    switch (a->how) {
    case 0: return fin_read_on(&a->on, a->fd, a->data, a->size, REST);
    case 1:
    case 4: return fin_readv_on(&a->on, a->fd, a->v, 2, REST);
    case 2:
    case 3: a->counts = true; return fin_read_all_on(&a->more_on, a->fd, a->data, a->size, &a->moved, REST);
    case 5: return fin_recv_on(&a->on, a->fd, a->data, a->size, 0, REST);
    case 6:
    case 10: return fin_recvmsg_on(&a->more_on, a->fd, &a->m, a->how == 10 ? MSG_WAITALL : 0, REST);
    case 7:
    case 8: a->counts = true; return fin_recv_all_on(&a->more_on, a->fd, a->data, a->size, 0, &a->moved, REST);
    case 9: return fin_recv_on(&a->on, a->fd, a->data, a->size, MSG_WAITALL, REST);
    case 11:
    case 13: return fin_recv_on(&a->on, a->fd, a->data, a->size, MSG_DONTWAIT, REST);
    case 14:
    case 15: return fin_recvfrom_on(&a->more_on, a->fd, a->data, a->size, 0, NULL, NULL, REST);
    default: return fin_buffers_recv_on(own.pool, s->fd[0], &a->piece, &a->buffers_on, REST);
    }
}

static void heard(struct stream *s, size_t n) {
    s->received += n;
    fin_event_advance(&s->heard, n);
}

static void got(struct stream *s, struct act *a, const void *p, size_t n) {
    HOLDS_OF(a, memcmp(p, pattern + s->from + s->received, n) == 0);
    HOLDS_OF(a, s->received + n <= s->promised);
    heard(s, n);
}

// What it has received already is taken first, or it says how much that was.
static bool close_receiver(struct stream *s, struct act *a) {
    ssize_t n = 1;
    void *piece;
    if (chance(3) == 0) {
        HOLDS((n = fin_receiver_close(s->receiver)) >= 0);
        s->receiver = NULL;
        heard(s, (size_t)n);
        return false;
    }
    HOLDS(fin_receiver_stop(s->receiver) == 0);
    while ((n = fin_receiver_next_nc(s->receiver, &piece)) > 0) {
        got(s, a, piece, (size_t)n);
        HOLDS(fin_buffers_put(own.pool, piece) == 0);
    }
    HOLDS(n == -ESHUTDOWN || n == 0);
    HOLDS(fin_receiver_close(s->receiver) == 0);
    s->receiver = NULL;
    return n == 0;
}

// Those that wait for all may ask for no more than comes.
static void choose_size(struct stream *s, struct act *a) {
    bool ends = s->ends; // before the look at what is promised
    size_t rest = s->promised - s->received;
    bool all = !ends && (a->how == 2 || a->how == 3 || (a->how >= 7 && a->how <= 10));
    a->size = 2 + chance(chance(2) ? 100 : MOST - 2);
    if (all && rest < 2)
        a->how = s->kind == 'p' ? 0 : 5;
    else if (all && a->size > rest)
        a->size = rest;
}

static bool receive_once(struct stream *s, struct act *a) {
    a->how = chance(s->kind == 'p' ? 5 : 18);
    choose_size(s, a);
    in_two(a, a->data);
    a->fd = s->file[0] >= 0 && chance(2) ? s->file[0] : s->fd[0];
    a->run = run_receive;
    a->run_on = run_receive_on;
    bool anything = attempt(a);
    bool once = ((a->how == 11 || a->how == 13) && (a->result == -EAGAIN || a->result == -ENOBUFS)) || is_forgotten(a);
    HOLDS_OF(a, a->result >= 0 || a->result == -ECANCELED || a->result == -ENODATA || (once && !s->receiver));
    HOLDS_OF(a, a->result != -EAGAIN || a->moved == 0);
    HOLDS_OF(a, !a->piece || a->moved > 0);
    got(s, a, a->piece ? a->piece : a->data, a->moved);
    put_piece(a);
    return anything && a->moved == 0 && !once;
}

static void receives(void *stream) {
    struct stream *s = stream;
    bool at_end = false;
    while (!at_end) {
        if (chance(8) == 0)
            turn_number(s, 0);
        if (chance(8) == 0 && s->kind != 'p') {
            if (s->receiver)
                at_end = close_receiver(s, s->receives);
            else
                HOLDS(fin_receiver_open(&s->receiver, s->fd[0], own.pool) == 0);
        }
        at_end = at_end || receive_once(s, s->receives);
        if (chance(6) == 0)
            pause_here();
    }
    HOLDS_OF(s->receives, s->received == s->promised);
    if (s->receiver)
        close_receiver(s, s->receives);
    if (s->file[0] >= 0)
        turn_number(s, 0);
    fin_event_advance(&s->heard, 1);
    if (!s->back)
        HOLDS(fin_close_nc(s->fd[0]) == 0);
}

static void close_both_ways(void) {
    for (unsigned i = 1; i < stream_count; i += 2)
        if (streams[i].back)
            HOLDS(close(streams[i].fd[0]) == 0 && close(streams[i].fd[1]) == 0);
}

#endif
