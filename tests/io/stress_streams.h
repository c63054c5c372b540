// SPDX-License-Identifier: BSD-2-Clause
// For stress.c: what is done with streams, each in many ways.
#ifndef FIN_TESTS_IO_STRESS_STREAMS_H
#define FIN_TESTS_IO_STRESS_STREAMS_H

#include "stress.h"

struct act;
struct kind {
    const char *name;
    bool (*take)(struct act *a);   // chooses what to do; false: not now
    void (*run)(struct act *a);    // with a stack
    int (*run_on)(struct act *a);  // without; it returns where there was nothing to do. NULL: only with a stack
    void (*settle)(struct act *a); // compares what was said with what is known
};

struct act {
    const struct kind *kind;
    unsigned random, how;
    struct stream *stream;
    struct region *region;
    int fd, error; // fd: that it uses, or opened
    uint32_t id;
    size_t size, moved;
    uint64_t value, due;
    bool ran;     // its function has run; of a transfer: what it has moved is set by the call itself
    bool is_void; // there was nothing to do any more
    void *piece;
    struct iovec v[2];
    struct msghdr m;
    union {
        struct fin_on on;
        struct fin_more_on more_on;
        struct fin_buffers_on buffers_on;
    };
    _Alignas(8) char control[CMSG_SPACE(sizeof(int))];
    unsigned char data[MOST];
};

static unsigned below(unsigned *state, unsigned n) { return next_random(state) % n; }

// One that says how much it has done, or an error.
static void did(struct act *a, ssize_t n) {
    a->error = n < 0 ? (int)n : 0;
    a->moved = n > 0 ? (size_t)n : 0;
}

// Two steps of a half each.
static void did_linked(struct act *a, struct fin_step s[2]) {
    int good = fin_linked(s, 2);
    a->moved = 0;
    for (int i = 0; i < 2; i++)
        a->moved += s[i].result > 0 ? (size_t)s[i].result : 0;
    a->error = good < 0 ? good : good < 2 && s[good].result < 0 ? (int)s[good].result : 0;
    HOLDS(s[1].result == -ECANCELED || s[0].result == (ssize_t)a->v[0].iov_len);
}

static void in_two(struct act *a) {
    size_t half = a->size / 2 + a->size % 2;
    a->v[0] = (struct iovec){a->data, half};
    a->v[1] = (struct iovec){a->data + half, a->size - half};
    a->m = (struct msghdr){.msg_iov = a->v, .msg_iovlen = 2};
}

// ---- streams

static bool take_stream(struct act *a, int side) {
    struct stream *s = &streams[below(&a->random, STREAMS)];
    if (thread_of(s, side) != own.number || s->busy[side] || s->gone[side])
        return false;
    s->busy[side] = true;
    a->stream = s;
    a->size = 2 + below(&a->random, below(&a->random, 3) ? 100 : MOST - 2);
    in_two(a);
    return true;
}

// Its stream may have been closed before it begins.
static bool begins(struct act *a, int side) {
    struct stream *s = a->stream;
    a->fd = s->file[side] >= 0 && below(&a->random, 2) ? s->file[side] : s->fd[side];
    a->is_void = s->gone[side];
    return !a->is_void;
}

static bool take_sender(struct act *a) {
    if (!take_stream(a, 1))
        return false;
    struct stream *s = a->stream;
    bool can = !s->shut && s->moved[1] < PATTERN - 100000;
    s->busy[1] = can;
    if (can)
        memcpy(a->data, pattern + s->from + s->moved[1], a->size);
    a->how = below(&a->random, s->kind == 'p' ? 5 : 14);
    return can;
}

static void send_linked(struct act *a, bool writes) {
    struct fin_step s[2];
    for (int i = 0; i < 2; i++)
        s[i] = writes ? fin_step_write(a->fd, a->v[i].iov_base, a->v[i].iov_len)
                      : fin_step_send(a->fd, a->v[i].iov_base, a->v[i].iov_len, 0);
    did_linked(a, s);
}

static void run_sender(struct act *a) {
    if (!begins(a, 1))
        return;
    off_t at = (off_t)(a->stream->from + a->stream->moved[1]);
    switch (a->how) {
    case 0: did(a, fin_write(a->fd, a->data, a->size)); break;
    case 1: did(a, fin_writev(a->fd, a->v, 2)); break;
    case 2: a->error = fin_write_all(a->fd, a->data, a->size, &a->moved); break;
    case 3: send_linked(a, true); break;
    case 4: did(a, fin_sendfile(a->stream->fd[1], pattern_file, &at, a->size)); break;
    case 5: did(a, fin_send(a->fd, a->data, a->size, 0)); break;
    case 6: did(a, fin_sendmsg(a->fd, &a->m, 0)); break;
    case 7: a->error = fin_send_all(a->fd, a->data, a->size, 0, &a->moved); break;
    case 8: send_linked(a, false); break;
    case 9: did(a, fin_send_zc(a->fd, a->data, a->size, 0)); break;
    case 10: did(a, fin_sendmsg_zc(a->fd, &a->m, 0)); break;
    case 11: did(a, fin_send(a->fd, a->data, a->size, MSG_WAITALL)); break;
    case 12: did(a, fin_send(a->fd, a->data, a->size, MSG_DONTWAIT)); break;
    default: did(a, fin_sendmsg(a->fd, &a->m, MSG_WAITALL));
    }
}

