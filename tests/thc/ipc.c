// SPDX-License-Identifier: BSD-2-Clause
// A program for libasync: the dispatch loop (ac-extensions 5.3) and the experiment of figure 4 in small. Thread 1 calls;
// thread 2 adds one, or asks thread 3, which adds ten and is slow; the others are not delayed. Only the rings are Fin's.
#include <string.h>

#include <fin/thc.h>

#include "check.h"

enum fn_type { ADD_1 = 1, ADD_10, STOP };
enum { ROUNDS = 40, EVERY = 10 };

static struct thc_channel to_2, from_1, to_3, from_2;
static struct thc_channel_group group_2, group_3;
static struct thc_channel_group_item item_2, item_23, item_3;
static int stopped_2, stopped_3;

static uint32_t get_fn_type(struct fipc_message *msg) { return fipc_get_flags(msg) >> THC_RESERVED_MSG_FLAG_BITS; }

static struct fipc_message *new_message(struct thc_channel *chnl, uint32_t type, uint64_t value) {
    struct fipc_message *msg;
    CHECK_EQ(fipc_send_msg_start(thc_channel_to_fipc(chnl), &msg), 0);
    fipc_set_flags(msg, type << THC_RESERVED_MSG_FLAG_BITS);
    fipc_set_reg0(msg, value);
    fipc_set_reg6(msg, ~value);
    return msg;
}

static uint64_t take(struct thc_channel *chnl, struct fipc_message *msg) {
    uint64_t value = fipc_get_reg0(msg);
    CHECK(fipc_get_reg6(msg) == ~value);
    CHECK_EQ(fipc_recv_msg_end(thc_channel_to_fipc(chnl), msg), 0);
    return value;
}

static uint64_t call(struct thc_channel *chnl, uint32_t type, uint64_t value) {
    struct fipc_message *response;
    CHECK_EQ(thc_ipc_call(chnl, new_message(chnl, type, value), &response), 0);
    CHECK_EQ(thc_get_msg_type(response), msg_type_response);
    CHECK_EQ(get_fn_type(response), type);
    return take(chnl, response);
}

static int dispatch_2(struct thc_channel_group_item *item, struct fipc_message *msg) {
    struct thc_channel *chnl = item->channel;
    uint32_t cookie = thc_get_request_cookie(msg), type = get_fn_type(msg);
    CHECK_EQ(thc_get_msg_type(msg), msg_type_request);
    uint64_t value = take(chnl, msg);
    if (type == ADD_10)
        value = call(&to_3, ADD_10, value);
    else if (type == STOP)
        stopped_2 = call(&to_3, STOP, 0) == 0;
    else
        value++;
    return thc_ipc_reply(chnl, cookie, new_message(chnl, type, value));
}

static int dispatch_3(struct thc_channel_group_item *item, struct fipc_message *msg) {
    struct thc_channel *chnl = item->channel;
    uint32_t cookie = thc_get_request_cookie(msg), type = get_fn_type(msg);
    uint64_t value = take(chnl, msg);
    if (type == ADD_10)
        fin_sleep(FIN_MS);
    stopped_3 = type == STOP;
    return thc_ipc_reply(chnl, cookie, new_message(chnl, type, value + (type == ADD_10 ? 10 : 0)));
}

static void dispatch(struct thc_channel_group *rx_group, int *stopped) {
    struct thc_channel_group_item *item;
    struct fipc_message *msg;
    DO_FINISH_(ipc_dispatch, {
        while (!*stopped) {
            if (!thc_poll_recv_group(rx_group, &item, &msg)) {
                if (item->dispatch_fn) {
                    ASYNC_({ CHECK_EQ(item->dispatch_fn(item, msg), 0); }, ipc_dispatch);
                }
            } else {
                THCYield();
            }
        }
    });
}

static void thread_2(void *rings) {
    struct fin_chan **ring = (struct fin_chan **)rings;
    struct thc_channel_group_item *item;
    thc_init();
    CHECK_EQ(thc_channel_init(&from_1, ring[1]), 0);
    CHECK_EQ(thc_channel_init(&to_3, ring[2]), 0);
    thc_channel_group_init(&group_2);
    thc_channel_group_item_init(&item_2, &from_1, dispatch_2);
    thc_channel_group_item_init(&item_23, &to_3, NULL); // no request comes from there
    CHECK_EQ(thc_channel_group_item_add(&group_2, &item_2), 0);
    CHECK_EQ(thc_channel_group_item_add(&group_2, &item_23), 0);
    CHECK_EQ(group_2.size, 2);
    CHECK_EQ(thc_channel_group_item_get(&group_2, 1, &item), 0);
    CHECK(item == &item_23);
    CHECK(thc_channel_group_item_get(&group_2, 2, &item) != 0);
    dispatch(&group_2, &stopped_2);
    thc_channel_group_item_remove(&group_2, &item_2);
    CHECK_EQ(group_2.size, 1);
    CHECK_EQ(thc_channel_dec_ref(&to_3), 1);
    CHECK_EQ(thc_channel_dec_ref(&from_1), 1);
    thc_done();
}

