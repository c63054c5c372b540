// SPDX-License-Identifier: BSD-2-Clause
// One forged word each: a length that is too long, a kind that is none, a receiver that took what was not sent; and
// descriptors whose messages never come. The channel says -EPROTO from then on.
#define _GNU_SOURCE
#include "by_hand.h"

static char bytes[4096];

static void close_forged(void) {
    CHECK_EQ(fin_chan_close(a), 0);
    munmap(memory, 3 * page);
    close_other();
}

static void header(uint64_t size, uint64_t kind) { put(0, size, kind); }
// What the receiver of direction 1 took.
static void consumed(uint64_t lines) { *(uint64_t *)(memory + 2 * 128 + 256) = lines; }

static void refused(uint64_t size, uint64_t kind) {
    open_by_hand();
    header(size, kind);
    CHECK_EQ(fin_chan_recv(a, bytes, sizeof bytes), -EPROTO);
    header(8, 1);
    CHECK_EQ(fin_chan_recv(a, bytes, sizeof bytes), -EPROTO);
    CHECK_EQ(fin_chan_try_recv(a, bytes, sizeof bytes), -EPROTO);
    close_forged();
}

static void not_peeked(void) {
    const void *at;
    open_by_hand();
    header(page, 1);
    CHECK_EQ(fin_chan_try_peek(a, &at), -EPROTO);
    CHECK_EQ(fin_chan_release(a), -EINVAL);
    close_forged();
}

static void endless(void) {
    open_by_hand();
    for (size_t at = 0; at < page; at += 64)
        *(uint64_t *)(memory + page + at) = (uint64_t)1 << 32 | 1 << 8 | 3;
    CHECK_EQ(fin_chan_recv(a, bytes, sizeof bytes), -EPROTO);
    CHECK_EQ(fin_chan_try_recv(a, bytes, sizeof bytes), -EPROTO);
    close_forged();
}

static void receives(void *result) { *(ssize_t *)result = fin_chan_try_recv(a, bytes, sizeof bytes); }

// Descriptors of two messages, and then neither of these: a waitset does not wait for them for ever.
static void descriptors_alone(void) {
    struct fin_waitset *w;
    ssize_t got = 0;
    open_by_hand();
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, a, receives, &got), 0);
    send_descriptor(other[0], STDIN_FILENO);
    send_descriptor(other[0], STDIN_FILENO);
    CHECK_EQ(fin_waitset_dispatch(w), 0);
    CHECK_EQ(got, -EPROTO);
    fin_waitset_close(w);
    close_forged();
}

int main(void) {
    int r;
    alarm(60);
    open_by_hand();
    header(8, 1);
    CHECK_EQ(fin_chan_recv(a, bytes, sizeof bytes), 8);
    size_t most = fin_chan_most(a);
    close_forged();
    refused(most + 1, 1);
    descriptors_alone();
    refused(UINT32_MAX, 1);
    refused(0, 3); // a skip of nothing, one of more than there is, and skips without end
    refused(page / 64 + 1, 3);
    endless();
    not_peeked();
    refused(8, 4);
    refused(8, 0xff);
    refused(8, 2); // with descriptors that never came
    open_by_hand();
    CHECK_EQ(fin_chan_try_send(a, bytes, 8), 0);
    consumed(1);
    while ((r = fin_chan_try_send(a, bytes, 8)) == 0) {
    }
    CHECK_EQ(r, -EAGAIN);
    consumed(1000000);
    CHECK_EQ(fin_chan_send(a, bytes, 8), -EPROTO);
    close_forged();
    open_by_hand();
    while ((r = fin_chan_try_send(a, bytes, 8)) == 0) {
    }
    consumed(20);
    CHECK_EQ(fin_chan_send(a, bytes, 8), 0);
    while ((r = fin_chan_try_send(a, bytes, 8)) == 0) {
    }
    consumed(19);
    CHECK_EQ(fin_chan_send(a, bytes, 8), -EPROTO);
    close_forged();
    open_by_hand();
    consumed(1); // before anything was sent
    CHECK_EQ(fin_chan_send(a, bytes, 8), -EPROTO);
    close_forged();
    return 0;
}
