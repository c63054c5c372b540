// SPDX-License-Identifier: BSD-2-Clause
// For everything.c: what many AWEs of several threads take from at once: messages, records, the sums of an eventfd, signals.
// Each is taken once, and none is left where somebody waits.
#ifndef FIN_TESTS_IO_EVERYTHING_BOXES_H
#define FIN_TESTS_IO_EVERYTHING_BOXES_H

#include "everything.h"

enum { BOXES = 4, NUMBERS = 4096, TAKERS = 4 };

struct box {
    char kind; // 'q': SOCK_SEQPACKET, 'd': SOCK_DGRAM, 'p': a pipe of records, 'e': an eventfd, 's': signals
    int fd[2];
    struct fin_signals signals;
    _Atomic unsigned numbers;
    _Atomic uint64_t posted; // of an eventfd: the sum
    struct fin_event heard, ordinary; // signals
    _Atomic unsigned char seen[NUMBERS];
    int poster; // its thread
    _Atomic int ready; // takers that do not rest
};

static struct box boxes[BOXES];
static unsigned box_count;

static void open_signals(struct box *b) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1 + (int)(b - boxes));
    sigaddset(&set, SIGUSR1);
    HOLDS(fin_signals_open(&b->signals, &set) == 0);
}

static void open_box(struct box *b) {
    static const char kinds[] = "qqddpess";
    int small = 2000;
    memset(b, 0, sizeof *b);
    b->kind = kinds[chance(8)];
    b->poster = (int)chance(thread_count);
    fin_event_init(&b->heard);
    fin_event_init(&b->ordinary);
    if (b->kind == 's') {
        open_signals(b);
    } else if (b->kind == 'e') {
        b->fd[0] = eventfd(0, chance(2) ? EFD_SEMAPHORE : 0);
        b->fd[1] = b->fd[0];
    } else if (b->kind == 'p') {
        CHECK_EQ(pipe(b->fd), 0);
        fcntl(b->fd[1], F_SETPIPE_SZ, 4096);
    } else {
        CHECK_EQ(socketpair(AF_UNIX, b->kind == 'd' ? SOCK_DGRAM : SOCK_SEQPACKET, 0, b->fd), 0);
        setsockopt(b->fd[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    }
    if (b->kind != 's' && chance(3) == 0) {
        fcntl(b->fd[0], F_SETFL, O_NONBLOCK);
        fcntl(b->fd[1], F_SETFL, O_NONBLOCK);
    }
}

static void close_box(struct box *b) {
    HOLDS(fin_event_read(&b->heard) == b->posted);
    if (b->kind == 's') {
        HOLDS(fin_signals_lost(&b->signals) == 0);
        fin_signals_close(&b->signals);
        return;
    }
    HOLDS(poll(&(struct pollfd){.fd = b->fd[0], .events = POLLIN}, 1, 0) == 0);
    close(b->fd[0]);
    if (b->kind != 'e')
        close(b->fd[1]);
}

// ---- posting

static bool is_of_packets(const struct box *b) { return b->kind == 'q' || b->kind == 'd'; }

static void with_descriptor(struct act *a) {
    put_descriptor(&a->m, a->control, sizeof a->control, pattern_file);
}

static ssize_t run_post(struct act *a) {
    switch (a->how) {
    case 0: return fin_write(a->fd, a->data, a->size);
    case 1: return fin_writev(a->fd, a->v, 1);
    case 2: return fin_send(a->fd, a->data, a->size, 0);
    case 3: return fin_sendmsg(a->fd, &a->m, 0);
    default: return fin_sendto(a->fd, a->data, a->size, 0, NULL, 0);
    }
}

static int run_post_on(struct act *a) {
    switch (a->how) {
    case 0: return fin_write_on(&a->on, a->fd, a->data, a->size, REST);
    case 1: return fin_writev_on(&a->on, a->fd, a->v, 1, REST);
    case 2: return fin_send_on(&a->on, a->fd, a->data, a->size, 0, REST);
    case 3: return fin_sendmsg_on(&a->more_on, a->fd, &a->m, 0, REST);
    default: return fin_send_at_on(&a->on, fin_now() + chance(50000), a->fd, a->data, a->size, 0, REST);
    }
}

static void signal_all(struct box *b) {
    unsigned id = b->numbers++;
    union sigval value = {.sival_ptr = (void *)(uintptr_t)id};
    HOLDS(id < NUMBERS);
    b->posted++;
    HOLDS(sigqueue(getpid(), SIGRTMIN + 1 + (int)(b - boxes), value) == 0);
}

// It may be one with those that nobody has read yet.
static void signal_ordinary(struct box *b) {
    uint64_t before = fin_event_read(&b->ordinary);
    HOLDS(kill(getpid(), SIGUSR1) == 0);
    await(&b->ordinary, before + 1);
}

static void post_one(struct box *b, struct act *a) {
    a->value = b->kind == 'e' ? 1 + chance(3) : b->numbers++;
    HOLDS(b->kind == 'e' || a->value < NUMBERS);
    b->posted += b->kind == 'e' ? a->value : 1;
    a->fd = b->fd[1];
    a->size = is_of_packets(b) ? 8 * (1 + chance(20)) : 8;
    for (size_t i = 0; i < a->size; i += 8)
        memcpy(a->data + i, &a->value, 8);
    a->v[0] = (struct iovec){a->data, a->size};
    a->m = (struct msghdr){.msg_iov = a->v, .msg_iovlen = 1};
    a->how = chance(is_of_packets(b) ? 5 : 2);
    if (a->how == 3 && chance(2))
        with_descriptor(a);
    a->run = run_post;
    a->run_on = run_post_on;
    while (!attempt(a)) {
    }
    HOLDS_OF(a, a->result == (ssize_t)a->size);
}

static void posts(void *box) {
    struct box *b = box;
    struct act *a = b->kind == 's' ? NULL : new_act("post", b);
    for (unsigned n = 1 + chance(chance(3) ? 5 : 40); n; n--) {
        if (b->kind == 's')
            (chance(6) ? signal_all : signal_ordinary)(b);
        else
            post_one(b, a);
        if (chance(4) == 0)
            pause_here();
    }
    await(&b->heard, b->posted);
}

// ---- taking

static ssize_t poll_before(struct act *a) {
    ssize_t n = fin_poll(a->fd, POLLIN);
    if (n < 0)
        return n;
    HOLDS_OF(a, n == POLLIN);
    return fin_preadv2_nc(a->fd, a->v, 1, -1, RWF_NOWAIT);
}

static ssize_t run_take(struct act *a) {
    struct box *b = a->object;
    if (b->kind == 's')
        return fin_signals_next(&b->signals, &a->info);
    switch (a->how) {
    case 0: return fin_read(a->fd, a->data, a->size);
    case 1: return fin_readv(a->fd, a->v, 1);
    case 2: return poll_before(a);
    case 3: return fin_recv(a->fd, a->data, a->size, 0);
    case 4: return fin_recvmsg(a->fd, &a->m, 0);
    case 5: return fin_buffers_recv(own.pool, a->fd, &a->piece, 0);
    default: return fin_recvfrom(a->fd, a->data, a->size, 0, NULL, NULL);
    }
}

static int run_take_on(struct act *a) {
    struct box *b = a->object;
    if (b->kind == 's')
        return fin_signals_next_on(&b->signals, &a->info, &a->more_on, REST);
    switch (a->how) {
    case 0: return fin_read_on(&a->on, a->fd, a->data, a->size, REST);
    case 1:
    case 2: return fin_readv_on(&a->on, a->fd, a->v, 1, REST);
    case 3: return fin_recv_on(&a->on, a->fd, a->data, a->size, 0, REST);
    case 4: return fin_recvmsg_on(&a->more_on, a->fd, &a->m, 0, REST);
    case 5: return fin_buffers_recv_on(own.pool, a->fd, &a->piece, &a->buffers_on, REST);
    default: return fin_recvfrom_on(&a->more_on, a->fd, a->data, a->size, 0, NULL, NULL, REST);
    }
}

static void see(struct box *b, struct act *a, uint64_t number) {
    HOLDS_OF(a, number < b->numbers && b->seen[number]++ == 0);
    fin_event_advance(&b->heard, 1);
}

static void close_sent(struct act *a) {
    for (struct cmsghdr *c = a->how == 4 ? CMSG_FIRSTHDR(&a->m) : NULL; c; c = CMSG_NXTHDR(&a->m, c)) {
        int fd;
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
        HOLDS_OF(a, c->cmsg_type == SCM_RIGHTS && close(fd) == 0);
    }
}

static void took(struct box *b, struct act *a) {
    uint64_t words[40];
    if (b->kind == 's') {
        HOLDS_OF(a, a->result == 0);
        if (a->info.signal != SIGUSR1)
            see(b, a, a->info.value);
        else
            fin_event_advance(&b->ordinary, 1);
        return;
    }
    HOLDS_OF(a, a->moved > 0 && a->moved % 8 == 0 && a->moved <= sizeof words);
    memcpy(words, a->piece ? a->piece : a->data, a->moved);
    for (size_t i = 0; i < a->moved / 8; i++)
        HOLDS_OF(a, words[i] == words[0]);
    if (b->kind == 'e')
        fin_event_advance(&b->heard, words[0]);
    else
        see(b, a, words[0]);
    close_sent(a);
}

// Who rests leaves what comes to the others.
static void rest(struct box *b) {
    if (--b->ready > 0)
        fin_event_await_nc(&b->heard, b->posted);
    b->ready++;
}

static void takes(void *box) {
    struct box *b = box;
    struct act *a = new_act("take", b);
    a->serves = true;
    b->ready++;
    a->run = run_take;
    a->run_on = run_take_on;
    do {
        a->how = chance(is_of_packets(b) ? 7 : 3);
        a->fd = b->fd[0];
        a->size = is_of_packets(b) ? PIECE : 8;
        a->v[0] = (struct iovec){a->data, a->size};
        a->m = (struct msghdr){.msg_iov = a->v, .msg_iovlen = 1};
        if (a->how == 4) {
            a->m.msg_control = a->control;
            a->m.msg_controllen = sizeof a->control;
        }
        bool once = a->how == 2;
        if (attempt(a) && !(once && a->result == -EAGAIN))
            took(b, a);
        put_piece(a);
        if (chance(6) == 0)
            pause_here();
        if (chance(6) == 0)
            rest(b);
    } while (!over);
}

#endif