static void thread_3(void *rings) {
    CHECK_EQ(thc_channel_init(&from_2, ((struct fin_chan **)rings)[3]), 0);
    thc_channel_group_init(&group_3);
    thc_channel_group_item_init(&item_3, &from_2, dispatch_3);
    CHECK_EQ(thc_channel_group_item_add(&group_3, &item_3), 0);
    dispatch(&group_3, &stopped_3);
    CHECK_EQ(thc_channel_dec_ref(&from_2), 1);
}

static int quick, slow, quick_before_slow;

static void transaction(int n, int type) {
    uint64_t value = call(&to_2, (uint32_t)type, (uint64_t)n);
    CHECK_EQ(value, n + (type == ADD_10 ? 10 : 1));
    if (type == ADD_1)
        quick++;
    else if (slow++ == 0)
        quick_before_slow = quick;
}

static void calls(void) {
    DO_FINISH({
        for (int i = 0; i < ROUNDS; i++) {
            ASYNC({ transaction(i, ADD_1); });
            ASYNC({ transaction(i, ADD_1); });
            if (i % EVERY == 0)
                ASYNC({ transaction(i, ADD_10); });
        }
    });
    CHECK_EQ(quick, 2 * ROUNDS);
    CHECK_EQ(slow, ROUNDS / EVERY);
    printf("%d of %d quick answers before the first slow one\n", quick_before_slow, quick);
}

// Cookies in another order than the answers; one that is killed; one of another channel; a message on the stack.
static void cookies(void) {
    uint32_t cookie[3], more;
    struct fipc_message *response, on_stack = {0, 0, {0}};
    for (int i = 0; i < 3; i++)
        CHECK_EQ(thc_ipc_send_request(&to_2, new_message(&to_2, ADD_1, (uint64_t)i * 100), &cookie[i]), 0);
    fipc_set_flags(&on_stack, ADD_1 << THC_RESERVED_MSG_FLAG_BITS);
    fipc_set_reg0(&on_stack, 7);
    fipc_set_reg6(&on_stack, ~UINT64_C(7));
    thc_kill_request_cookie(cookie[1]);
    thc_kill_request_cookie(cookie[1]);
    CHECK_EQ(thc_ipc_send_request(&to_2, &on_stack, &more), 0);
    CHECK_EQ(thc_ipc_recv_response(&to_2, more, &response), 0);
    CHECK_EQ(fipc_get_reg0(response), 8);
    fipc_recv_msg_end(thc_channel_to_fipc(&to_2), response);
    CHECK_EQ(thc_ipc_recv_response(&to_2, cookie[1], &response), -ESRCH);
    for (int i = 2; i >= 0; i -= 2) {
        CHECK_EQ(thc_ipc_recv_response(&to_2, cookie[i], &response), 0);
        CHECK_EQ(take(&to_2, response), i * 100 + 1);
    }
    CHECK_EQ(thc_ipc_poll_recv(&to_2, &response), -EWOULDBLOCK);
}

static void waits_for_the_dead(struct thc_channel *chnl) {
    struct fipc_message *response;
    CHECK_EQ(thc_ipc_call(chnl, new_message(chnl, ADD_1, 0), &response), -EPIPE);
}

// Who waits for an answer is told when the channel is marked dead, or its other end goes.
static void death(void) {
    struct fin_chan *ring[2];
    static struct thc_channel near, far;
    struct fipc_message *msg;
    for (int closes = 0; closes < 2; closes++) {
        CHECK_EQ(fin_chan_pair(&ring[0], &ring[1], NULL), 0);
        CHECK_EQ(thc_channel_init(&near, ring[0]), 0);
        CHECK_EQ(thc_channel_init(&far, ring[1]), 0);
        thc_channel_inc_ref(&near);
        CHECK(thc_channel_is_live(&near));
        DO_FINISH({
            ASYNC({ waits_for_the_dead(&near); });
            ASYNC({ waits_for_the_dead(&near); });
            fin_sleep(FIN_MS);
            CHECK_EQ(thc_ipc_poll_recv(&far, &msg), 0);
            fipc_recv_msg_end(ring[1], msg);
            if (closes)
                CHECK_EQ(thc_channel_dec_ref(&far), 1);
            else
                thc_channel_mark_dead(&near);
        });
        CHECK(thc_channel_is_dead(&near));
        waits_for_the_dead(&near);
        CHECK_EQ(thc_channel_dec_ref(&near), 0);
        CHECK_EQ(thc_channel_dec_ref(&near), 1);
        if (!closes)
            CHECK_EQ(thc_channel_dec_ref(&far), 1);
    }
}

