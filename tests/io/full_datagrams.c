// SPDX-License-Identifier: BSD-2-Clause
// Whatever sends to a Unix socket whose queue is full: what goes out is whole, once there is room.
#define _GNU_SOURCE
#include <fcntl.h>
#include <fin/fixed.h>
#include <fin/linked.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "net.h"

static char text[] = "half";
static struct iovec vector = {text, 4};
static int in, out, registered, flags;
static struct fin_memory *memory;
static struct sockaddr_un to = {.sun_family = AF_UNIX};
static socklen_t to_size = sizeof to;

static struct msghdr message(bool named) {
    return (struct msghdr){
        .msg_name = named ? &to : NULL, .msg_namelen = named ? to_size : 0, .msg_iov = &vector, .msg_iovlen = 1};
}

static long sends(void) { return fin_send(out, text, 4, flags); }
static long sends_registered(void) { return fin_send(registered, text, 4, flags); }
static long sends_all(void) {
    int r = fin_send_all(out, text, 4, flags, NULL);
    return r == 0 ? 4 : r;
}

static long sends_zc(void) { return fin_send_zc(out, text, 4, flags); }
static long sends_to(void) { return fin_sendto(out, text, 4, flags, (struct sockaddr *)&to, to_size); }

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
    CHECK(n == 3 ? last[0] == 'x' : n == 1);
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
    bool keeps; // what has been begun is not cancelled
} ways[] = {
    {"send", sends, false},
    {"send to a registered one", sends_registered, false},
    {"send all", sends_all, false},
    {"send without a copy", sends_zc, false},
    {"sendto", sends_to, false},
    {"sendmsg", sends_message, false},
    {"sendmsg to a registered one", sends_message_registered, false},
    {"sendmsg without a copy", sends_message_to, false},
    {"write", writes, false},
    {"writev", writes_vector, false},
    {"write of registered memory", writes_fixed, false},
    {"chain", links, false},
    {"chain, of a registered one", links_registered, false},
    {"splice", splices, true},
    {"sendfile", sends_file, true},
    {"without a stack", sends_on, false},
};

static int fill(void) {
    int n = 0;
    while (send(out, "x", 1, MSG_DONTWAIT) == 1)
        n++;
    return n;
}

static void try_it(const struct way *w) {
    fin_shared long sent = 0, cancelled = -ECANCELED;
    char got[16];
    int full = fill();
    fin_finish {
        fin_async { sent = w->send(); };
        if (!w->keeps) {
            fin_finish {
                fin_async { cancelled = w->send(); };
                CHECK_EQ(fin_sleep(FIN_MS), 0);
                fin_cancel();
            }
        }
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(sent, 0); // it waits
        for (int i = 0; i <= full; i++) {
            ssize_t n = fin_recv(in, got, sizeof got, 0);
            if (n != (i < full ? 1 : 4))
                fprintf(stderr, "%s, flags %d: %zd bytes came, as number %d of %d\n", w->name, flags, n, i, full);
            CHECK(n == (i < full ? 1 : 4) && (i < full || memcmp(got, text, 4) == 0));
        }
    }
    CHECK_EQ(sent, 4);
    CHECK_EQ(cancelled, -ECANCELED);
    CHECK_EQ(recv(in, got, sizeof got, MSG_DONTWAIT), -1);
}

int main(void) {
    in = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    out = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(in, (struct sockaddr *)&to, sizeof to.sun_family), 0);
    CHECK_EQ(getsockname(in, (struct sockaddr *)&to, &to_size), 0);
    CHECK_EQ(connect(out, (struct sockaddr *)&to, to_size), 0);
    CHECK((registered = fin_file_register(out)) >= 0);
    CHECK_EQ(fin_memory_register(&memory, text, sizeof text), 0);
    for (size_t i = 0; i < 2 * sizeof ways / sizeof *ways; i++) {
        const struct way *w = &ways[i / 2];
        flags = i % 2 ? MSG_WAITALL : 0;
        if (w->send != writes_fixed || !on_epoll()) // which says ESPIPE
            try_it(w);
    }
    CHECK_EQ(fin_memory_unregister(memory), 0);
    CHECK_EQ(fin_file_unregister(registered), 0);
    close(in);
    close(out);
    return 0;
}
