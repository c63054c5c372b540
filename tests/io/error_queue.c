// SPDX-License-Identifier: BSD-2-Clause
// A socket with something in its error queue, which nobody reads, is ready for ever, says poll(2): all that receive from it
// wait for data all the same, and others run meanwhile.
#define _GNU_SOURCE
#include <fin/stats.h>
#include <fin/stream.h>

#include "errors.h"

static int fd, peer;
static struct fin_buffers *buffers;
static struct fin_receiver *receiver;
static char room[16];

static FIN_BLOCKING ssize_t receives(void) { return fin_recv(fd, room, sizeof room, 0); }
static FIN_BLOCKING ssize_t reads(void) { return fin_read(fd, room, sizeof room); }

static FIN_BLOCKING ssize_t receives_message(void) {
    struct iovec v = {room, sizeof room};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    return fin_recvmsg(fd, &m, 0);
}

static FIN_BLOCKING ssize_t of_piece(ssize_t n, void *piece) {
    if (n > 0) {
        memcpy(room, piece, (size_t)n);
        CHECK_EQ(fin_buffers_put(buffers, piece), 0);
    }
    return n;
}

static FIN_BLOCKING ssize_t receives_into_buffer(void) {
    void *piece = NULL;
    ssize_t n = fin_buffers_recv(buffers, fd, &piece, 0);
    return of_piece(n, piece);
}

static FIN_BLOCKING ssize_t receives_next(void) {
    void *piece = NULL;
    ssize_t n = fin_receiver_next(receiver, &piece);
    return of_piece(n, piece);
}

struct on {
    struct fin_on on;
    struct fin_buffers_on into;
    void *piece;
    long *result;
};

static void has_received(void *on, int n) {
    *(*(struct on **)on)->result = n;
    fin_cont_end();
}

static void without_stack(void *on, int n) {
    struct on *o = *(struct on **)on;
    has_received(&o, fin_recv_on(&o->on, fd, room, sizeof room, 0, has_received, &o, sizeof o));
    (void)n;
}

static void into_without_stack(void *on, int n) {
    struct on *o = *(struct on **)on;
    has_received(&o, fin_buffers_recv_on(buffers, fd, &o->piece, &o->into, has_received, &o, sizeof o));
    (void)n;
}

static FIN_BLOCKING ssize_t runs(fin_cont *cont, struct on *on) {
    long result = 0;
    on->result = &result;
    fin_finish {
        CHECK(fin_async_cont(cont, &on, sizeof on));
    }
    return result;
}

static FIN_BLOCKING ssize_t receives_on(void) {
    struct on on = {0};
    return runs(without_stack, &on);
}

static FIN_BLOCKING ssize_t receives_into_on(void) {
    struct on on = {0};
    ssize_t n = runs(into_without_stack, &on);
    return of_piece(n, on.piece);
}

static void try_it(const char *name, ssize_t (*receive)(void)) {
    fin_shared ssize_t n = 0, cancelled = 0;
    struct fin_stats before, after;
    memset(room, 0, sizeof room);
    fin_finish {
        fin_async { cancelled = receive(); };
        CHECK_EQ(fin_sleep(2 * FIN_MS), 0);
        fin_cancel();
    }
    if (cancelled != -ECANCELED)
        fprintf(stderr, "%s: %zd\n", name, cancelled);
    CHECK_EQ(cancelled, -ECANCELED);
    fin_finish {
        fin_async { n = receive(); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_stats(&before);
        CHECK_EQ(fin_sleep(20 * FIN_MS), 0);
        fin_stats(&after);
        CHECK_EQ(n, 0);
        uint64_t tries = after.switches - before.switches + after.requests - before.requests;
        if (tries > 500)
            fprintf(stderr, "%s: %lu switches and requests in 20 ms\n", name, (unsigned long)tries);
        CHECK(tries <= 500);
        CHECK_EQ(send(peer, "data", 4, 0), 4);
    }
    CHECK_EQ(n, 4);
    CHECK(memcmp(room, "data", 4) == 0);
}

int main(void) {
    CHECK_EQ(fin_buffers_open(&buffers, 2, 16), 0);
    socket_with_error(&fd, &peer);
    CHECK_EQ(fin_receiver_open(&receiver, fd, buffers), 0);
    try_it("recv", receives);
    try_it("read", reads);
    try_it("recvmsg", receives_message);
    try_it("recv_on", receives_on);
    try_it("buffers_recv", receives_into_buffer);
    try_it("buffers_recv_on", receives_into_on);
    try_it("receiver_next", receives_next);
    CHECK_EQ(fin_receiver_close(receiver), 0);
    CHECK_EQ(fin_buffers_close(buffers), 0);
    close(fd);
    close(peer);
    return 0;
}
