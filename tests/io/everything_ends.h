// SPDX-License-Identifier: BSD-2-Clause
// For everything.c: those that wait for what is ended by another, be it on another thread; and files.
#ifndef FIN_TESTS_IO_EVERYTHING_ENDS_H
#define FIN_TESTS_IO_EVERYTHING_ENDS_H

#include "everything_streams.h"

// ---- what ends

enum { WAITERS = 3 };
enum end { SHUT, PEER_SHUTS, PEER_CLOSES, DATA, CLOSED, ENDS };

struct victim {
    int fd[2];
    enum end end;
    bool sends, accepts, is_tcp, elsewhere;
    bool ends_alone; // where its descriptor is closed: without io_uring, and in a chain
    int begun;
};

static ssize_t wait_linked(struct act *a) {
    struct fin_step s[2] = {fin_step_recv(a->fd, a->data, 1, 0), fin_step_send(a->fd, a->data, 1, 0)};
    int good = fin_linked(s, 2);
    HOLDS_OF(a, good <= 2);
    return good < 0 ? good : s[0].result;
}

static ssize_t wait_received(struct act *a) {
    struct victim *v = a->object;
    struct fin_receiver *r;
    HOLDS(fin_receiver_open(&r, v->fd[0], own.pool) == 0);
    ssize_t n = fin_receiver_next(r, &a->piece);
    HOLDS_OF(a, fin_receiver_close(r) == 0);
    return n;
}

static ssize_t run_victim(struct act *a) {
    struct victim *v = a->object;
    v->begun++;
    if (v->accepts)
        return fin_accept(a->fd, NULL, NULL);
    if (v->sends)
        return a->how % 2 ? fin_send(a->fd, a->data, 1, 0) : fin_sendmsg(a->fd, &a->m, 0);
    switch (a->how) {
    case 0: return fin_recv(a->fd, a->data, 1, 0);
    case 1: return fin_read(a->fd, a->data, 1);
    case 2: return fin_recvmsg(a->fd, &a->m, 0);
    case 3: return fin_poll(a->fd, POLLIN);
    case 4: a->counts = true; return fin_recv_all(a->fd, a->data, 1, 0, &a->moved);
    case 5: return wait_linked(a);
    case 6: return fin_buffers_recv(own.pool, a->fd, &a->piece, 0);
    case 7: return wait_received(a);
    default: return fin_readv(a->fd, a->v, 2);
    }
}

static int run_victim_on(struct act *a) {
    struct victim *v = a->object;
    v->begun++;
    if (v->accepts)
        return fin_accept_on(&a->on, a->fd, 0, REST);
    if (v->sends)
        return a->how % 2 ? fin_send_on(&a->on, a->fd, a->data, 1, 0, REST)
                          : fin_sendmsg_on(&a->more_on, a->fd, &a->m, 0, REST);
    switch (a->how) {
    case 0: return fin_recv_on(&a->on, a->fd, a->data, 1, 0, REST);
    case 1: return fin_read_on(&a->on, a->fd, a->data, 1, REST);
    case 2: return fin_recvmsg_on(&a->more_on, a->fd, &a->m, 0, REST);
    case 3: return fin_poll_on(&a->on, a->fd, POLLIN, REST);
    case 4: a->counts = true; return fin_recv_all_on(&a->more_on, a->fd, a->data, 1, 0, &a->moved, REST);
    case 6: return fin_buffers_recv_on(own.pool, a->fd, &a->piece, &a->buffers_on, REST);
    default: return fin_readv_on(&a->on, a->fd, a->v, 2, REST);
    }
}