static void ended(void *state, int result);
#define REST ended, &a, sizeof a

static int run_sender_on(struct act *a) {
    if (!begins(a, 1))
        return 0;
    switch (a->how) {
    case 0: return fin_write_on(&a->on, a->fd, a->data, a->size, REST);
    case 1: return fin_writev_on(&a->on, a->fd, a->v, 2, REST);
    case 2:
    case 3:
    case 4: a->ran = true; return fin_write_all_on(&a->more_on, a->fd, a->data, a->size, &a->moved, REST);
    case 5: return fin_send_on(&a->on, a->fd, a->data, a->size, 0, REST);
    case 6: return fin_sendmsg_on(&a->more_on, a->fd, &a->m, 0, REST);
    case 7: a->ran = true; return fin_send_all_on(&a->more_on, a->fd, a->data, a->size, 0, &a->moved, REST);
    case 8: return fin_send_at_on(&a->on, fin_now() + below(&a->random, 100000), a->fd, a->data, a->size, 0, REST);
    case 9: return fin_sendto_on(&a->more_on, a->fd, a->data, a->size, 0, NULL, 0, REST);
    default: return fin_send_on(&a->on, a->fd, a->data, a->size, a->how % 2 ? MSG_WAITALL : 0, REST);
    }
}

static bool is_lost(int error) { return error == -EBADF || error == -EPIPE || error == -ECONNRESET; }

static void settle_sender(struct act *a) {
    struct stream *s = a->stream;
    bool once = a->how == 12 && a->error == -EAGAIN;
    HOLDS(a->error >= 0 || a->error == -ECANCELED || once || (is_lost(a->error) && (s->gone[0] || s->gone[1])));
    HOLDS(a->moved <= a->size && (a->moved > 0 || a->error || a->is_void));
    s->moved[1] += a->moved;
    s->busy[1] = false;
}

static bool take_receiver(struct act *a) {
    if (!take_stream(a, 0))
        return false;
    memset(a->data, 0, a->size);
    a->how = below(&a->random, a->stream->kind == 'p' ? 5 : 14);
    return true;
}

static void receive_linked(struct act *a, bool reads) {
    struct fin_step s[2];
    for (int i = 0; i < 2; i++)
        s[i] = reads ? fin_step_read(a->fd, a->v[i].iov_base, a->v[i].iov_len)
                     : fin_step_recv(a->fd, a->v[i].iov_base, a->v[i].iov_len, MSG_WAITALL);
    did_linked(a, s);
}

static void splice_some(struct act *a) {
    int p[2];
    HOLDS(pipe(p) == 0);
    did(a, fin_splice(a->stream->fd[0], NULL, p[1], NULL, a->size, 0));
    HOLDS(a->moved == 0 || read(p[0], a->data, a->size) == (ssize_t)a->moved);
    close(p[0]);
    close(p[1]);
}

static void run_receiver(struct act *a) {
    if (!begins(a, 0))
        return;
    if (a->stream->receiver) {
        did(a, fin_receiver_next(a->stream->receiver, &a->piece));
        return;
    }
    switch (a->how) {
    case 0: did(a, fin_read(a->fd, a->data, a->size)); break;
    case 1: did(a, fin_readv(a->fd, a->v, 2)); break;
    case 2: a->error = fin_read_all(a->fd, a->data, a->size, &a->moved); break;
    case 3: receive_linked(a, true); break;
    case 4: splice_some(a); break;
    case 5: did(a, fin_recv(a->fd, a->data, a->size, 0)); break;
    case 6: did(a, fin_recvmsg(a->fd, &a->m, 0)); break;
    case 7: a->error = fin_recv_all(a->fd, a->data, a->size, 0, &a->moved); break;
    case 8: receive_linked(a, false); break;
    case 9: did(a, fin_recv(a->fd, a->data, a->size, MSG_WAITALL)); break;
    case 10: did(a, fin_recvmsg(a->fd, &a->m, MSG_WAITALL)); break;
    case 11: did(a, fin_recv(a->fd, a->data, a->size, MSG_DONTWAIT)); break;
    default: did(a, fin_buffers_recv(own.pool, a->stream->fd[0], &a->piece, 0));
    }
}