// The other end answers and goes. Who cannot send any more to it has its answers all the same, and hears of the end then.
static void last_answers(void) {
    enum { ANSWERS = 3 };
    struct fin_chan *ring[2];
    struct thc_channel near, far;
    struct fipc_message *msg;
    uint32_t cookie[ANSWERS], none;
    CHECK_EQ(fin_chan_pair(&ring[0], &ring[1], NULL), 0);
    CHECK_EQ(thc_channel_init(&near, ring[0]), 0);
    CHECK_EQ(thc_channel_init(&far, ring[1]), 0);
    for (int i = 0; i < ANSWERS; i++)
        CHECK_EQ(thc_ipc_send_request(&near, new_message(&near, ADD_1, (uint64_t)i), &cookie[i]), 0);
    for (int i = 0; i < ANSWERS; i++) {
        CHECK_EQ(thc_ipc_poll_recv(&far, &msg), 0);
        CHECK_EQ(thc_ipc_reply(&far, thc_get_request_cookie(msg), msg), 0);
    }
    CHECK_EQ(thc_channel_dec_ref(&far), 1);
    msg = new_message(&near, ADD_1, 0);
    CHECK_EQ(thc_ipc_send_request(&near, msg, &none), -EPIPE);
    fipc_recv_msg_end(ring[0], msg);
    for (int i = 0; i < ANSWERS; i++) {
        CHECK_EQ(thc_ipc_recv_response(&near, cookie[i], &msg), 0);
        CHECK_EQ(take(&near, msg), i);
    }
    waits_for_the_dead(&near);
    int r;
    while ((r = thc_ipc_poll_recv(&near, &msg)) == -EWOULDBLOCK) {
    }
    CHECK_EQ(r, -EPIPE);
    CHECK(thc_channel_is_dead(&near));
    CHECK_EQ(thc_channel_dec_ref(&near), 1);
}

// A message's type and id, by hand: two bits of its flags, and nothing that is the program's.
static void fields(void) {
    struct fipc_message m;
    memset(&m, 0, sizeof m);
    fipc_set_flags(&m, ADD_10 << THC_RESERVED_MSG_FLAG_BITS);
    thc_set_msg_id(&m, 0xfedcba98);
    thc_set_msg_type(&m, msg_type_response);
    CHECK_EQ(thc_get_msg_type(&m), msg_type_response);
    CHECK_EQ(thc_get_msg_id(&m), 0xfedcba98);
    CHECK_EQ(thc_get_request_cookie(&m), 0xfedcba98);
    thc_set_msg_type(&m, msg_type_request);
    CHECK_EQ(thc_get_msg_type(&m), msg_type_request);
    CHECK_EQ(get_fn_type(&m), ADD_10);
    thc_set_msg_type(&m, msg_type_unspecified);
    CHECK_EQ(thc_get_msg_type(&m), msg_type_unspecified);
    CHECK_EQ(get_fn_type(&m), ADD_10);
}

// A peer that is no thc sends more than a message holds: the channel ends, and nobody waits for ever.
static void too_long(void) {
    struct fin_chan *a, *b;
    struct thc_channel end;
    struct fin_rpc *peer;
    struct fipc_message *msg;
    char long_request[200] = {0};
    uint32_t id;
    CHECK_EQ(fin_chan_pair(&a, &b, NULL), 0);
    CHECK_EQ(thc_channel_init(&end, a), 0);
    CHECK_EQ(fin_rpc_open(&peer, b, 0), 0);
    CHECK_EQ(fin_rpc_send(peer, long_request, sizeof long_request, &id), 0);
    CHECK_EQ(thc_ipc_poll_recv(&end, &msg), -EPIPE);
    CHECK_EQ(thc_ipc_poll_recv(&end, &msg), -EPIPE);
    CHECK_EQ(thc_channel_dec_ref(&end), 1);
    fin_rpc_close(peer);
}

int main(void) {
    struct fin_chan *ring[4];
    struct fin_thread_handle t2, t3;
    struct fipc_message *response;
    fields();
    thc_global_init();
    thc_init();
    CHECK_EQ(fin_chan_pair(&ring[0], &ring[1], NULL), 0);
    CHECK_EQ(fin_chan_pair(&ring[2], &ring[3], NULL), 0);
    CHECK_EQ(fin_thread_start(&t2, thread_2, ring), 0);
    CHECK_EQ(fin_thread_start(&t3, thread_3, ring), 0);
    CHECK_EQ(thc_channel_init(&to_2, ring[0]), 0);
    calls();
    cookies();
    CHECK_EQ(thc_ipc_call(&to_2, new_message(&to_2, STOP, 0), &response), 0);
    CHECK_EQ(take(&to_2, response), 0);
    CHECK_EQ(fin_thread_join(&t2), 0);
    CHECK_EQ(fin_thread_join(&t3), 0);
    CHECK_EQ(thc_channel_dec_ref(&to_2), 1);
    death();
    last_answers();
    too_long();
    thc_done();
    thc_global_fini();
    return 0;
}
