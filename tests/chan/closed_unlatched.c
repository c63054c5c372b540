// SPDX-License-Identifier: BSD-2-Clause
// To close what another process sent takes long, and the library's thread has all that it can keep: who drops some waits.
// Meanwhile he keeps nobody from the end, nor from a waitset. (In place of what takes long here, datagram sockets do.)
#include <sched.h>
#include <sys/syscall.h>

#include "chan.h"

enum { KEPT = 256 }; // and one that is being closed

static int closing;
static bool open_now, over;
static int datagrams;

static bool takes_long(int fd) {
    int type = 0;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){sizeof type}) == 0 && type == SOCK_DGRAM;
}

int close(int fd) {
    if (fd != datagrams && takes_long(fd)) {
        __atomic_add_fetch(&closing, 1, __ATOMIC_SEQ_CST);
        while (!__atomic_load_n(&open_now, __ATOMIC_SEQ_CST))
            usleep(1000);
    }
    return (int)syscall(SYS_close, fd);
}

static void await_closing(int n) {
    while (__atomic_load_n(&closing, __ATOMIC_SEQ_CST) < n && !__atomic_load_n(&over, __ATOMIC_SEQ_CST))
        sched_yield();
}

static void drop_one(void) {
    char byte;
    CHECK_EQ(fin_chan_send_fds(a, "x", 1, &datagrams, 1), 0);
    CHECK_EQ(fin_chan_recv(b, &byte, 1), 1);
}

static void fill_up(void) {
    __atomic_store_n(&open_now, false, __ATOMIC_SEQ_CST);
    __atomic_store_n(&over, false, __ATOMIC_SEQ_CST);
    __atomic_store_n(&closing, 0, __ATOMIC_SEQ_CST);
    open_kind(SOCKET, 0, 0);
    drop_one();
    await_closing(1);
    for (int i = 0; i < KEPT; i++)
        drop_one();
    close_both();
}

// Another thread does the one, and is to be where it waits, or past it, when this one does the other.
static void beside(void (*one)(void *), void (*other)(void)) {
    struct fin_thread_handle thread;
    CHECK_EQ(fin_thread_start(&thread, one, NULL), 0);
    await_closing(2);
    other();
    __atomic_store_n(&open_now, true, __ATOMIC_SEQ_CST);
    fin_thread_join_nc(&thread);
}

static void receives(void *unused) {
    char byte;
    (void)unused;
    CHECK_EQ(fin_chan_try_recv(b, &byte, 1), 1);
    __atomic_store_n(&over, true, __ATOMIC_SEQ_CST);
}

static void finds_nothing(void) {
    char byte;
    CHECK_EQ(fin_chan_try_recv(b, &byte, 1), -EAGAIN);
}

static void unwanted(void) {
    fill_up();
    open_kind(SOCKET, 0, FIN_CHAN_SHARED);
    CHECK_EQ(fin_chan_send_fds(a, "x", 1, &datagrams, 1), 0);
    beside(receives, finds_nothing);
    close_both();
}

// The other side sends descriptors where none belong, to who waits for room, and is gone before there is any.
static int other_side;

static void waits_for_room(void *unused) {
    static const char bytes[1000];
    int r;
    (void)unused;
    do
        r = fin_chan_send(a, bytes, sizeof bytes);
    while (r == 0);
    CHECK_EQ(r, -EPIPE);
    __atomic_store_n(&over, true, __ATOMIC_SEQ_CST);
}

static void has_no_room(void) {
    static const char bytes[1000];
    CHECK_EQ(fin_chan_try_send(a, bytes, sizeof bytes), -EAGAIN);
    close(other_side);
}

static void for_room(void) {
    int s[2];
    fill_up();
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
    CHECK_EQ(fin_chan_offer(&a, s[0], &(struct fin_chan_options){4096, FIN_CHAN_SHARED}), 0);
    other_side = s[1];
    send_descriptor(other_side, datagrams);
    beside(waits_for_room, has_no_room);
    CHECK_EQ(fin_chan_close(a), 0);
}

// It has made its own socket as it likes: descriptors come behind something else.
static struct fin_waitset *w;

static void is_broken(void *unused) {
    char byte;
    (void)unused;
    CHECK_EQ(fin_chan_try_recv(b, &byte, 1), -EPROTO);
}

static void dispatches(void *unused) {
    (void)unused;
    CHECK_EQ(fin_waitset_dispatch(w), 0);
    __atomic_store_n(&over, true, __ATOMIC_SEQ_CST);
}

static void checks(void) {
    int r = fin_waitset_check(w);
    CHECK(r == 0 || r == -EAGAIN);
}

static void in_waitset(void) {
    int s[2], yes = 1;
    fill_up();
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
    int sender = dup(s[0]), receiver = dup(s[1]);
    CHECK_EQ(fin_chan_offer(&a, s[0], NULL), 0);
    CHECK_EQ(fin_chan_take(&b, s[1], 0), 0);
    CHECK_EQ(setsockopt(receiver, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes), 0);
    CHECK_EQ(fin_waitset_new(&w), 0);
    CHECK_EQ(fin_waitset_add(w, b, is_broken, NULL), 0);
    send_descriptor(sender, datagrams);
    beside(dispatches, checks);
    fin_waitset_close(w);
    close_both();
    close(sender);
    close(receiver);
}

int main(void) {
    if (on_valgrind())
        SKIP("valgrind runs no other thread during a close");
    alarm(50);
    CHECK((datagrams = socket(AF_UNIX, SOCK_DGRAM, 0)) >= 0);
    CHECK_EQ(fin_sleep(1), 0); // what the thread waits with is there
    int before = open_descriptors();
    void (*const each[])(void) = {unwanted, for_room, in_waitset};
    for (int i = 0; i < 3; i++) {
        each[i]();
        until_open_descriptors(before); // all are closed
    }
    return 0;
}
