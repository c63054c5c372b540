// SPDX-License-Identifier: BSD-2-Clause
// A side that goes with rings for it unread, as it may have woken, or been cancelled, before it heard them. The kernel tells
// the other one of that before all else: what was sent can be received still, descriptors too, and who sends them is told
// -EPIPE.
#define _GNU_SOURCE
#include <sys/mman.h>

#include "chan.h"

static char *memory, bytes[64];
static int other[2];
static size_t page;

static void open_by_hand(void) {
    char hello[64], control[256];
    struct iovec v = {hello, sizeof hello};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    int s[2], fds[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
    CHECK_EQ(fin_chan_offer(&a, s[0], &(struct fin_chan_options){page, 0}), 0);
    CHECK(recvmsg(s[1], &m, 0) > 0);
    memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fds);
    memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
    CHECK(memory != MAP_FAILED);
    close(fds[0]);
    other[0] = s[1];
    other[1] = fds[1];
}

static void put(unsigned line, uint64_t size, uint64_t kind) {
    __atomic_store_n((uint64_t *)(memory + page + line * 64), size << 32 | 1 << 8 | kind, __ATOMIC_RELEASE);
}

static void send_descriptor(int to) {
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control = {{0}};
    struct iovec v = {"x", 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &(int){0}, sizeof(int));
    CHECK_EQ(sendmsg(to, &m, 0), 1);
}

// It waits for room, is rung for, sends descriptors and closes its end.
static void leave_last(void *unused) {
    (void)unused;
    CHECK_EQ(recv(other[0], bytes, 1, MSG_PEEK | MSG_DONTWAIT), 1);
    send_descriptor(other[0]);
    put(8, 4, 2);
    *(uint32_t *)(memory + 8) = 1;
    close(other[0]);
    close(other[1]);
}

static void take_last(void *unused) {
    unsigned count = 1;
    int fd;
    (void)unused;
    CHECK_EQ(fin_chan_recv_fds(a, bytes, sizeof bytes, &fd, &count), 4);
    CHECK_EQ(count, 1);
    CHECK_EQ(close(fd), 0);
}

static void take_rest(void) {
    *(uint64_t *)memory = 1; // it waits
    for (unsigned i = 0; i < 8; i++)
        put(i, 56, 1);
    for (unsigned i = 0; i < 8; i++)
        CHECK_EQ(fin_chan_recv(a, bytes, sizeof bytes), 56);
}

static void end(void) {
    CHECK_EQ(fin_chan_recv(a, bytes, sizeof bytes), -ESHUTDOWN);
    CHECK_EQ(fin_chan_close(a), 0);
    munmap(memory, 3 * page);
}

static void received(void) {
    open_by_hand();
    take_rest();
    leave_last(NULL);
    take_last(NULL);
    end();
}

static void sleeping(void) {
    open_by_hand();
    take_rest();
    fin_finish {
        fin_async_call(take_last, NULL);
        CHECK_EQ(fin_sleep(10 * FIN_MS), 0);
        leave_last(NULL);
    }
    end();
}

static void in_a_set(void) {
    struct fin_waitset *w;
    open_by_hand();
    take_rest();
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, a, take_last, NULL), 0);
    leave_last(NULL);
    CHECK_EQ(fin_waitset_dispatch(w), 0);
    fin_waitset_close(w);
    end();
}

static void sent(void) {
    open_kind(SOCKET, 0, 0);
    CHECK_EQ(fin_chan_send_fds(a, "unread", 6, &(int){0}, 1), 0);
    CHECK_EQ(fin_chan_close(b), 0);
    CHECK_EQ(fin_chan_send_fds(a, "fd", 2, &(int){0}, 1), -EPIPE);
    CHECK_EQ(fin_chan_send(a, "none", 4), -EPIPE);
    CHECK_EQ(fin_chan_close(a), 0);
}

int main(void) {
    alarm(60);
    page = (size_t)sysconf(_SC_PAGESIZE);
    received();
    sleeping();
    int before = open_descriptors(); // with what a thread waits with
    received();
    sleeping();
    in_a_set();
    sent();
    CHECK_EQ(open_descriptors(), before);
    return 0;
}