static int run_receiver_on(struct act *a) {
    if (!begins(a, 0))
        return 0;
    if (a->stream->receiver)
        return fin_receiver_next_on(a->stream->receiver, &a->piece, &a->on, REST);
    switch (a->how) {
    case 0: return fin_read_on(&a->on, a->fd, a->data, a->size, REST);
    case 1:
    case 3: return fin_readv_on(&a->on, a->fd, a->v, 2, REST);
    case 2:
    case 4: a->ran = true; return fin_read_all_on(&a->more_on, a->fd, a->data, a->size, &a->moved, REST);
    case 5: return fin_recv_on(&a->on, a->fd, a->data, a->size, 0, REST);
    case 6: return fin_recvmsg_on(&a->more_on, a->fd, &a->m, 0, REST);
    case 7: a->ran = true; return fin_recv_all_on(&a->more_on, a->fd, a->data, a->size, 0, &a->moved, REST);
    case 8: return fin_recvfrom_on(&a->more_on, a->fd, a->data, a->size, 0, NULL, NULL, REST);
    case 9: return fin_recv_on(&a->on, a->fd, a->data, a->size, MSG_WAITALL, REST);
    case 11: return fin_recv_on(&a->on, a->fd, a->data, a->size, MSG_DONTWAIT, REST);
    default: return fin_buffers_recv_on(own.pool, a->stream->fd[0], &a->piece, &a->buffers_on, REST);
    }
}

static void settle_receiver(struct act *a) {
    struct stream *s = a->stream;
    bool at_end = a->error == -ENODATA || (a->error == 0 && a->moved == 0 && !a->is_void);
    bool once = a->how == 11 && a->error == -EAGAIN;
    HOLDS(!at_end || s->shut || s->gone[1]);
    HOLDS(a->error >= 0 || a->error == -ECANCELED || at_end || once || (is_lost(a->error) && (s->gone[0] || s->gone[1])));
    HOLDS((a->piece != NULL) <= (a->moved > 0));
    received(s, a->piece ? a->piece : a->data, a->moved);
    if (a->piece)
        hold(a->piece);
    if (at_end)
        s->end = s->moved[0] + 1;
    s->busy[0] = false;
}

// ---- what becomes of streams meanwhile

static void close_end(struct stream *s, int side, unsigned how) {
    int fd = s->fd[side]; // it may be another's soon
    forget_number(s, side);
    s->gone[side] = true;
    int r = how % 2 ? fin_close(fd) : fin_close_nc(fd);
    HOLDS(r == 0 || (r == -ECANCELED && fin_cancelled()));
    if (r != 0)
        HOLDS(fin_close_nc(fd) == 0);
}

static void turn_receiver(struct stream *s) {
    if (thread_of(s, 0) != own.number || s->kind == 'p' || s->busy[0] || s->gone[0])
        return;
    s->busy[0] = true;
    if (s->receiver)
        close_receiver(s);
    else
        HOLDS(fin_receiver_open(&s->receiver, s->fd[0], own.pool) == 0);
    s->busy[0] = false;
}

static void turn_number(struct stream *s, int side) {
    if (thread_of(s, side) != own.number || s->gone[side])
        return;
    if (s->file[side] < 0) {
        s->file[side] = fin_file_register(s->fd[side]);
        HOLDS(s->file[side] >= 0);
    } else {
        forget_number(s, side);
    }
}

// What AWEs wait in stays.
static void open_again(bool pool) {
    if (pool) {
        put_back();
        int r = fin_buffers_close(own.pool);
        HOLDS(r == 0 || r == -EBUSY);
        HOLDS(r != 0 || fin_buffers_open(&own.pool, PIECES, PIECE) == 0);
    } else {
        int n = fin_acceptor_close(own.acceptor);
        HOLDS(n >= 0 || n == -EBUSY);
        accepted += n > 0 ? n : 0;
        HOLDS(n < 0 || fin_acceptor_open(&own.acceptor, listener, SOCK_CLOEXEC) == 0);
    }
}

static bool take_change(struct act *a) {
    a->stream = &streams[below(&a->random, STREAMS)];
    return true;
}

static void run_change(struct act *a) {
    struct stream *s = a->stream;
    bool sends = thread_of(s, 1) == own.number, whole = sends && thread_of(s, 0) == own.number;
    bool idle = whole && !s->busy[0] && !s->busy[1] && !s->receiver;
    unsigned how = below(&a->random, 15);
    if (how == 0 && sends && !s->busy[1] && !s->gone[1] && s->kind != 'p') {
        s->shut = true;
        HOLDS(shutdown(s->fd[1], SHUT_WR) == 0 || s->gone[0]);
    } else if (how == 1 && whole && !s->gone[1]) {
        close_end(s, 1, a->random);
    } else if (how == 2 && whole && !s->gone[0] && !s->receiver) {
        close_end(s, 0, a->random);
    } else if (how <= 4 && idle && (s->gone[0] || s->gone[1] || s->shut)) {
        close_stream(s);
        open_stream(s, &a->random);
    } else if (how <= 7) {
        turn_receiver(s);
    } else if (how <= 9) {
        turn_number(s, (int)how % 2);
    } else if (how <= 12) {
        open_again(how % 2);
    } else {
        put_back();
    }
}

static void settle_change(struct act *a) { (void)a; }

#endif
