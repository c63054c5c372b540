// SPDX-License-Identifier: BSD-2-Clause
// The child of a fork cancels a fin_connect of its parent's. That ends in the child; the socket, which both have, goes on
// connecting for the parent.
#include <netinet/tcp.h>

#include "net.h"

static struct full_listener full;
static int fd, result;

static void connects(void *unused) {
    (void)unused;
    result = fin_connect(fd, (struct sockaddr *)&full.address, sizeof full.address);
}

static void over(void *state, int r) {
    (void)state;
    result = r;
    fin_cont_end();
}

static void connects_on(void *state, int r) {
    static struct fin_more_on on;
    (void)state;
    CHECK_EQ(r, 0);
    fin_connect_on(&on, fd, (struct sockaddr *)&full.address, sizeof full.address, over, NULL, 0);
}

static int state_of_socket(void) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    CHECK_EQ(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    return info.tcpi_state;
}

static void is_cancelled_in_child(bool with_stack) {
    pid_t child;
    listen_and_fill(&full);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    result = 1;
    fin_finish {
        if (with_stack)
            fin_async_call(connects, NULL);
        else
            CHECK(fin_async_cont(connects_on, NULL, 0));
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        CHECK_EQ(result, 1);
        CHECK_EQ(state_of_socket(), TCP_SYN_SENT);
        child = fork();
        CHECK(child >= 0);
        if (child > 0) {
            ended_well(child);
            CHECK_EQ(state_of_socket(), TCP_SYN_SENT);
        }
        fin_cancel();
    }
    CHECK_EQ(result, -ECANCELED);
    if (child == 0)
        _exit(0);
    CHECK_EQ(state_of_socket(), TCP_CLOSE);
    close(fd);
    close_filled(&full);
}

int main(void) {
    is_cancelled_in_child(true);
    is_cancelled_in_child(false);
    return 0;
}
