// SPDX-License-Identifier: BSD-2-Clause
// For chains_random.c: what the steps of a chain are for, and what they must have done to it.
#ifndef FIN_TESTS_IO_CHAINS_RANDOM_H
#define FIN_TESTS_IO_CHAINS_RANDOM_H

#include <fcntl.h>

#include <fin/linked.h>
#include <fin/thread.h>

#include "attempts.h"

enum { LINES = 3, FILE_SIZE = 20000, LARGEST = 6000 };

// One end of a connection or of a pipe, whose other end is drained and fed by AWEs.
struct line {
    char kind; // 's': a Unix socket; 't': TCP; 'w', 'r': a pipe that is written or read; 'c': TCP, still to be connected
    int fd, peer, listener;
    struct sockaddr_in address;
    bool dead;   // nobody listens, or reads
    bool closed; // by the chain
    _Atomic bool given_up; // closed by another AWE, or about to be
    bool reset;  // it may have been: closed before all was received
    struct fin_event *starves; // until then nothing is fed
    size_t fed, got, sent, drained;
    bool takes_turn; // those beside it wait for a while
};

struct chain {
    struct fin_step steps[FIN_LINKED_MOST];
    char op[FIN_LINKED_MOST]; // 'r': read, 'w': write, 'R': pread, 'W': pwrite, 'c': connect, 's': send, 'v': recv,
                              // 'a': recv of all, 'f': fsync, 'x': close
    struct line *line[FIN_LINKED_MOST]; // NULL: the file
    size_t size[FIN_LINKED_MOST], at[FIN_LINKED_MOST];
    unsigned char *data[FIN_LINKED_MOST];
    unsigned count;
    struct line lines[LINES];
    unsigned line_count;
    int file;
    bool file_closed, calm, starves; // starves: until it has been cancelled
    struct fin_event told;
    size_t file_end, position;
    unsigned char content[FILE_SIZE + LARGEST];
    struct act *act;
};

// Byte `at` of what goes one way, or the other.
static unsigned char byte_of(bool back, size_t at) { return (unsigned char)(at * 3 + at / 251 + back * 100); }

static void fill_bytes(unsigned char *p, bool back, size_t at, size_t n) {
    for (size_t i = 0; i < n; i++)
        p[i] = byte_of(back, at + i);
}

static bool are_bytes(const unsigned char *p, bool back, size_t at, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (p[i] != byte_of(back, at + i))
            return false;
    return true;
}

// ---- the other end

static void rest_here(const struct line *l) {
    for (unsigned n = l->takes_turn ? chance(6) : 0; n; n--)
        fin_yield();
}

// All that it is to have, and the end.
static void feeds(void *line) {
    struct line *l = line;
    unsigned char p[2000];
    ssize_t n = 0;
    fin_event_await_nc(l->starves, 1);
    for (size_t at = 0; at < l->fed && n >= 0; at += n > 0 ? (size_t)n : 0) {
        size_t most = l->fed - at, size = 1 + chance(chance(3) ? sizeof p : 20);
        size = size < most ? size : most;
        fill_bytes(p, true, at, size);
        rest_here(l);
        n = l->kind == 'r' ? fin_write_nc(l->peer, p, size) : fin_send_nc(l->peer, p, size, 0);
    }
    HOLDS(n >= 0 || n == -EPIPE || n == -ECONNRESET);
    l->reset |= n < 0; // of which only one of the two may be told
    if (l->kind == 'r')
        close(l->peer);
    else
        shutdown(l->peer, SHUT_WR);
}

static void drains(void *line) {
    struct line *l = line;
    unsigned char p[2000];
    ssize_t n;
    while ((n = fin_read_nc(l->peer, p, 1 + chance(sizeof p))) > 0) {
        HOLDS(are_bytes(p, false, l->drained, (size_t)n));
        l->drained += (size_t)n;
        rest_here(l);
    }
    HOLDS(n == 0 || n == -ECONNRESET);
    l->reset |= n < 0;
}

static void is_beside(void *line) {
    struct line *l = line;
    if (l->dead)
        return;
    if (l->kind == 'c') {
        l->peer = fin_accept(l->listener, NULL, NULL);
        if (l->peer < 0) {
            HOLDS(l->peer == -ECANCELED);
            return;
        }
    }
    fin_finish_nc {
        if (l->kind != 'w')
            fin_async_call(feeds, l);
        if (l->kind != 'r')
            drains(l);
    }
    if (l->kind != 'r')
        close(l->peer);
}

