// SPDX-License-Identifier: BSD-2-Clause
// Waits with a continuation that take more than a request, raced against cancellation: a message, a signal or a child that
// was taken has been told, and what has not is there for the next. (race.h)
#define _GNU_SOURCE
#include "child.h"
#include "race.h"

static struct fin_more_on on;
static int fd[2], result;
static unsigned sent, received;

static void ended(void *state, int n) {
    (void)state;
    result = n;
    fin_cont_end();
}

static void schedules(struct fin_awe *a, void *unused) {
    (void)unused;
    CHECK_EQ(fin_schedule(a), 0);
}

// Half of them are the second wait of their AWE: the block may be cancelled by then.
#define WAIT(name, call)                                                                                                    \
    static void begin_##name(void *state, int unused) {                                                                     \
        (void)state, (void)unused;                                                                                          \
        result = 1 << 30;                                                                                                   \
        call;                                                                                                               \
        CHECK(false);                                                                                                       \
    }                                                                                                                       \
    static void do_##name(void) {                                                                                           \
        if (next_random(&seed) % 2)                                                                                         \
            begin_##name(NULL, 0);                                                                                          \
        CHECK_EQ(fin_block_on_then(begin_##name, NULL, 0, schedules, NULL), 0);                                             \
    }
#define ENDED ended, NULL, 0

static void close_two(void) {
    close(fd[0]);
    close(fd[1]);
}

// ---- messages with a number, and a descriptor

struct letter {
    struct msghdr m;
    struct iovec v;
    unsigned number;
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
};
static struct letter letter;

static struct msghdr *blank(struct letter *l) {
    l->v = (struct iovec){&l->number, sizeof l->number};
    l->m = (struct msghdr){.msg_iov = &l->v, .msg_iovlen = 1};
    l->m.msg_control = l->control.room;
    l->m.msg_controllen = sizeof l->control.room;
    return &l->m;
}

static void open_letters(void) {
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
    sent = received = 0;
}

static void send_letter(void) {
    struct letter l = {.number = sent};
    if (next_random(&seed) % 2)
        return;
    blank(&l);
    struct cmsghdr *c = CMSG_FIRSTHDR(&l.m);
    *c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(c), &fd[1], sizeof(int));
    CHECK_EQ(sendmsg(fd[1], &l.m, 0), sizeof l.number);
    sent++;
}

static void take_letter(const struct letter *l) {
    int with;
    CHECK_EQ(l->number, received);
    CHECK_EQ(l->m.msg_controllen, CMSG_SPACE(sizeof with));
    memcpy(&with, CMSG_DATA(CMSG_FIRSTHDR(&l->m)), sizeof with);
    CHECK_EQ(close(with), 0);
    received++;
}

WAIT(recvmsg, fin_recvmsg_on(&on, fd[0], blank(&letter), MSG_CMSG_CLOEXEC, ENDED))

static void check_letter(void) {
    if (outcome(result))
        take_letter(&letter);
    struct letter rest;
    while (next_random(&seed) % 4 == 0 && recvmsg(fd[0], blank(&rest), MSG_DONTWAIT) > 0)
        take_letter(&rest);
}

static void close_letters(void) {
    struct letter rest;
    while (recvmsg(fd[0], blank(&rest), MSG_DONTWAIT) > 0)
        take_letter(&rest);
    CHECK_EQ(received, sent);
    close_two();
}

// ---- datagrams from an address

static struct sockaddr_in address, from;
static socklen_t from_size;
static unsigned number;

static void open_datagrams(void) {
    socklen_t size = sizeof address;
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < 2; i++) {
        fd[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        CHECK_EQ(bind(fd[i], (struct sockaddr *)&address, sizeof address), 0);
    }
    CHECK_EQ(getsockname(fd[0], (struct sockaddr *)&address, &size), 0);
    CHECK_EQ(connect(fd[1], (struct sockaddr *)&address, sizeof address), 0);
    CHECK_EQ(getsockname(fd[1], (struct sockaddr *)&address, &size), 0);
    sent = received = 0;
}

static void send_datagram(void) {
    if (next_random(&seed) % 2) {
        CHECK_EQ(send(fd[1], &sent, sizeof sent, 0), sizeof sent);
        sent++;
    }
}

WAIT(recvfrom, (from_size = sizeof from,
                fin_recvfrom_on(&on, fd[0], &number, sizeof number, 0, (struct sockaddr *)&from, &from_size, ENDED)))

