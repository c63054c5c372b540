// SPDX-License-Identifier: BSD-2-Clause
// While a poll of a group lets others run, its members go and others come: those that are gone are not looked at.
#include <stdlib.h>
#include <string.h>

#include <fin/thc.h>

#include "check.h"

enum { CHANNELS = 3 };
static struct thc_channel near[CHANNELS], far[CHANNELS];
static struct thc_channel_group group;
static struct thc_channel_group_item *items[CHANNELS];

static struct fipc_message *new_message(struct thc_channel *chnl, uint64_t value) {
    struct fipc_message *msg;
    CHECK_EQ(fipc_send_msg_start(thc_channel_to_fipc(chnl), &msg), 0);
    fipc_set_reg0(msg, value);
    return msg;
}

static void enter(int i) {
    items[i] = (struct thc_channel_group_item *)malloc(sizeof *items[i]);
    CHECK(items[i] != NULL);
    CHECK_EQ(thc_channel_group_item_init(items[i], &near[i], NULL), 0);
    CHECK_EQ(thc_channel_group_item_add(&group, items[i]), 0);
}

static void leave(int i) {
    thc_channel_group_item_remove(&group, items[i]);
    memset(items[i], 0x5a, sizeof *items[i]);
    free(items[i]);
}

static void calls(void) {
    struct fipc_message *response;
    CHECK_EQ(thc_ipc_call(&near[0], new_message(&near[0], 1), &response), 0);
    CHECK_EQ(fipc_get_reg0(response), 2);
    fipc_recv_msg_end(NULL, response);
}

static void changes(void) {
    uint32_t cookie;
    THCYield(); // for the one that polls
    leave(1);
    leave(0);
    enter(2);
    CHECK_EQ(thc_ipc_send_request(&far[2], new_message(&far[2], 3), &cookie), 0);
    thc_kill_request_cookie(cookie);
}

static void answers(void) {
    struct fipc_message *request;
    CHECK_EQ(thc_ipc_poll_recv(&far[0], &request), 0);
    uint32_t cookie = thc_get_request_cookie(request);
    fipc_recv_msg_end(NULL, request);
    CHECK_EQ(thc_ipc_reply(&far[0], cookie, new_message(&far[0], 2)), 0);
}

int main(void) {
    struct thc_channel_group_item *item;
    struct fipc_message *msg;
    thc_channel_group_init(&group);
    for (int i = 0; i < CHANNELS; i++) {
        struct fin_chan *ring[2];
        CHECK_EQ(fin_chan_pair(&ring[0], &ring[1], NULL), 0);
        CHECK_EQ(thc_channel_init(&near[i], ring[0]), 0);
        CHECK_EQ(thc_channel_init(&far[i], ring[1]), 0);
    }
    enter(0);
    enter(1);
    DO_FINISH({
        ASYNC({ calls(); });
        ASYNC({ changes(); });
        CHECK_EQ(thc_poll_recv_group(&group, &item, &msg), 0);
        CHECK(item == items[2]);
        CHECK_EQ(fipc_get_reg0(msg), 3);
        fipc_recv_msg_end(NULL, msg);
        answers();
    });
    CHECK_EQ(group.size, 1);
    leave(2);
    for (int i = 0; i < CHANNELS; i++) {
        CHECK_EQ(thc_channel_dec_ref(&near[i]), 1);
        CHECK_EQ(thc_channel_dec_ref(&far[i]), 1);
    }
    return 0;
}
