// SPDX-License-Identifier: BSD-2-Clause
// A call waits, or pauses, to be made again when there is room; its descriptor is closed by fin_close, of this thread or of
// another, and another file gets the number: that file gets nothing of it, and the call ends. Objects that were opened on
// the descriptor do not take what belongs to the other file.
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fin.h>
#include <fin/stream.h>

#include "check.h"
#include "kernels.h"
#include "process.h"

static int from[2], next[2];
static ssize_t result;
static char data[16] = "not for you", much[1 << 16];

static void sends(void) { result = fin_send(from[0], data, sizeof data, 0); }
static void sends_all(void) { result = fin_send_all(from[0], data, sizeof data, 0, NULL); }
static void writes(void) { result = fin_write(from[0], data, sizeof data); }

static void sends_message(void) {
    struct iovec v = {data, sizeof data};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    result = fin_sendmsg(from[0], &m, 0);
}

static void writes_vectors(void) {
    struct iovec v[] = {{data, 1}, {data + 1, sizeof data - 1}};
    result = fin_writev(from[0], v, 2);
}

static void sends_in_chain(void) {
    struct fin_step s[] = {fin_step_send(from[0], data, sizeof data, 0), fin_step_send(from[0], data, 1, 0)};
    fin_linked(s, 2);
    result = s[0].result;
}

static void sends_file(void) {
    int file = memfd_create("data", MFD_CLOEXEC);
    CHECK_EQ(write(file, data, sizeof data), sizeof data);
    CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
    result = fin_sendfile(from[0], file, NULL, sizeof data);
    close(file);
}

static void has_sent(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

static struct fin_on on;
static void sends_on(void *state, int n) {
    (void)state;
    CHECK_EQ(n, 0);
    fin_send_on(&on, from[0], data, sizeof data, 0, has_sent, NULL, 0);
}

static void without_a_stack(void) {
    fin_finish {
        CHECK(fin_async_cont(sends_on, NULL, 0) != NULL);
    }
}

static void sends_to_next(void *unused) {
    (void)unused;
    CHECK_EQ(fin_send(next[0], much, 1, 0), 1);
}

static void fill(int fd, int type) {
    while (send(fd, much, type & SOCK_STREAM ? sizeof much : 64, MSG_DONTWAIT) > 0) {
    }
}

static void run(void *fn) {
    result = -EINPROGRESS;
    ((void (*)(void))fn)();
}

static void close_it(void *unused) {
    (void)unused;
    CHECK_EQ(fin_close_nc(from[0]), 0);
}

static void close_there(void) {
    struct fin_thread_handle other;
    CHECK_EQ(fin_thread_start(&other, close_it, NULL), 0);
    fin_thread_join_nc(&other);
}

// What waited may have been sent where it was to go. Somebody else waits for room in the other file, and gets it.
static void other_gets_nothing(void (*fn)(void), int type, void (*closes)(void)) {
    static char got[sizeof much];
    CHECK_EQ(socketpair(AF_UNIX, type, 0, from), 0);
    fill(from[0], type);
    fin_finish {
        fin_async_call(run, fn);
        CHECK_EQ(fin_sleep(2 * FIN_MS), 0);
        CHECK_EQ(result, -EINPROGRESS);
        closes();
        CHECK_EQ(socketpair(AF_UNIX, type, 0, next), 0);
        CHECK_EQ(next[0], from[0]);
        fill(next[0], type);
        fin_async_call(sends_to_next, NULL);
        while (recv(from[1], got, sizeof got, MSG_DONTWAIT) > 0) {
        }
        CHECK_EQ(fin_sleep(2 * FIN_MS), 0);
        for (int i = 0; i < 4; i++) {
            for (ssize_t n; (n = recv(next[1], got, sizeof got, MSG_DONTWAIT)) > 0;)
                CHECK(memchr(got, data[0], (size_t)n) == NULL);
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        }
        fin_cancel();
    }
    CHECK(result == -EBADF || result == -ECANCELED || result == (ssize_t)sizeof data);
    close(from[1]);
    close(next[0]);
    close(next[1]);
}

static void close_here(void) { CHECK_EQ(fin_close(from[0]), 0); }

static void has_closed(void *state, int n) {
    (void)state;
    CHECK_EQ(n, 0);
    fin_cont_end();
}

static struct fin_more_on more;
static void closes_on(void *state, int n) {
    (void)state;
    CHECK_EQ(n, 0);
    fin_close_on(&more, from[0], has_closed, NULL, 0);
}

static void close_without_a_stack(void) {
    fin_finish {
        CHECK(fin_async_cont(closes_on, NULL, 0) != NULL);
    }
}

static void close_in_chain(void) {
    int file = memfd_create("to be synced", MFD_CLOEXEC);
    struct fin_step s[] = {fin_step_fsync(file), fin_step_close(from[0])};
    CHECK_EQ(fin_linked(s, 2), 2);
    close(file);
}

static void adds(void) {
    uint64_t few = 5;
    result = fin_write(from[0], &few, sizeof few);
}

// It is ready for ever, and would block all the same: it is tried in pauses.
static void in_a_pause(int flags) {
    eventfd_t sum;
    from[0] = eventfd(0, flags);
    CHECK_EQ(eventfd_write(from[0], UINT64_MAX - 3), 0);
    fin_finish {
        fin_async_call(run, adds);
        CHECK_EQ(fin_sleep(3 * FIN_MS), 0);
        CHECK_EQ(fin_close(from[0]), 0);
        CHECK_EQ(eventfd(0, EFD_NONBLOCK), from[0]);
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        fin_cancel();
    }
    CHECK(eventfd_read(from[0], &sum) == -1 && errno == EAGAIN);
    close(from[0]);
}

static uint64_t its_time;

static void sends_later(void *state, int n) {
    (void)state;
    CHECK_EQ(n, 0);
    fin_send_at_on(&on, its_time, from[0], data, sizeof data, 0, has_sent, NULL, 0);
}

// False: it was time before the other file had the number. (fin_close lets others run before it closes: what is due then is
// sent where it was to go.)
static bool before_its_time(uint64_t ns) {
    bool early;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, from), 0);
    its_time = fin_now() + ns;
    fin_finish {
        CHECK(fin_async_cont(sends_later, NULL, 0) != NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_close(from[0]), 0);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, next), 0);
        CHECK_EQ(next[0], from[0]);
        early = fin_now() < its_time;
    }
    CHECK(result == -EBADF || !early);
    CHECK(!early || (recv(next[1], much, sizeof much, MSG_DONTWAIT) == -1 && errno == EAGAIN));
    close(from[1]);
    close(next[0]);
    close(next[1]);
    return early;
}

