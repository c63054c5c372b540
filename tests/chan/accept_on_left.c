// SPDX-License-Identifier: BSD-2-Clause
// A thread ends, which it must not do there (docs/core.md), while an AWE of it waits for a client without a stack, and one
// comes: at each number of switches it has been told of the client, or that one is the next acceptor's.
#include <pthread.h>
#include <stddef.h>
#include <sys/un.h>

#include "chan.h"

enum { YIELDS = 140 }; // events are looked at once in 127 switches

static struct fin_chan_listener *l;
static char name[64];
static struct fin_chan_on on;
static struct fin_chan *c;
static int client, told, in_time;

static void accepted(void *state, int result) {
    (void)state;
    CHECK_EQ(result, 0);
    CHECK_EQ(fin_chan_close(c), 0);
    told++;
    fin_cont_end();
}

static void begin(void *state, int unused) {
    (void)unused;
    fin_chan_accept_on(l, &c, &on, accepted, state, 0);
    CHECK(false);
}

static int connect_now(void) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    memcpy(a.sun_path + 1, name + 1, strlen(name) - 1);
    CHECK_EQ(connect(fd, (struct sockaddr *)&a, size), 0);
    return fd;
}

static void *exits(void *yields) {
    fin_finish {
        CHECK(fin_async_cont(begin, NULL, 0) != NULL);
        CHECK_EQ(fin_sleep(1), 0); // the kernel knows
        client = connect_now();
        for (intptr_t n = (intptr_t)yields; n; n--)
            fin_yield();
        pthread_exit(NULL);
    }
    return NULL;
}

static void one(int yields) {
    pthread_t t;
    told = 0;
    CHECK_EQ(pthread_create(&t, NULL, exits, (void *)(intptr_t)yields), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    if (!told) {
        CHECK_EQ(fin_chan_accept_nc(l, &c), 0);
        CHECK_EQ(fin_chan_close(c), 0);
    }
    in_time += told;
    close(client);
}

int main(void) {
    alarm(60);
    snprintf(name, sizeof name, "@accept_on_left-%d", (int)getpid());
    CHECK_EQ(fin_chan_listen(&l, name, NULL), 0);
    one(0); // by now this thread has what wakes it
    int before = open_descriptors();
    for (int yields = 0; yields < YIELDS; yields++)
        one(yields);
    CHECK_EQ(open_descriptors(), before);
    CHECK(in_time > 0 && in_time < YIELDS);
    fin_chan_listener_close(l);
    return 0;
}