static void check_datagram(void) {
    if (outcome(result)) {
        CHECK_EQ(result, sizeof number);
        CHECK_EQ(number, received++);
        CHECK_EQ(from_size, sizeof from);
        CHECK_EQ(from.sin_port, address.sin_port);
    }
    while (next_random(&seed) % 4 == 0 && recv(fd[0], &number, sizeof number, MSG_DONTWAIT) > 0)
        CHECK_EQ(number, received++);
}

static void close_datagrams(void) {
    while (recv(fd[0], &number, sizeof number, MSG_DONTWAIT) > 0)
        CHECK_EQ(number, received++);
    CHECK_EQ(received, sent);
    close_two();
}

// ---- messages to a peer that is full: one whose room a poll tells of, and one that is named by each message

static struct sockaddr_un reader;
static socklen_t reader_size;
static bool named;

static int small_socket(void) {
    int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(s >= 0);
    CHECK_EQ(setsockopt(s, SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int)), 0);
    return s;
}

static bool send_at_once(void) {
    return (named ? sendto(fd[0], &sent, sizeof sent, MSG_DONTWAIT, (struct sockaddr *)&reader, reader_size)
                  : send(fd[0], &sent, sizeof sent, MSG_DONTWAIT)) > 0;
}

static void fill(void) {
    while (send_at_once())
        sent++;
}

static void open_full(void) {
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
    CHECK_EQ(setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int)), 0);
    sent = received = 0;
    named = false;
    fill();
}

static void open_full_named(void) {
    fd[0] = small_socket();
    fd[1] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    reader = (struct sockaddr_un){.sun_family = AF_UNIX};
    CHECK_EQ(bind(fd[1], (struct sockaddr *)&reader, sizeof reader.sun_family), 0);
    reader_size = sizeof reader;
    CHECK_EQ(getsockname(fd[1], (struct sockaddr *)&reader, &reader_size), 0);
    sent = received = 0;
    named = true;
    fill();
}

static bool take_one(void) {
    if (recv(fd[1], &number, sizeof number, MSG_DONTWAIT) <= 0)
        return false;
    CHECK_EQ(number, received++);
    return true;
}

static void take_some(void) {
    for (int n = 0; n < 8 && take_one(); n++) {
    }
}

WAIT(sendmsg, (letter.number = sent, blank(&letter)->msg_controllen = 0, letter.m.msg_control = NULL,
               fin_sendmsg_on(&on, fd[0], &letter.m, 0, ENDED)))
WAIT(sendto, (letter.number = sent,
              fin_sendto_on(&on, fd[0], &letter.number, sizeof letter.number, 0, (struct sockaddr *)&reader, reader_size,
                            ENDED)))

static void check_sent(void) {
    if (outcome(result)) {
        CHECK_EQ(result, sizeof sent);
        sent++;
    }
    fill();
}

static void close_full(void) {
    while (take_one()) {
    }
    CHECK_EQ(received, sent);
    close_two();
}

// ---- signals: numbered ones, or one that stands for all that came before it is read

static struct fin_signals set;
static struct fin_signal_info info;
static bool pending;

static void open_set(int signal) {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, signal);
    CHECK_EQ(fin_signals_open(&set, &s), 0);
    sent = received = 0;
    pending = false;
}

static void open_numbered(void) { open_set(SIGRTMIN + 1); }
static void open_ordinary(void) { open_set(SIGUSR1); }

static void send_numbered(void) {
    if (next_random(&seed) % 2)
        CHECK_EQ(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_ptr = (void *)(uintptr_t)sent++}), 0);
}

static void send_ordinary(void) {
    CHECK_EQ(raise(SIGUSR1), 0);
    pending = true;
}

WAIT(signal, fin_signals_next_on(&set, &info, &on, ENDED))

static void check_numbered(void) {
    if (outcome(result))
        CHECK_EQ(info.value, received++);
    while (received < sent && (result != 0 || next_random(&seed) % 4)) { // what is left can be read
        CHECK_EQ(fin_signals_next_nc(&set, &info), 0);
        CHECK_EQ(info.value, received++);
        result = 0;
    }
}

static void check_ordinary(void) {
    CHECK(pending);
    if (!outcome(result))
        CHECK_EQ(fin_signals_next_nc(&set, &info), 0);
    CHECK_EQ(info.signal, SIGUSR1);
    pending = false;
}

static void close_set(void) {
    CHECK_EQ(fin_signals_lost(&set), 0);
    fin_signals_close(&set);
}

