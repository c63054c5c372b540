// SPDX-License-Identifier: BSD-2-Clause
// A thread ends, which it must not do there (docs/core.md), while AWEs of it wait with continuations for messages, signals
// and child processes: none runs any more, the descriptors of a message that comes in between are closed, and what comes
// later is for others.
#define _GNU_SOURCE
#include <pthread.h>

#include "child.h"

enum { EACH = 8, YIELDS = 140 }; // events are looked at once in 127 switches

static struct place {
    struct fin_more_on on;
    struct msghdr m;
    struct iovec v;
    char byte;
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
} places[EACH];

static int pair[2], ran;
static struct fin_signals set;
static struct fin_signal_info info;
static struct fin_process child;

static void ends(void *p, int n) {
    struct place *here = *(struct place **)p;
    struct cmsghdr *c = CMSG_FIRSTHDR(&here->m);
    int fd;
    CHECK_EQ(n, 1);
    CHECK(c != NULL);
    memcpy(&fd, CMSG_DATA(c), sizeof fd);
    close(fd);
    ran++;
    fin_cont_end();
}

static void never(void *p, int result) {
    (void)p, (void)result;
    CHECK(false);
}

static void receives(void *p, int unused) {
    struct place *here = *(struct place **)p;
    (void)unused;
    here->v = (struct iovec){&here->byte, 1};
    here->m = (struct msghdr){.msg_iov = &here->v, .msg_iovlen = 1};
    here->m.msg_control = here->control.room;
    here->m.msg_controllen = sizeof here->control.room;
    fin_recvmsg_on(&here->on, pair[0], &here->m, MSG_CMSG_CLOEXEC, ends, &here, sizeof here);
    CHECK(false);
}

static void listens(void *p, int unused) {
    struct place *here = *(struct place **)p;
    (void)unused;
    fin_signals_next_on(&set, &info, &here->on, never, NULL, 0);
    CHECK(false);
}

static void waits(void *p, int unused) {
    struct place *here = *(struct place **)p;
    (void)unused;
    if (here != places)
        fin_block_on(never, NULL, 0);
    fin_wait_on(&child, NULL, &here->on, never, NULL, 0);
    CHECK(false);
}

static void send_one(void) {
    char byte = 0;
    struct iovec v = {&byte, 1};
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {""};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    *c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(c), &(int){2}, sizeof(int));
    CHECK_EQ(sendmsg(pair[1], &m, 0), 1);
}

static fin_cont *what;

static void begin(struct fin_finish_block *block) {
    for (struct place *p = places; p < places + EACH; p++)
        CHECK(fin_cont_start_(block, what, &p, sizeof p) != NULL);
}

// After so many switches the messages are in the kernel, in the thread, or taken.
static void *exits(void *yields) {
    fin_finish {
        begin((struct fin_finish_block *)fin_cancel_must_be_inside_fin_finish);
        CHECK_EQ(fin_sleep(1), 0); // the kernel knows of all
        for (int i = 0; what == receives && i < EACH; i++)
            send_one();
        for (intptr_t n = (intptr_t)yields; n; n--)
            fin_yield();
        pthread_exit(NULL);
    }
    return NULL;
}

static void one(fin_cont *cont, int yields) {
    pthread_t t;
    what = cont;
    CHECK_EQ(pthread_create(&t, NULL, exits, (void *)(intptr_t)yields), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

static void messages(int yields) {
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    one(receives, yields);
    close(pair[0]);
    close(pair[1]);
}

int main(void) {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    messages(0);
    int before = settled_descriptors();
    for (int yields = 0; yields < YIELDS; yields++)
        messages(yields);
    until_open_descriptors(before);
    CHECK_EQ(fin_signals_open(&set, &s), 0);
    one(listens, 3);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(fin_signals_next(&set, &info), 0);
    CHECK_EQ(info.signal, SIGUSR1);
    fin_signals_close(&set);
    CHECK_EQ(start_shell(&child, "exec sleep 1000"), 0);
    one(waits, 3);
    CHECK_EQ(fin_kill(&child, SIGKILL), 0); // it is as it was; who waited claims it for ever, as with a stack
    CHECK_EQ(waitpid(child.pid, NULL, 0), child.pid);
    return 0;
}
