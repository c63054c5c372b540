// SPDX-License-Identifier: BSD-2-Clause
// A channel whose last reference goes while AWEs wait for answers, for room, and for requests: its memory is free at once,
// they are told, and the ring is closed when the last of them is out of its call, so that the other end hears of it.
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fin/thc.h>

#include "check.h"

static struct thc_channel *near, far;
static int told;

static struct fipc_message *new_message(void) {
    struct fipc_message *msg;
    CHECK_EQ(fipc_send_msg_start(thc_channel_to_fipc(near), &msg), 0);
    return msg;
}

static void calls(void) {
    struct fipc_message *msg = new_message(), *response;
    CHECK_EQ(thc_ipc_call(near, msg, &response), -EPIPE);
    told++;
}

// Until there is no room.
static void sends(void) {
    uint32_t cookie;
    int error;
    struct fipc_message *msg;
    do {
        msg = new_message();
        error = thc_ipc_send_request(near, msg, &cookie);
    } while (error == 0);
    CHECK_EQ(error, -EPIPE);
    fipc_recv_msg_end(NULL, msg);
    told++;
}

// An AWE that waits for an answer reads for this one, too, and runs first.
static void polls(void) {
    struct fipc_message *msg;
    CHECK_EQ(thc_ipc_poll_recv(near, &msg), -EPIPE);
    told++;
}

static void open_both(bool between_processes) {
    struct fin_chan *ring[2];
    int fds[2];
    near = (struct thc_channel *)malloc(sizeof *near);
    CHECK(near != NULL);
    if (between_processes) {
        CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
        CHECK_EQ(fin_chan_offer(&ring[0], fds[0], NULL), 0);
        CHECK_EQ(fin_chan_take(&ring[1], fds[1], 0), 0);
    } else {
        CHECK_EQ(fin_chan_pair(&ring[0], &ring[1], NULL), 0);
    }
    CHECK_EQ(thc_channel_init(near, ring[0]), 0);
    CHECK_EQ(thc_channel_init(&far, ring[1]), 0);
    told = 0;
}

static void leave(void) {
    CHECK_EQ(thc_channel_dec_ref(near), 1);
    memset(near, 0x5a, sizeof *near);
    free(near);
}

// What was sent comes, and then the end.
static void hears_of_it(void) {
    struct fipc_message *msg;
    int error;
    for (int i = 0; (error = thc_ipc_poll_recv(&far, &msg)) != -EPIPE; i++) {
        CHECK(error == 0 || error == -EWOULDBLOCK);
        CHECK(i < 100000);
        if (error == 0)
            fipc_recv_msg_end(NULL, msg);
        THCYield();
    }
    CHECK_EQ(thc_channel_dec_ref(&far), 1);
}

static void for_answers(void) {
    open_both(false);
    DO_FINISH({
        ASYNC({ calls(); });
        ASYNC({ calls(); });
        ASYNC({ polls(); });
        CHECK_EQ(told, 0);
        leave();
    });
    CHECK_EQ(told, 3);
    hears_of_it();
}

static void for_room(bool between_processes) {
    open_both(between_processes);
    DO_FINISH({
        ASYNC({ sends(); });
        ASYNC({ calls(); });
        CHECK_EQ(told, 0);
        leave();
        hears_of_it();
    });
    CHECK_EQ(told, 2);
}

// The other side takes nothing.
static void for_room_that_never_comes(bool between_processes) {
    open_both(between_processes);
    DO_FINISH({
        ASYNC({ sends(); });
        ASYNC({ calls(); });
        ASYNC({ sends(); });
        THCYield();
        CHECK_EQ(told, 0);
        leave();
    });
    CHECK_EQ(told, 3);
    hears_of_it();
}

// Who calls does not know whether the request was sent, and so cannot give its message back: ASan and valgrind see whether
// somebody has, where no list of a thread that runs has them.
static void calls_the_dead(void *unused) {
    (void)unused;
    open_both(false);
    thc_channel_mark_dead(near);
    for (int i = 0; i < 10; i++)
        calls();
    leave();
    CHECK_EQ(thc_channel_dec_ref(&far), 1);
}

int main(void) {
    struct fin_thread_handle t;
    alarm(60);
    for_answers();
    for (int i = 0; i < 2; i++) {
        for_room(i);
        for_room_that_never_comes(i);
    }
    CHECK_EQ(fin_thread_start(&t, calls_the_dead, NULL), 0);
    CHECK_EQ(fin_thread_join(&t), 0);
    return 0;
}
