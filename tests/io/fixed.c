// SPDX-License-Identifier: BSD-2-Clause
// Registered files and memory do what plain ones do; what is not registered (any more), or on another thread, is an error.
#define _GNU_SOURCE
#include <fcntl.h>
#include <fin/fixed.h>
#include <fin/linked.h>
#include <poll.h>
#include <pthread.h>

#include "net.h"

enum { SIZE = 8192, FILES = 1024 };

static char room[SIZE + 2];
static char *const memory = room + 1;
static struct fin_memory *m;
static int file, fd;

static void reads_and_writes(void) {
    char back[16] = "";
    memcpy(memory, "0123456789", 10);
    CHECK_EQ(fin_pwrite_fixed(fd, m, memory, 10, 0), 10);
    CHECK_EQ(fin_pread_fixed(file, m, memory + SIZE - 4, 4, 3), 4);
    CHECK(memcmp(memory + SIZE - 4, "3456", 4) == 0);
    CHECK_EQ(fin_pread(file, back, 10, 0), 10);
    CHECK(strcmp(back, "0123456789") == 0);
    CHECK_EQ(fin_pwrite(file, "ab", 2, 1), 2);
    CHECK_EQ(fin_fsync(file), 0);
    CHECK_EQ(fin_pread_fixed_nc(fd, m, memory, SIZE, 0), 10);
    CHECK(memcmp(memory, "0ab3456789", 10) == 0);
    struct fin_step s[] = {fin_step_pwrite(file, "x", 1, 0), fin_step_pread(file, back, 3, 0), fin_step_close(file)};
    CHECK_EQ(fin_linked(s, 3), 2);
    CHECK_EQ(s[2].result, -EBADF);
    CHECK(memcmp(back, "xab", 3) == 0);
}

static void outside(void) {
    CHECK_EQ(fin_pread_fixed(fd, m, memory + SIZE - 4, 5, 0), -EINVAL);
    CHECK_EQ(fin_pread_fixed(fd, m, memory - 1, 1, 0), -EINVAL);
    CHECK_EQ(fin_pread_fixed(fd, m, memory + SIZE + 1, 0, 0), -EINVAL);
    CHECK_EQ(fin_pread_fixed(fd, m, memory, SIZE, -1), -EINVAL);
    CHECK_EQ(fin_pread_fixed(-1, m, memory, SIZE, 0), -EBADF);
    struct fin_memory *none;
    CHECK_EQ(fin_memory_register(&none, NULL, 10), -EINVAL);
    CHECK_EQ(fin_memory_register(&none, memory, 0), -EINVAL);
    CHECK_EQ(fin_file_register(-1), -EBADF);
    CHECK_EQ(fin_file_register(file), -EBADF);
    struct fin_acceptor *a;
    CHECK_EQ(fin_acceptor_open(&a, file, 0), -EBADF); // it is for calls only
    struct fin_receiver *r;
    struct fin_buffers *b;
    CHECK_EQ(fin_buffers_open(&b, 1, 64), 0);
    CHECK_EQ(fin_receiver_open(&r, file, b), -EBADF);
    CHECK_EQ(fin_buffers_close(b), 0);
    int path = open("/", O_PATH), number = fin_file_register(path);
    if (number >= 0) { // without io_uring it is seen later
        CHECK_EQ(fin_fsync(number), -EBADF);
        CHECK_EQ(fin_file_unregister(number), 0);
    } else {
        CHECK_EQ(number, -EBADF);
    }
    close(path);
    CHECK_EQ(fin_close(file), -EBADF);
}

static void *other_thread(void *unused) {
    char c;
    CHECK_EQ(fin_pread(file, &c, 1, 0), -EBADF);
    CHECK_EQ(fin_file_unregister(file), -EBADF);
    CHECK_EQ(fin_pread_fixed(fd, m, memory, 1, 0), -EXDEV);
    CHECK_EQ(fin_memory_unregister(m), -EXDEV);
    CHECK(fin_file_register(fd) > 0); // left to the end of the thread
    struct fin_memory *mine;
    CHECK_EQ(fin_memory_register(&mine, &c, 1), 0);
    return unused;
}