static void open_line(struct line *l, char kind) {
    int fd[2];
    *l = (struct line){.kind = kind, .peer = -1, .listener = -1, .dead = chance(8) == 0, .takes_turn = chance(2)};
    if (kind == 's') {
        stream_pair(fd);
    } else if (kind == 'r' || kind == 'w') {
        CHECK_EQ(pipe2(fd, O_CLOEXEC), 0);
        if (kind == 'w')
            fd[0] ^= fd[1], fd[1] ^= fd[0], fd[0] ^= fd[1]; // ours is the first
    } else {
        l->listener = tcp_listen(&l->address, kind == 'c' && l->dead ? -1 : 4); // the number is nobody else's meanwhile
        fd[0] = kind == 'c' ? socket(AF_INET, SOCK_STREAM, 0) : tcp_connect(&l->address);
        fd[1] = kind == 'c' ? -1 : accept(l->listener, NULL, NULL);
        if (kind == 't')
            close(l->listener);
    }
    l->fd = fd[0];
    l->peer = fd[1];
    if (kind != 'c' && l->dead)
        close(l->peer);
    if (chance(3) == 0)
        fcntl(l->fd, F_SETFL, O_NONBLOCK);
    int small = 4096;
    if (chance(2))
        setsockopt(l->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
}

// ---- what a step has done

static bool is_whole(char op) { return !strchr("vcfx", op); }

static bool is_good(const struct chain *c, unsigned i) {
    ssize_t r = c->steps[i].result;
    return r >= 0 && (!is_whole(c->op[i]) || (size_t)r == c->size[i]) && (c->op[i] != 'v' || r <= (ssize_t)c->size[i]);
}

static void note_file(struct chain *c, unsigned i, ssize_t r) {
    size_t at = strchr("RW", c->op[i]) ? c->at[i] : c->position;
    if (c->op[i] == 'x')
        c->file_closed |= r == 0;
    if (r <= 0 || c->op[i] == 'f' || c->op[i] == 'x')
        return;
    if (strchr("rR", c->op[i])) {
        HOLDS_OF(c->act, at + (size_t)r <= c->file_end && memcmp(c->data[i], c->content + at, (size_t)r) == 0);
    } else {
        memcpy(c->content + at, c->data[i], (size_t)r);
        c->file_end = at + (size_t)r > c->file_end ? at + (size_t)r : c->file_end;
    }
    if (strchr("rw", c->op[i]))
        c->position += (size_t)r;
}

static void note_line(struct chain *c, unsigned i, ssize_t r) {
    struct line *l = c->line[i];
    if (c->op[i] == 'x') {
        l->closed |= r == 0;
    } else if (strchr("rva", c->op[i])) {
        HOLDS_OF(c->act, r <= 0 || are_bytes(c->data[i], true, l->got, (size_t)r));
        l->got += r > 0 ? (size_t)r : 0;
        HOLDS_OF(c->act, l->got <= l->fed);
    } else if (strchr("ws", c->op[i])) {
        l->sent += r > 0 ? (size_t)r : 0;
    }
}

// Why the chain ended there, where it was not cancelled.
static bool justifies_end(const struct chain *c, unsigned i) {
    ssize_t r = c->steps[i].result;
    const struct line *l = c->line[i];
    char op = c->op[i];
    if (!l) {
        if (c->file_closed)
            return r == -EBADF;
        size_t at = op == 'R' ? c->at[i] : c->position;
        return strchr("rR", op) && (size_t)r == (at < c->file_end ? c->file_end - at : 0);
    }
    if (l->closed || (l->given_up && r == -EBADF))
        return r == -EBADF;
    if (l->given_up && is_whole(op) && r > 0) // in the midst of it
        return true;
    if (op == 'f')
        return r == -EINVAL;
    if (op == 'c')
        return l->kind == 'c' && l->dead && r == -ECONNREFUSED;
    if (strchr("ws", op) && r >= 0)
        return l->dead || op == 'w';
    if (strchr("ws", op))
        return (l->dead || l->kind == 'c') && (r == -EPIPE || r == -ECONNRESET || r == -ENOTCONN);
    if (r < 0)
        return r == -ENOTCONN || (l->dead && r == -ECONNRESET);
    return op == 'r' ? (size_t)r < c->size[i] : op == 'a' && (l->dead || l->got + (size_t)r == l->fed);
}

#endif