static void open_victim(struct victim *v) {
    *v = (struct victim){.end = chance(ENDS), .sends = chance(4) == 0, .elsewhere = chance(3) == 0};
    v->is_tcp = !v->sends && chance(2); // TCP goes on making room
    struct sockaddr_in address;
    int listener = v->is_tcp ? tcp_listen(&address, 1) : -1, small = 4096;
    v->accepts = v->is_tcp && chance(4) == 0;
    if (v->accepts) {
        v->fd[0] = listener;
        v->fd[1] = -1;
        v->end = SHUT;
    } else if (v->is_tcp) {
        v->fd[1] = tcp_connect(&address);
        v->fd[0] = accept(listener, NULL, NULL);
        close(listener);
    } else {
        stream_pair(v->fd);
    }
    if (!v->sends)
        return;
    v->end = v->end == CLOSED ? CLOSED : chance(2) ? SHUT : PEER_CLOSES;
    setsockopt(v->fd[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    while (send(v->fd[0], pattern, 4000, MSG_DONTWAIT) > 0) {
    }
    while (send(v->fd[0], pattern, 1, MSG_DONTWAIT) > 0) {
    }
}

static void end_elsewhere(void *victim) {
    struct victim *v = victim;
    usleep(100);
    switch (v->end) {
    case SHUT: shutdown(v->fd[0], SHUT_RDWR); break;
    case PEER_SHUTS: shutdown(v->fd[1], SHUT_WR); break;
    case PEER_CLOSES: close(v->fd[1]); break;
    default: HOLDS(send(v->fd[1], "x", 1, 0) == 1);
    }
}

static void end_here(struct victim *v) {
    switch (v->end) {
    case SHUT: HOLDS(fin_shutdown_nc(v->fd[0], SHUT_RDWR) == 0); break;
    case PEER_SHUTS: HOLDS(fin_shutdown_nc(v->fd[1], SHUT_WR) == 0); break;
    case PEER_CLOSES: HOLDS(fin_close_nc(v->fd[1]) == 0); break;
    case DATA: HOLDS(fin_send_nc(v->fd[1], "x", 1, 0) == 1); break;
    default: HOLDS(fin_close_nc(v->fd[0]) == 0);
    }
}

static void is_victim(void *act) {
    struct act *a = act;
    attempt_calmly(a);
    struct victim *v = a->object;
    bool is_poll = !v->sends && !v->accepts && a->how == 3;
    put_piece(a);
    if (v->end == CLOSED)
        HOLDS_OF(a, a->result == -EBADF || (a->result == -ECANCELED && !v->ends_alone));
    else if (v->accepts)
        HOLDS_OF(a, a->result == -EINVAL);
    else if (v->sends)
        HOLDS_OF(a, a->result == -EPIPE || a->result == -ECONNRESET);
    else if (v->end == DATA)
        HOLDS_OF(a, a->result == 1 || (a->how == 4 && a->moved == 1));
    else
        HOLDS_OF(a, is_poll ? a->result > 0 : a->result == 0 || a->result == -ENODATA);
}

static void has_victims(void *unused) {
    struct victim v;
    (void)unused;
    open_victim(&v);
    int many = v.end == DATA ? 1 : 1 + (int)chance(WAITERS);
    bool one_receives = false;
    fin_finish {
        for (int i = 0; i < many; i++) {
            struct act *a = new_act("victim", &v);
            a->how = chance(9);
            if (a->how == 7 && (one_receives || many > 1))
                a->how = 0;
            a->fd = v.fd[0];
            a->size = 2;
            in_two(a, a->data);
            a->run = run_victim;
            a->run_on = a->how == 5 || a->how == 7 ? NULL : run_victim_on;
            v.ends_alone = on_epoll() || (many == 1 && !v.sends && !v.accepts && a->how == 5);
            fin_async_eager_call(is_victim, a);
        }
        pause_here();
        while (v.end == CLOSED && v.begun < many) // what begins later may find another's number
            fin_yield();
        if (v.end != CLOSED && v.elsewhere)
            HOLDS(fin_offload_nc(end_elsewhere, &v) == 0);
        else
            end_here(&v);
        pause_here();
        if (v.end == CLOSED && !v.ends_alone)
            fin_cancel();
    }
    if (v.end != CLOSED)
        close(v.fd[0]);
    if (v.end != PEER_CLOSES && v.fd[1] >= 0)
        close(v.fd[1]);
}

// ---- chains of which one step has ended when they are cancelled; the next would wait for ever

struct chained {
    int fd[2], other[2];
    bool sent;
};

static ssize_t run_chain(struct act *a) {
    struct chained *c = a->object;
    struct fin_step s[2] = {fin_step_recv(c->fd[0], a->data, 1, MSG_WAITALL), fin_step_recv(c->other[0], a->data, 1, 0)};
    int good = fin_linked(s, 2);
    HOLDS_OF(a, good == -ECANCELED || good == 0 || (good == 1 && c->sent && s[1].result == -ECANCELED));
    HOLDS_OF(a, good > 0 || s[0].result == -ECANCELED);
    return good > 0 ? 1 : -ECANCELED;
}

static void has_chain(void *unused) {
    struct chained c = {.sent = false};
    struct act *a = new_act("chain", &c);
    char byte;
    (void)unused;
    stream_pair(c.fd);
    stream_pair(c.other);
    a->run = run_chain;
    fin_finish {
        fin_async_call(runs, a);
        pause_here();
        c.sent = true;
        HOLDS(chance(2) ? fin_send_nc(c.fd[1], "x", 1, 0) == 1 : write(c.fd[1], "x", 1) == 1);
        if (chance(2))
            fin_yield();
        fin_cancel();
    }
    HOLDS_OF(a, recv(c.fd[0], &byte, 1, MSG_DONTWAIT) == (a->result == 1 ? -1 : 1));
    for (int i = 0; i < 2; i++)
        HOLDS(close(c.fd[i]) == 0 && close(c.other[i]) == 0);
}

// ---- a region of a file, which is as before or as it was told to be written

enum { REGION = 700 };
static int region_file;
static _Atomic unsigned region_count;

struct region {
    off_t at;
    unsigned char value;
    struct fin_memory *memory;
    int file;
    unsigned char *fixed;
};

static ssize_t all_of(const struct act *a, int good, const struct fin_step *s, int count) {
    for (int i = 0; i < count; i++)
        HOLDS_OF(a, i < good || s[i].result == -ECANCELED || i == good);
    return good == count ? REGION : good < 0 ? good : good > 0 ? -ECANCELED : s[0].result;
}

static ssize_t write_linked(struct act *a, struct region *r) {
    struct fin_step s[3] = {fin_step_pwrite(r->file, a->data, REGION, r->at), fin_step_fsync(r->file),
                            fin_step_pread(r->file, a->data + REGION, REGION, r->at)};
    int good = fin_linked(s, 3);
    HOLDS_OF(a, good < 3 || memcmp(a->data, a->data + REGION, REGION) == 0);
    if (good > 0) // it is written, and that counts
        return REGION;
    return all_of(a, good, s, 3);
}

static ssize_t run_write(struct act *a) {
    struct region *r = a->object;
    switch (a->how) {
    case 0: return fin_pwrite(r->file, a->data, REGION, r->at);
    case 1: memcpy(r->fixed, a->data, REGION); return fin_pwrite_fixed(r->file, r->memory, r->fixed, REGION, r->at);
    case 2: return fin_pwritev(region_file, a->v, 2, r->at);
    default: return write_linked(a, r);
    }
}

static int run_write_on(struct act *a) {
    struct region *r = a->object;
    return fin_pwrite_on(&a->on, r->file, a->data, REGION, r->at, REST);
}

static ssize_t run_read(struct act *a) {
    struct region *r = a->object;
    ssize_t n;
    switch (a->how) {
    case 0: return fin_pread(r->file, a->data, REGION, r->at);
    case 1:
        n = fin_pread_fixed(r->file, r->memory, r->fixed, REGION, r->at);
        memcpy(a->data, r->fixed, REGION);
        return n;
    default: return fin_preadv(region_file, a->v, 2, r->at);
    }
}

static int run_read_on(struct act *a) {
    struct region *r = a->object;
    return fin_pread_on(&a->on, r->file, a->data, REGION, r->at, REST);
}

static void attempt_on_region(struct act *a, bool writes) {
    struct region *r = a->object;
    unsigned char is[REGION], value = (unsigned char)(r->value + writes);
    a->how = chance(4);
    a->run = writes ? run_write : run_read;
    a->run_on = writes ? run_write_on : run_read_on;
    memset(a->data, writes ? value : 0, REGION);
    in_two(a, a->data);
    bool anything = attempt(a);
    HOLDS_OF(a, !anything || a->result == REGION);
    r->value = anything ? value : r->value;
    HOLDS(pread(region_file, is, REGION, r->at) == REGION);
    for (int i = 0; i < REGION; i++)
        HOLDS_OF(a, is[i] == r->value && (writes || !anything || a->data[i] == r->value));
}

static void has_region(void *unused) {
    struct region r = {.at = (off_t)(region_count++) * REGION, .fixed = malloc(REGION)};
    struct act *a = new_act("region", &r);
    (void)unused;
    memset(r.fixed, 0, REGION);
    HOLDS(pwrite(region_file, r.fixed, REGION, r.at) == REGION);
    HOLDS(fin_memory_register(&r.memory, r.fixed, REGION) == 0);
    r.file = chance(2) ? fin_file_register(region_file) : region_file;
    HOLDS(r.file >= 0);
    a->size = REGION;
    for (unsigned n = 1 + chance(6); n; n--)
        attempt_on_region(a, chance(2));
    if (r.file != region_file)
        HOLDS(fin_file_unregister(r.file) == 0);
    HOLDS(fin_memory_unregister(r.memory) == 0);
    free(r.fixed);
}

#endif
