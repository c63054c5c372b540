// SPDX-License-Identifier: BSD-2-Clause
// For stress.c: what its AWEs use, and what is known of it. What several threads write is atomic.
#ifndef FIN_TESTS_IO_STRESS_H
#define FIN_TESTS_IO_STRESS_H

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include <fin/fixed.h>
#include <fin/linked.h>
#include <fin/on.h>
#include <fin/stream.h>

#include "net.h"

enum { STREAMS = 10, BOXES = 3, MESSAGES = 1 << 16, REGIONS = 12, REGION = 700, THREADS = 2, PIECES = 3, PIECE = 200 };
enum { MOST = 3000, PATTERN = 1 << 20, RECORD = 16 };

static unsigned seed; // of the round

// What is being looked at.
static __thread struct about {
    const char *name;
    unsigned how;
    int error;
    size_t moved;
} about = {"-", 0, 0, 0};

static _Noreturn void fails(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: not so: %s\n%s %u: error %d, %zu bytes. FIN_SEED=%u FIN_ROUNDS=1, %s\n", file, line, what,
            about.name, about.how, about.error, about.moved, seed, fin_io_backend());
    abort();
}

#define HOLDS(condition)                                                                                                    \
    do {                                                                                                                    \
        if (!(condition))                                                                                                   \
            fails(__FILE__, __LINE__, #condition);                                                                          \
    } while (0)

// ---- streams: fd[1] -> fd[0]. One AWE at a time sends, and one receives, so that the order of the bytes is known.

struct stream {
    char kind; // 's': a Unix socket, 't': TCP, 'p': a pipe
    int fd[2];
    int file[2];          // their registered numbers, or -1
    int keep;             // a copy of fd[0] by which nothing is lost when that is closed, or -1
    unsigned from;        // where it begins in the pattern
    _Atomic size_t moved[2]; // received, sent
    bool busy[2];
    _Atomic bool gone[2]; // closed, be it that it still waits for that
    _Atomic bool shut;    // no more is sent
    size_t end;           // where the end was found, + 1
    struct fin_receiver *receiver;
};

static struct stream streams[STREAMS];
static unsigned char pattern[PATTERN];
static int pattern_file;

// Who receives, and who sends.
static int thread_of(const struct stream *s, int side) {
    int i = (int)(s - streams);
    return side ? i / THREADS % THREADS : i % THREADS;
}

static void open_stream(struct stream *s, unsigned *state) {
    static const char kinds[] = "ssspptt";
    unsigned i = (unsigned)(s - streams);
    *s = (struct stream){.kind = kinds[next_random(state) % 7], .file = {-1, -1}, .from = i * 5000};
    if (s->kind == 'p') {
        CHECK_EQ(pipe(s->fd), 0);
        fcntl(s->fd[1], F_SETPIPE_SZ, 4096);
    } else if (s->kind == 's') {
        int small = 4096;
        stream_pair(s->fd);
        setsockopt(s->fd[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    } else {
        struct sockaddr_in address;
        int listener = tcp_listen(&address, 1);
        s->fd[1] = tcp_connect(&address);
        s->fd[0] = accept(listener, NULL, NULL);
        close(listener);
    }
    for (int side = 0; side < 2; side++)
        if (next_random(state) % 4 == 0)
            fcntl(s->fd[side], F_SETFL, O_NONBLOCK);
    s->keep = next_random(state) % 2 ? dup(s->fd[0]) : -1;
}

static void received(struct stream *s, const void *p, size_t n) {
    HOLDS(memcmp(p, pattern + s->from + s->moved[0], n) == 0);
    s->moved[0] += n;
}

static void forget_number(struct stream *s, int side) {
    if (s->file[side] >= 0)
        HOLDS(fin_file_unregister(s->file[side]) == 0);
    s->file[side] = -1;
}

// All that was sent has been received or is there; nothing else is.
static void close_stream(struct stream *s) {
    unsigned char p[MOST];
    int fd = s->keep >= 0 ? s->keep : s->gone[0] ? -1 : s->fd[0], more = 0;
    HOLDS(s->moved[0] <= s->moved[1]);
    HOLDS(!s->end || s->end == s->moved[1] + 1);
    while (fd >= 0 && s->moved[0] < s->moved[1]) {
        HOLDS(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 5000) == 1);
        ssize_t n = read(fd, p, sizeof p);
        HOLDS(n > 0);
        received(s, p, (size_t)n);
    }
    if (fd >= 0)
        HOLDS(ioctl(fd, FIONREAD, &more) == 0 && more == 0 && s->moved[0] == s->moved[1]);
    for (int side = 0; side < 2; side++) {
        forget_number(s, side);
        if (!s->gone[side])
            close(s->fd[side]);
    }
    if (s->keep >= 0)
        close(s->keep);
}

// ---- boxes of messages, which any AWE sends and receives. Each says which it is, in each of its words.

static int boxes[BOXES][2];
static _Atomic unsigned messages;
static _Atomic unsigned char posted[MESSAGES], fetched[MESSAGES];

static void open_box(int i) {
    int small = 2000;
    CHECK_EQ(socketpair(AF_UNIX, i % 2 ? SOCK_DGRAM : SOCK_SEQPACKET, 0, boxes[i]), 0);
    setsockopt(boxes[i][1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
}

static void fetched_one(const void *p, ssize_t n) {
    uint32_t words[PIECE / 4];
    HOLDS(n >= 4 && n % 4 == 0 && n <= PIECE);
    memcpy(words, p, (size_t)n);
    for (ssize_t i = 0; i < n / 4; i++)
        HOLDS(words[i] == words[0]);
    HOLDS(words[0] < messages);
    fetched[words[0]]++;
}

static void close_boxes(void) {
    unsigned char p[PIECE];
    for (int i = 0; i < BOXES; i++) {
        ssize_t n;
        while ((n = recv(boxes[i][0], p, sizeof p, MSG_DONTWAIT)) > 0)
            fetched_one(p, n);
        close(boxes[i][0]);
        close(boxes[i][1]);
    }
    for (unsigned i = 0; i < messages; i++) {
        HOLDS(fetched[i] == posted[i]);
        fetched[i] = posted[i] = 0;
    }
    messages = 0;
}

// ---- a listener, an event, a file of regions and a file of records

static struct sockaddr_un name;
static socklen_t name_size;
static int listener, event, regions_file, records_file;
static _Atomic int connected, accepted;
static _Atomic uint64_t added, summed;
static _Atomic unsigned records;
static struct region {
    bool busy;
    unsigned char value;
} regions[REGIONS];

static void open_others(void) {
    static const unsigned char zeros[REGIONS * REGION];
    listener = unix_listen(&name, &name_size, 2);
    event = eventfd(0, 0);
    regions_file = nameless_file();
    records_file = nameless_file();
    fcntl(records_file, F_SETFL, O_APPEND);
    CHECK_EQ(write(regions_file, zeros, sizeof zeros), (ssize_t)sizeof zeros);
    memset(regions, 0, sizeof regions);
    connected = accepted = 0;
    added = summed = records = 0;
}

static void check_region(const struct region *r) {
    unsigned char p[REGION];
    HOLDS(pread(regions_file, p, REGION, (r - regions) * REGION) == REGION);
    for (int i = 0; i < REGION; i++)
        HOLDS(p[i] == r->value);
}

static void close_others(void) {
    uint64_t rest = 0;
    unsigned char p[RECORD];
    fcntl(event, F_SETFL, O_NONBLOCK);
    HOLDS(read(event, &rest, sizeof rest) == sizeof rest || rest == 0);
    HOLDS(summed + rest == added);
    fcntl(listener, F_SETFL, O_NONBLOCK);
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; accepted++)
        close(fd);
    HOLDS(accepted == connected);
    HOLDS(lseek(records_file, 0, SEEK_END) == (off_t)records * RECORD);
    for (unsigned i = 0; i < records; i++) {
        HOLDS(pread(records_file, p, RECORD, i * RECORD) == RECORD);
        for (int k = 1; k < RECORD; k++)
            HOLDS(p[k] == p[0]);
    }
    for (struct region *r = regions; r < regions + REGIONS; r++)
        check_region(r);
    close(listener);
    close(event);
    close(regions_file);
    close(records_file);
}

// ---- what a thread has for itself

static __thread struct own {
    int number;
    struct fin_buffers *pool;
    void *held[PIECES];
    struct fin_acceptor *acceptor;
    struct fin_memory *memory;
    unsigned char fixed[REGIONS][REGION];
} own;

static void open_own(int number) {
    memset(&own, 0, sizeof own);
    own.number = number;
    CHECK_EQ(fin_buffers_open(&own.pool, PIECES, PIECE), 0);
    CHECK_EQ(fin_acceptor_open(&own.acceptor, listener, SOCK_CLOEXEC), 0);
    CHECK_EQ(fin_memory_register(&own.memory, own.fixed, sizeof own.fixed), 0);
}

static void put_back(void) {
    for (int i = 0; i < PIECES; i++) {
        if (own.held[i])
            HOLDS(fin_buffers_put(own.pool, own.held[i]) == 0);
        own.held[i] = NULL;
    }
}

static void hold(void *piece) {
    int i = 0;
    while (own.held[i])
        i++;
    own.held[i] = piece;
}

static void close_receiver(struct stream *s) {
    void *piece;
    ssize_t n;
    HOLDS(fin_receiver_stop(s->receiver) == 0);
    while ((n = fin_receiver_next_nc(s->receiver, &piece)) > 0) {
        received(s, piece, (size_t)n);
        HOLDS(fin_buffers_put(own.pool, piece) == 0);
    }
    HOLDS(n == -ESHUTDOWN || s->shut || s->gone[1] || s->gone[0]);
    HOLDS(fin_receiver_close(s->receiver) == 0);
    s->receiver = NULL;
}

static void close_own(void) {
    put_back();
    for (struct stream *s = streams; s < streams + STREAMS; s++) {
        if (thread_of(s, 0) == own.number && s->receiver)
            close_receiver(s);
        for (int side = 0; side < 2; side++)
            if (thread_of(s, side) == own.number)
                forget_number(s, side);
    }
    HOLDS(fin_buffers_close(own.pool) == 0);
    int n = fin_acceptor_close(own.acceptor);
    HOLDS(n >= 0);
    accepted += n;
    HOLDS(fin_memory_unregister(own.memory) == 0);
}

#endif
