// SPDX-License-Identifier: BSD-2-Clause
// For differential.c: twins of descriptors of all kinds, and one operation on one of the two.
#ifndef FIN_TESTS_IO_TWINS_H
#define FIN_TESTS_IO_TWINS_H

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>

#include "net.h"

enum { SLOTS = 32, ROOM = 70000, STEPS = 150 };
enum { PLAIN, OURS };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LOOKS_AT_MEMORY true // before the kernel does
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LOOKS_AT_MEMORY true
#endif
#endif
#ifndef LOOKS_AT_MEMORY
#define LOOKS_AT_MEMORY false
#endif

static unsigned seed;
static int fd[2][SLOTS], peer[SLOTS], kinds[SLOTS], slots;
static char names[2][32];

static unsigned below(unsigned n) { return next_random(&seed) % n; }

// What is open: the plain ones of which one may wait do not.

static void add(int kind, int plain, int ours, int other) {
    CHECK(plain >= 0 && ours >= 0);
    int flags = fcntl(plain, F_GETFL);
    if (kind != 's' && !(flags & O_PATH)) // that one never waits
        CHECK_EQ(fcntl(plain, F_SETFL, flags | O_NONBLOCK), 0);
    if (!(flags & O_PATH) && below(2))
        CHECK_EQ(fcntl(ours, F_SETFL, flags | O_NONBLOCK), 0);
    fd[PLAIN][slots] = plain;
    fd[OURS][slots] = ours;
    kinds[slots] = kind;
    peer[slots++] = other;
}

static void add_pair(int kind, int plain[2], int ours[2]) {
    int first = slots;
    add(kind, plain[0], ours[0], first + 1);
    add(kind, plain[1], ours[1], first);
}

static void open_all(void) {
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    int p[2][2];
    slots = 0;
    for (int i = 0; i < 2; i++) {
        for (int side = 0; side < 2; side++) {
            CHECK_EQ(pipe(p[side]), 0);
            CHECK(fcntl(p[side][0], F_SETPIPE_SZ, 8192) > 0);
        }
        add_pair('p', p[0], p[1]);
    }
    for (int i = 0; i < 3; i++) {
        for (int side = 0; side < 2; side++)
            CHECK_EQ(socketpair(AF_UNIX, types[i], 0, p[side]), 0);
        add_pair('u', p[0], p[1]);
    }
    static const int modes[] = {O_RDWR, O_RDWR | O_APPEND, O_RDONLY, O_WRONLY, O_PATH};
    for (int i = 0; i < 5; i++)
        add('f', open(names[0], modes[i] | O_CREAT, 0600), open(names[1], modes[i] | O_CREAT, 0600), -1);
    add('e', eventfd(1, 0), eventfd(1, 0), -1);
    add('n', open("/dev/null", O_RDWR), open("/dev/null", O_RDWR), -1);
    add('z', open("/dev/zero", O_RDWR), open("/dev/zero", O_RDWR), -1);
    add('D', open("/", O_RDONLY), open("/", O_RDONLY), -1);
    add('E', epoll_create1(0), epoll_create1(0), -1);
    add('s', socket(AF_INET, SOCK_STREAM, 0), socket(AF_INET, SOCK_STREAM, 0), -1);
    CHECK(slots <= SLOTS);
}

static void close_all(void) {
    for (int i = 0; i < slots; i++)
        for (int side = 0; side < 2; side++)
            close(fd[side][i]);
}

// One operation. Both sides get the same.

