// SPDX-License-Identifier: BSD-2-Clause
// A response for another AWE resumes that one directly: before what was queued, and before who has received it.
#include <string.h>

#include <fin/thc.h>

#include "check.h"

enum { CALLS = 3 };

static struct thc_channel near, far;
static uint32_t cookies[CALLS];
static int waiting, replied;

static struct fipc_message *new_message(struct thc_channel *chnl) {
    struct fipc_message *msg;
    CHECK_EQ(fipc_send_msg_start(thc_channel_to_fipc(chnl), &msg), 0);
    return msg;
}

// The last request is answered first, once all responses are waited for.
static void replies(void *ring) {
    struct fipc_message *msg;
    uint32_t requests[CALLS];
    CHECK_EQ(thc_channel_init(&far, (struct fin_chan *)ring), 0);
    for (int i = 0; i < CALLS; i++) {
        while (thc_ipc_poll_recv(&far, &msg) != 0) {
        }
        requests[i] = thc_get_request_cookie(msg);
        fipc_recv_msg_end(thc_channel_to_fipc(&far), msg);
    }
    while (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))
        fin_sleep(FIN_MS);
    for (int i = CALLS; i-- > 0;)
        CHECK_EQ(thc_ipc_reply(&far, requests[i], new_message(&far)), 0);
    __atomic_store_n(&replied, 1, __ATOMIC_RELEASE);
    while (thc_ipc_poll_recv(&far, &msg) == -EWOULDBLOCK)
        fin_sleep(FIN_MS);
    CHECK_EQ(thc_channel_dec_ref(&far), 1);
}

static FIN_BLOCKING void receive(int i) {
    struct fipc_message *msg;
    CHECK_EQ(thc_ipc_recv_response(&near, cookies[i], &msg), 0);
    fipc_recv_msg_end(thc_channel_to_fipc(&near), msg);
    LOG("%d ", i);
}

static FIN_BLOCKING void receives(void) {
    DO_FINISH({
        ASYNC({ receive(0); });
        ASYNC({ receive(1); });
        ASYNC({ receive(2); });
        ASYNC({
            LOG("q ");
            THCYield();
            LOG("Q ");
        });
        __atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
        while (!__atomic_load_n(&replied, __ATOMIC_ACQUIRE)) {
        }
    });
}

int main(void) {
    struct fin_chan *ring[2];
    struct fin_thread_handle t;
    CHECK_EQ(fin_chan_pair(&ring[0], &ring[1], NULL), 0);
    CHECK_EQ(thc_channel_init(&near, ring[0]), 0);
    CHECK_EQ(fin_thread_start(&t, replies, ring[1]), 0);
    for (int i = 0; i < CALLS; i++)
        CHECK_EQ(thc_ipc_send_request(&near, new_message(&near), &cookies[i]), 0);
    receives();
    CHECK_LOG("q 2 Q 1 0 ");
    CHECK_EQ(thc_channel_dec_ref(&near), 1);
    CHECK_EQ(fin_thread_join(&t), 0);
    return 0;
}