static void objects(void) {
    struct fin_buffers *b;
    struct fin_receiver *r;
    void *piece;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, from), 0);
    CHECK_EQ(fin_buffers_open(&b, 2, 64), 0);
    CHECK_EQ(fin_receiver_open(&r, from[0], b), 0);
    CHECK_EQ(fin_close(from[0]), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, next), 0);
    CHECK_EQ(next[0], from[0]);
    CHECK_EQ(write(next[1], data, sizeof data), sizeof data);
    CHECK_EQ(fin_receiver_next(r, &piece), -EBADF);
    CHECK_EQ(recv(next[0], much, sizeof much, MSG_DONTWAIT), sizeof data);
    CHECK_EQ(fin_receiver_close(r), 0);
    CHECK_EQ(fin_buffers_close(b), 0);
    close(from[1]);
    close(next[0]);
    close(next[1]);
}

static int listener(struct sockaddr_un *name) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    socklen_t size = sizeof *name;
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    CHECK_EQ(bind(fd, (struct sockaddr *)name, sizeof name->sun_family), 0); // a name of the system's choice
    CHECK_EQ(listen(fd, 4), 0);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)name, &size), 0);
    return fd;
}

static void acceptor(void) {
    struct sockaddr_un name;
    struct fin_acceptor *a;
    int fd = listener(&name), client = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(fin_acceptor_open(&a, fd, 0), 0);
    CHECK_EQ(fin_close(fd), 0);
    CHECK_EQ(listener(&name), fd);
    CHECK_EQ(connect(client, (struct sockaddr *)&name, sizeof name.sun_family + 6), 0);
    CHECK_EQ(fin_acceptor_next(a), -EBADF);
    CHECK_EQ(fin_acceptor_close(a), 0);
    int taken = fin_accept(fd, NULL, NULL);
    CHECK(taken >= 0);
    close(taken);
    close(client);
    close(fd);
}

static void try_to_close(void *unused) {
    (void)unused;
    fin_close(from[0]);
}

// A close that is taken back before it begins closes nothing: who waits goes on.
static void not_closed(void) {
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, from), 0);
    fill(from[0], SOCK_STREAM);
    fin_finish {
        fin_async_call(run, sends);
        CHECK_EQ(fin_sleep(2 * FIN_MS), 0);
        fin_finish_as(inner) {
            fin_async_call(try_to_close, NULL);
            fin_cancel_as(inner);
        }
        if (fcntl(from[0], F_GETFD) >= 0) {
            while (recv(from[1], much, sizeof much, MSG_DONTWAIT) > 0) {
            }
            while (result == -EINPROGRESS)
                CHECK_EQ(fin_sleep(FIN_MS), 0);
            CHECK_EQ(result, sizeof data);
        }
        fin_cancel();
    }
    close(from[0]);
    close(from[1]);
}

int main(void) {
    void (*const streams[])(void) = {sends,  sends_all,       sends_message,  sends_in_chain,
                                     writes, without_a_stack, writes_vectors, sends_file};
    void (*const datagrams[])(void) = {sends, sends_message, without_a_stack};
    void (*const closes[])(void) = {close_here, close_in_chain, close_without_a_stack, close_there};
    unsigned ways = sizeof streams / sizeof *streams - !splices_wait_for_room(); // sends_file() is the last
    // To use what another thread closes is for TSan to report.
    for (int k = 0; k < (ON_TSAN ? 3 : 4); k++) {
        for (unsigned i = 0; i < ways; i++) {
            other_gets_nothing(streams[i], SOCK_STREAM, closes[k]);
            other_gets_nothing(streams[i], SOCK_STREAM | SOCK_NONBLOCK, closes[k]);
        }
        for (unsigned i = 0; i < sizeof datagrams / sizeof *datagrams; i++)
            other_gets_nothing(datagrams[i], SOCK_DGRAM, closes[k]);
    }
    in_a_pause(0);
    in_a_pause(EFD_NONBLOCK);
    for (uint64_t ns = 4 * FIN_MS; !before_its_time(ns); ns *= 2)
        ;
    objects();
    acceptor();
    not_closed();
    return 0;
}