#define OPERATIONS(X)                                                                                                       \
    X(READ, read) X(WRITE, write) X(READV, readv) X(WRITEV, writev) X(PREAD, pread) X(PWRITE, pwrite) X(PREADV, preadv)     \
    X(PWRITEV, pwritev) X(PREADV2, preadv2) X(PWRITEV2, pwritev2) X(SEND, send) X(RECV, recv) X(SENDTO, sendto)             \
    X(RECVFROM, recvfrom) X(SENDMSG, sendmsg) X(RECVMSG, recvmsg) X(POLL, poll) X(SPLICE, splice) X(TEE, tee)               \
    X(FSYNC, fsync) X(FDATASYNC, fdatasync) X(SYNC_RANGE, sync_file_range) X(FALLOCATE, fallocate)                          \
    X(FTRUNCATE, ftruncate) X(FADVISE, fadvise) X(STATX, statx) X(SHUTDOWN, shutdown) X(CLOSE, close) X(ACCEPT, accept)     \
    X(CONNECT, connect) X(GETDENTS, getdents64) X(COPY, copy_file_range) X(GETXATTR, fgetxattr) X(SETXATTR, fsetxattr)      \
    X(LISTXATTR, flistxattr) X(REMOVEXATTR, fremovexattr)
#define CODE(code, name) code,
enum code { OPERATIONS(CODE) CODES };

#define NAME(code, name) #name,
static const char *const op_names[] = {OPERATIONS(NAME)};

struct op {
    enum code code;
    int a, b, flags, pieces;
    size_t size;
    off_t offset;
    bool at, bad, no_data;
};

struct result {
    ssize_t r;
    off_t in, out;
    socklen_t name_size;
    int message_flags;
    struct sockaddr_storage name;
    unsigned char data[ROOM];
};

static struct result results[2];

static ssize_t sys(ssize_t r) { return r < 0 ? -errno : r; }

static void cut(struct iovec v[4], const struct op *o, char *data) {
    size_t each = o->size / 4;
    for (int i = 0; i < 4; i++)
        v[i] = (struct iovec){data + (size_t)i * each, i < 3 ? each : o->size - 3 * each};
}

static const struct sockaddr *nobody(void) {
    static struct sockaddr_in a = {.sin_family = AF_INET};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.sin_port = htons(1);
    return (const struct sockaddr *)&a;
}

static const char *attribute(const struct op *o) {
    static const char *const names[] = {"user.a", "user.b", "user.", "nothing"};
    return names[(unsigned)o->pieces % 4];
}

// A signal interrupts the system calls, and none of ours. A close that was interrupted has closed: it is not repeated.
#define AGAIN(plain)                                                                                                        \
    __extension__({                                                                                                         \
        ssize_t again_;                                                                                                     \
        do                                                                                                                  \
            again_ = sys(plain);                                                                                            \
        while (again_ == -EINTR);                                                                                           \
        again_;                                                                                                             \
    })
#define BOTH(plain, fin) return ours ? (fin) : AGAIN(plain)
#define SAME(name, ...) BOTH(name(__VA_ARGS__), fin_##name(__VA_ARGS__))

