// SPDX-License-Identifier: BSD-2-Clause
// All ways to send to a socket, for scenarios where that has no room.
#ifndef FIN_TESTS_IO_SENDERS_H
#define FIN_TESTS_IO_SENDERS_H

#include <fcntl.h>
#include <fin/fixed.h>
#include <fin/linked.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "kernels.h"
#include "net.h"

static char text[] = "half";
static struct iovec vector = {text, 4};
static int in, out, registered, flags; // from `out` to `in`
static struct fin_memory *memory;
static struct sockaddr_un to = {.sun_family = AF_UNIX};
static socklen_t to_size; // 0: `out` is a stream

static struct msghdr message(bool named) {
    return (struct msghdr){
        .msg_name = named && to_size ? &to : NULL, .msg_namelen = named ? to_size : 0, .msg_iov = &vector, .msg_iovlen = 1};
}

static long sends(void) { return fin_send(out, text, 4, flags); }
static long sends_registered(void) { return fin_send(registered, text, 4, flags); }
static long sends_all(void) {
    int r = fin_send_all(out, text, 4, flags, NULL);
    return r == 0 ? 4 : r;
}

static long sends_zc(void) { return fin_send_zc(out, text, 4, flags); }
static long sends_to(void) { return fin_sendto(out, text, 4, flags, to_size ? (struct sockaddr *)&to : NULL, to_size); }

static long sends_message(void) {
    struct msghdr m = message(false);
    return fin_sendmsg(out, &m, flags);
}

static long sends_message_registered(void) {
    struct msghdr m = message(false);
    return fin_sendmsg(registered, &m, flags);
}

static long sends_message_to(void) {
    struct msghdr m = message(true);
    return fin_sendmsg_zc(out, &m, flags);
}

static long writes(void) { return fin_write(out, text, 4); }
static long writes_vector(void) { return fin_writev(out, &vector, 1); }
static long writes_fixed(void) { return fin_pwrite_fixed(out, memory, text, 4, 0); }

// What follows in the chain is begun when it has gone out.
static long chain(int socket) {
    char last[1] = "";
    int pipes[2];
    CHECK_EQ(pipe(pipes), 0);
    struct fin_step s[] = {fin_step_write(pipes[1], "x", 1), fin_step_send(socket, text, 4, flags),
                           fin_step_read(pipes[0], last, 1)};
    int n = fin_linked(s, 3);
    CHECK(n == 3 ? last[0] == 'x' : n <= 1); // a cancel may come before all of it
    close(pipes[0]);
    close(pipes[1]);
    return s[1].result;
}

static long links(void) { return chain(out); }
static long links_registered(void) { return chain(registered); }

static long splices(void) {
    int pipes[2];
    CHECK_EQ(pipe(pipes), 0);
    CHECK_EQ(write(pipes[1], text, 4), 4);
    long n = fin_splice(pipes[0], NULL, out, NULL, 4, 0);
    close(pipes[0]);
    close(pipes[1]);
    return n;
}

static long sends_file(void) {
    int fd = memfd_create("text", MFD_CLOEXEC);
    CHECK_EQ(write(fd, text, 4), 4);
    off_t at = 0;
    long n = fin_sendfile(out, fd, &at, 4);
    close(fd);
    return n;
}

struct on {
    struct fin_on on;
    long *result;
};

static void has_sent(void *on, int n) {
    *(*(struct on **)on)->result = n;
    fin_cont_end();
}

static void sends_without_stack(void *on, int n) {
    struct on *o = *(struct on **)on;
    has_sent(&o, fin_send_on(&o->on, out, text, 4, flags, has_sent, &o, sizeof o));
    (void)n;
}

static long sends_on(void) {
    long result = 0;
    struct on on = {.result = &result}, *o = &on;
    fin_finish {
        CHECK(fin_async_cont(sends_without_stack, &o, sizeof o));
    }
    return result;
}

static const struct way {
    const char *name;
    long (*send)(void);
} ways[] = {
    {"send", sends},
    {"send to a registered one", sends_registered},
    {"send all", sends_all},
    {"send without a copy", sends_zc},
    {"sendto", sends_to},
    {"sendmsg", sends_message},
    {"sendmsg to a registered one", sends_message_registered},
    {"sendmsg without a copy", sends_message_to},
    {"write", writes},
    {"writev", writes_vector},
    {"write of registered memory", writes_fixed},
    {"chain", links},
    {"chain, of a registered one", links_registered},
    {"splice", splices},
    {"sendfile", sends_file},
    {"without a stack", sends_on},
};

// Each of them, with flags and without.
static void try_all(void (*try_it)(const struct way *)) {
    bool waits = splices_wait_for_room();
    CHECK_EQ(fin_memory_register(&memory, text, sizeof text), 0);
    for (size_t i = 0; i < 2 * sizeof ways / sizeof *ways; i++) {
        const struct way *w = &ways[i / 2];
        flags = i % 2 ? MSG_WAITALL : 0;
        bool splices_it = w->send == splices || w->send == sends_file;
        if ((w->send != writes_fixed || !on_epoll()) && (!splices_it || waits)) // epoll says ESPIPE
            try_it(w);
    }
    CHECK_EQ(fin_memory_unregister(memory), 0);
}

#endif