// A socket by its number: waits, is cancelled, and the number can be given up meanwhile.
static void sockets(void) {
    static int pair[2], number;
    static char c;
    stream_pair(pair);
    number = fin_file_register(pair[0]);
    CHECK(number > 0);
    fin_finish {
        fin_async { CHECK_EQ(fin_recv(number, &c, 1, 0), 1); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_file_unregister(number), 0);
        CHECK_EQ(fin_send(pair[1], "s", 1, 0), 1);
    }
    CHECK_EQ(c, 's');
    CHECK_EQ(fin_recv(number, &c, 1, 0), -EBADF);
    int again = fin_file_register(pair[0]);
    CHECK(again != number);
    fin_finish {
        fin_async { CHECK_EQ(fin_recv(again, &c, 1, 0), -ECANCELED); };
        fin_async { CHECK_EQ(fin_poll(again, POLLIN), -ECANCELED); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
    }
    static char all[4];
    static size_t count;
    fin_finish { // two receives: one begins before the number is given up, one after
        fin_async { CHECK_EQ(fin_recv_all(again, all, sizeof all, 0, &count), 0); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_file_unregister(again), 0);
        CHECK_EQ(fin_send(pair[1], "ab", 2, 0), 2);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_send(pair[1], "cd", 2, 0), 2);
    }
    CHECK_EQ(count, sizeof all);
    CHECK(memcmp(all, "abcd", sizeof all) == 0);
    close(pair[0]);
    close(pair[1]);
}

static int sender;
static ssize_t has_sent;
static char data[4] = "sent";

static void sends(void *unused) {
    (void)unused;
    has_sent = fin_send(sender, data, sizeof data, 0);
}

static void sends_message(void *unused) {
    struct iovec v = {data, sizeof data};
    struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
    (void)unused;
    has_sent = fin_sendmsg(sender, &h, 0);
}

static void sends_in_chain(void *unused) {
    struct fin_step s[] = {fin_step_send(sender, data, 2, 0), fin_step_send(sender, data + 2, 2, 0)};
    (void)unused;
    has_sent = fin_linked(s, 2) == 2 ? (ssize_t)sizeof data : s[0].result;
}

static char much[1 << 16], tail[sizeof data]; // what came last

static void empty(int fd) {
    for (ssize_t n; (n = recv(fd, much, sizeof much, MSG_DONTWAIT)) > 0;)
        for (ssize_t i = 0; i < n; i++) {
            memmove(tail, tail + 1, sizeof tail - 1);
            tail[sizeof tail - 1] = much[i];
        }
}

// What waits for room goes on, whatever becomes of its slot: others are registered, as many as there are.
static void begun_goes_on(void (*fn)(void *)) {
    static int numbers[FILES];
    int from[2], other[2], n = 0, r;
    stream_pair(from);
    stream_pair(other);
    while (send(from[0], much, sizeof much, MSG_DONTWAIT) > 0) {
    }
    sender = fin_file_register(from[0]);
    has_sent = 0;
    fin_finish {
        fin_async_call(fn, NULL);
        CHECK_EQ(fin_sleep(2 * FIN_MS), 0);
        CHECK_EQ(has_sent, 0);
        CHECK_EQ(fin_file_unregister(sender), 0);
        CHECK_EQ(fin_send(sender, "x", 1, 0), -EBADF);
        while ((r = fin_file_register(other[0])) > 0)
            numbers[n++] = r;
        empty(from[1]);
        while (has_sent == 0)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
    }
    CHECK_EQ(has_sent, sizeof data);
    empty(from[1]);
    CHECK(memcmp(tail, data, sizeof data) == 0);
    CHECK(recv(other[1], much, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    for (int i = 0; i < n; i++)
        CHECK_EQ(fin_file_unregister(numbers[i]), 0);
    for (int i = 0; i < 2; i++) {
        close(from[i]);
        close(other[i]);
    }
}

static void many(void) {
    static int numbers[FILES];
    int n = 0, r;
    while ((r = fin_file_register(fd)) > 0)
        numbers[n++] = r;
    CHECK_EQ(r, -ENFILE);
    CHECK_EQ(n, FILES - 1); // `file` is one
    for (int i = 0; i < n; i++)
        CHECK_EQ(fin_file_unregister(numbers[i]), 0);
    CHECK_EQ(fin_file_unregister(numbers[0]), -EBADF);
    struct fin_memory *all[100]; // more than the ring has slots for
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(fin_memory_register(&all[i], memory + i, 64), 0);
        CHECK_EQ(fin_pread_fixed(fd, all[i], memory + i, 1, 0), 1);
    }
    for (int i = 0; i < 100; i++)
        CHECK_EQ(fin_memory_unregister(all[i]), 0);
}

int main(void) {
    pthread_t t;
    fd = nameless_file();
    CHECK_EQ(fin_memory_register(&m, memory, SIZE), 0);
    file = fin_file_register(fd);
    CHECK(file > 0);
    reads_and_writes();
    outside();
    CHECK_EQ(pthread_create(&t, NULL, other_thread, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    sockets();
    begun_goes_on(sends);
    begun_goes_on(sends_message);
    begun_goes_on(sends_in_chain);
    many();
    CHECK_EQ(fin_memory_unregister(m), 0);
    CHECK_EQ(fin_file_unregister(file), 0);
    return 0;
}