static ssize_t perform(const struct op *o, bool ours) {
    struct result *t = &results[ours];
    int a = fd[ours][o->a], b = o->b < 0 ? -1 : fd[ours][o->b];
    char *data = o->bad ? (char *)8 : o->no_data ? NULL : (char *)t->data;
    struct iovec v[4];
    cut(v, o, data);
    struct msghdr m = {.msg_iov = v, .msg_iovlen = (size_t)o->pieces, .msg_name = &t->name, .msg_namelen = sizeof t->name};
    const struct sockaddr *to = o->at ? nobody() : NULL;
    socklen_t to_size = o->at ? sizeof(struct sockaddr_in) : 0;
    struct statx info = {0};
    t->in = t->out = o->offset;
    t->name_size = sizeof t->name;
    switch (o->code) {
    case READ:
        SAME(read, a, data, o->size);
    case WRITE:
        SAME(write, a, data, o->size);
    case READV:
        SAME(readv, a, v, o->pieces);
    case WRITEV:
        SAME(writev, a, v, o->pieces);
    case PREAD:
        SAME(pread, a, data, o->size, o->offset);
    case PWRITE:
        SAME(pwrite, a, data, o->size, o->offset);
    case PREADV:
        SAME(preadv, a, v, o->pieces, o->offset);
    case PWRITEV:
        SAME(pwritev, a, v, o->pieces, o->offset);
    case PREADV2:
        SAME(preadv2, a, v, o->pieces, o->offset, o->flags);
    case PWRITEV2:
        SAME(pwritev2, a, v, o->pieces, o->offset, o->flags);
    case SEND:
        BOTH(send(a, data, o->size, o->flags | MSG_NOSIGNAL), fin_send(a, data, o->size, o->flags));
    case RECV:
        SAME(recv, a, data, o->size, o->flags);
    case SENDTO:
        BOTH(sendto(a, data, o->size, o->flags | MSG_NOSIGNAL, to, to_size),
             fin_sendto(a, data, o->size, o->flags, to, to_size));
    case RECVFROM:
        SAME(recvfrom, a, data, o->size, o->flags, (struct sockaddr *)&t->name, &t->name_size);
    case SENDMSG:
        m.msg_name = NULL;
        m.msg_namelen = 0;
        BOTH(sendmsg(a, &m, o->flags | MSG_NOSIGNAL), fin_sendmsg(a, &m, o->flags));
    case RECVMSG: {
        ssize_t r = ours ? fin_recvmsg(a, &m, o->flags) : AGAIN(recvmsg(a, &m, o->flags));
        t->name_size = m.msg_namelen;
        t->message_flags = r >= 0 ? m.msg_flags : 0;
        return r;
    }
    case POLL:
        if (ours)
            return fin_poll(a, o->flags);
        struct pollfd p = {.fd = a, .events = (short)o->flags};
        ssize_t n = AGAIN(poll(&p, 1, 0));
        return n == 0 ? -EAGAIN : p.revents & POLLNVAL ? -EBADF : p.revents;
    case SPLICE:
        SAME(splice, a, o->at ? &t->in : NULL, b, o->no_data ? &t->out : NULL, o->size, o->flags);
    case TEE:
        SAME(tee, a, b, o->size, o->flags);
    case FSYNC:
        SAME(fsync, a);
    case FDATASYNC:
        SAME(fdatasync, a);
    case SYNC_RANGE:
        SAME(sync_file_range, a, o->offset, (off_t)o->size, o->flags);
    case FALLOCATE:
        SAME(fallocate, a, o->flags, o->offset, (off_t)o->size);
    case FTRUNCATE:
        SAME(ftruncate, a, o->offset);
    case FADVISE:
        BOTH((errno = posix_fadvise(a, o->offset, (off_t)o->size, o->flags)) ? -1 : 0,
             fin_fadvise(a, o->offset, (off_t)o->size, o->flags));
    case STATX: {
        ssize_t r = ours ? fin_statx(a, "", o->flags, STATX_SIZE | STATX_MODE, &info)
                         : AGAIN(statx(a, "", o->flags, STATX_SIZE | STATX_MODE, &info));
        t->in = (off_t)info.stx_size;
        return r;
    }
    case SHUTDOWN:
        SAME(shutdown, a, o->flags);
    case CLOSE:
        if (ours)
            return fin_close(a);
        ssize_t closed = sys(close(a));
        return closed == -EINTR ? 0 : closed;
    case ACCEPT:
        SAME(accept4, a, NULL, NULL, o->flags);
    case CONNECT:
        SAME(connect, a, nobody(), sizeof(struct sockaddr_in));
    case GETDENTS:
        SAME(getdents64, a, data, o->size);
    case COPY:
        SAME(copy_file_range, a, o->at ? &t->in : NULL, b, o->no_data ? &t->out : NULL, o->size, (unsigned)o->flags);
    case GETXATTR:
        SAME(fgetxattr, a, attribute(o), data, o->size);
    case SETXATTR:
        SAME(fsetxattr, a, attribute(o), data, o->size, o->flags);
    case LISTXATTR:
        SAME(flistxattr, a, (char *)data, o->size);
    case REMOVEXATTR:
        SAME(fremovexattr, a, attribute(o));
    default:
        abort();
    }
}

#endif
