// SPDX-License-Identifier: BSD-2-Clause
// Messages that come to a thread as it ends: nobody will hear of their descriptors, so the library closes them. The
// receivers' frames are on stacks of their own, or on that of the thread, which is used again before the messages are
// looked at.
#define _GNU_SOURCE
#include <pthread.h>

#include "net.h"

enum { EACH = 20, FDS = 2 };

static int pair[EACH][2];
static char text[EACH][8];
static struct iovec into[EACH];
static int ran;

struct message {
    struct msghdr m;
    union {
        char room[CMSG_SPACE(FDS * sizeof(int))];
        struct cmsghdr align;
    } control;
};

static void message_init(struct message *m, struct iovec *v) {
    *m = (struct message){.m = {.msg_iov = v, .msg_iovlen = 1}};
    m->m.msg_control = m->control.room;
    m->m.msg_controllen = sizeof m->control.room;
}

static void receive_one(void *number) {
    struct message m;
    int i = (int)(intptr_t)number;
    into[i] = (struct iovec){text[i], sizeof text[i]};
    message_init(&m, &into[i]);
    fin_recvmsg(pair[i][1], &m.m, MSG_CMSG_CLOEXEC);
    ran++;
}

static void send_one(int i) {
    struct message m;
    struct iovec v = {text[i], 1};
    message_init(&m, &v);
    struct cmsghdr *c = CMSG_FIRSTHDR(&m.m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(FDS * sizeof(int));
    memcpy(CMSG_DATA(c), (int[FDS]){1, 2}, FDS * sizeof(int));
    CHECK_EQ(sendmsg(pair[i][0], &m.m, 0), 1);
}

static void *end_early(void *eager) {
    fin_finish {
        for (intptr_t i = 0; i < EACH; i++) {
            if (eager)
                fin_async_eager_call(receive_one, (void *)i);
            else
                fin_async_call(receive_one, (void *)i);
        }
        CHECK_EQ(fin_sleep(1), 0); // the kernel knows of all
        for (int i = 0; i < EACH; i++)
            send_one(i);
        pthread_exit(NULL);
    }
    return NULL;
}

static void one(void *eager) {
    pthread_t t;
    for (int i = 0; i < EACH; i++)
        CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair[i]), 0);
    CHECK_EQ(pthread_create(&t, NULL, end_early, eager), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    CHECK_EQ(ran, 0);
    for (int i = 0; i < EACH; i++) {
        close(pair[i][0]);
        close(pair[i][1]);
    }
}

int main(void) {
    static char yes;
    one(&yes);
    int before = settled_descriptors();
    for (int i = 0; i < 5; i++) {
        one(&yes);
        one(NULL);
    }
    until_open_descriptors(before);
    return 0;
}