// ---- a child

static struct fin_process child;
static int status;

static void start_child(void) {
    const struct fin_spawn sleeps = {.path = "sleep", .argv = ARGV("sleep", "1000")};
    int r = fin_spawn_nc(&child, &sleeps);
    if (r == -ENOSYS)
        SKIP("no pidfds here");
    CHECK_EQ(r, 0);
    status = 0;
}

static void end_child(void) { CHECK_EQ(fin_kill(&child, SIGTERM), 0); }

WAIT(child, fin_wait_on(&child, &status, &on, ENDED))

static void check_child(void) {
    if (!outcome(result)) {
        CHECK_EQ(fin_kill(&child, 0), 0); // nobody has reaped it
        CHECK_EQ(fin_wait_nc(&child, &status), 0);
    }
    CHECK_EQ(WTERMSIG(status), SIGTERM);
    no_child_left();
    start_child();
}

static void last_child(void) {
    end_child();
    CHECK_EQ(fin_wait_nc(&child, NULL), 0);
}

// ---- connections to a listener that is full most of the time

static struct sockaddr_un name;
static socklen_t name_size;
static int client;
static unsigned connected, accepted;

static void open_listener(void) {
    fd[0] = unix_listen(&name, &name_size, 0);
    fcntl(fd[0], F_SETFL, O_NONBLOCK);
    connected = accepted = 0;
}

static void accept_one(void) {
    int peer = accept4(fd[0], NULL, NULL, SOCK_CLOEXEC);
    if (peer >= 0) {
        accepted++;
        close(peer);
    }
}

WAIT(connect, (client = socket(AF_UNIX, SOCK_STREAM | (next_random(&seed) % 2 ? SOCK_NONBLOCK : 0), 0),
               fin_connect_on(&on, client, (struct sockaddr *)&name, name_size, ENDED)))

static void check_client(void) {
    CHECK(result == 0 || result == -ECANCELED);
    connected += outcome(result);
    close(client);
}

static void close_listener(void) {
    for (unsigned before = accepted + 1; before != accepted;) {
        before = accepted;
        accept_one();
    }
    CHECK_EQ(accepted, connected);
    close(fd[0]);
}

// ---- closes: what was cancelled is open, and what was not is closed

static int closed_fd, peer;

static void open_closing(void) { peer = -1; }

static void make_closing(void) {
    int pair[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    closed_fd = pair[0];
    peer = pair[1];
}

WAIT(close, (make_closing(), fin_close_on(&on, closed_fd, ENDED)))
WAIT(close_nc, (make_closing(), fin_close_on_nc(&on, closed_fd, ENDED)))

static void check_closed(void) {
    char c;
    CHECK(result == 0 || result == -ECANCELED);
    if (outcome(result)) {
        CHECK_EQ(fcntl(closed_fd, F_GETFD), -1);
        CHECK_EQ(recv(peer, &c, 1, MSG_DONTWAIT), 0);
    } else {
        CHECK_EQ(recv(peer, &c, 1, MSG_DONTWAIT), -1);
        CHECK_EQ(close(closed_fd), 0);
    }
    CHECK_EQ(close(peer), 0);
}

static void check_closed_nc(void) {
    CHECK_EQ(result, 0);
    check_closed();
}

static const struct race races[] = {
    {"close_on", open_closing, nothing, do_close, check_closed, nothing, 1},
    {"close_on_nc", open_closing, nothing, do_close_nc, check_closed_nc, nothing, 1},
    {"connect_on", open_listener, accept_one, do_connect, check_client, close_listener, 4},
    {"recvmsg_on", open_letters, send_letter, do_recvmsg, check_letter, close_letters, 1},
    {"recvfrom_on", open_datagrams, send_datagram, do_recvfrom, check_datagram, close_datagrams, 1},
    {"sendmsg_on", open_full, take_some, do_sendmsg, check_sent, close_full, 1},
    {"sendto_on", open_full_named, take_some, do_sendto, check_sent, close_full, 2},
    {"signals_next_on", open_numbered, send_numbered, do_signal, check_numbered, close_set, 1},
    {"signals_next_on, one", open_ordinary, send_ordinary, do_signal, check_ordinary, close_set, 1},
    {"wait_on", start_child, end_child, do_child, check_child, last_child, 4},
};

int main(int argc, char **argv) {
    race_all(races, sizeof races / sizeof *races, argc > 1 ? argv[1] : NULL);
    return 0;
}
