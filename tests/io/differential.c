// SPDX-License-Identifier: BSD-2-Clause
// Random operations on random kinds of descriptors, beside the system calls of their names on twins of those descriptors:
// the same results, the same data, and in the end the same files. Where the system call would wait, ours waits too: then
// what it waits for comes, on both sides, or it is cancelled and has done nothing.
// (No TCP and UDP: there it depends on the machine when what was sent is there.)
// FIN_SEED=n FIN_ROUNDS=n in the environment: others, and more.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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

#define BOTH(plain, fin) return ours ? (fin) : sys(plain)
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
        ssize_t r = ours ? fin_recvmsg(a, &m, o->flags) : sys(recvmsg(a, &m, o->flags));
        t->name_size = m.msg_namelen;
        t->message_flags = r >= 0 ? m.msg_flags : 0;
        return r;
    }
    case POLL:
        if (ours)
            return fin_poll(a, o->flags);
        struct pollfd p = {.fd = a, .events = (short)(o->flags | POLLRDHUP)};
        int n = poll(&p, 1, 0);
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
                         : sys(statx(a, "", o->flags, STATX_SIZE | STATX_MODE, &info));
        t->in = (off_t)info.stx_size;
        return r;
    }
    case SHUTDOWN:
        SAME(shutdown, a, o->flags);
    case CLOSE:
        SAME(close, a);
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

static int pick(const int *from, unsigned n) { return from[below(n)]; }
#define PICK(...) pick((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static int flags_of(enum code code) {
    switch (code) {
    case PREADV2:
    case PWRITEV2:
        return PICK(0, 0, RWF_NOWAIT, RWF_DSYNC, RWF_SYNC, RWF_APPEND, 1 << 20);
    case SEND:
    case SENDTO:
    case SENDMSG:
        return PICK(0, 0, 0, MSG_DONTWAIT, MSG_EOR, MSG_OOB, MSG_MORE & 0);
    case RECV:
    case RECVFROM:
    case RECVMSG:
        return PICK(0, 0, 0, MSG_DONTWAIT, MSG_PEEK, MSG_TRUNC, MSG_PEEK | MSG_TRUNC, MSG_OOB);
    case POLL:
        return PICK(POLLIN, POLLOUT, POLLIN | POLLOUT, POLLRDHUP, POLLPRI, POLLIN | POLLRDHUP, 0);
    case SPLICE:
    case TEE:
        return PICK(0, 0, SPLICE_F_MOVE, SPLICE_F_NONBLOCK, SPLICE_F_MORE, 1 << 10);
    case SYNC_RANGE:
        return PICK(0, SYNC_FILE_RANGE_WRITE, 7, 8);
    case FALLOCATE:
        return PICK(0, FALLOC_FL_KEEP_SIZE, 3, 2, 0x10, 1 << 20);
    case FADVISE:
        return PICK(0, 1, 2, 3, 4, 5, 6, -1);
    case STATX:
        return PICK(AT_EMPTY_PATH, AT_EMPTY_PATH, 0, 1 << 30);
    case SHUTDOWN:
        return PICK(0, 1, 2, 3, -1);
    case ACCEPT:
        return PICK(0, SOCK_CLOEXEC, 1);
    case COPY:
        return PICK(0, 0, 0, 1);
    case SETXATTR:
        return PICK(0, 0, XATTR_CREATE, XATTR_REPLACE, 8);
    default:
        return 0;
    }
}

static struct op any_op(void) {
    static const size_t sizes[] = {0, 4, 4, 7, 64, 64, 500, 4096, 5000, ROOM};
    static const off_t offsets[] = {0, 0, 1, 100, 4096, 10000, -1, -2, INT64_MAX};
    struct op o = {.code = below(16) ? (enum code)below(POLL + 3) : (enum code)below(CODES),
                   .a = (int)below((unsigned)slots)};
    o.b = below(20) ? (int)below((unsigned)slots) : -1;
    o.size = sizes[below(10)];
    o.offset = offsets[below(9)];
    o.pieces = below(12) ? 1 + (int)below(4) : PICK(-1, 1025);
    o.at = below(4) == 0;
    o.no_data = below(12) == 0;
    o.bad = !o.no_data && below(15) == 0 && !LOOKS_AT_MEMORY;
    o.flags = flags_of(o.code);
    if (o.code >= PREAD && o.code <= PWRITEV2 && !strchr("fDnz", kinds[o.a])) { // only for what has positions
        o.code = o.code == PREAD || o.code == PREADV ? PREADV2 : o.code == PWRITE || o.code == PWRITEV ? PWRITEV2 : o.code;
        o.offset = -1;
    }
    if (kinds[o.a] == 'p') { // more may be done in part, and less fit where there is no room for a page
        o.size = 4096;
        o.pieces = 1;
        o.code = o.code == PWRITEV2 || o.code == WRITEV ? WRITE : o.code;
    }
    if (kinds[o.a] == 'E' && o.code <= PWRITEV2) // io_uring first waits for what cannot be read at all
        o.code = POLL, o.flags = POLLIN;
    if (o.flags & RWF_NOWAIT && o.code <= PWRITEV2 && (kinds[o.a] != 'f' || o.code == PWRITEV2)) // not told apart
        o.flags = 0;
    if (o.size == 0 && o.code <= PWRITEV2) // then it depends on the form of the call what is looked at
        o.size = 8;
    if (kinds[o.a] == 'e' && o.code == PWRITEV2) // which io_uring does not look at on Linux 6.1
        o.flags = 0;
    if (o.code == POLL && strchr("fnzD", kinds[o.a]))
        o.flags |= POLLIN;
    if (o.code == SPLICE && (kinds[o.a] != 'p' || o.b < 0 || kinds[o.b] != 'p')) // others may wait all the same
        o.flags &= ~SPLICE_F_NONBLOCK;
    if (o.code == FADVISE && o.offset < 0)
        o.offset = 0;
    if (o.code >= GETXATTR && strchr("Dnz", kinds[o.a])) // which are no files of this test
        o.code = FSYNC;
    if (o.pieces > 4 && (o.code == SENDMSG || o.code == RECVMSG))
        o.pieces = 4;
    return o;
}

static void show(const struct op *o, const char *why) {
    fprintf(stderr,
            "%s %s(%c%d, %c%d) size %zu offset %lld flags 0x%x pieces %d at %d bad %d no_data %d: plain %zd, fin %zd\n", why,
            op_names[o->code], kinds[o->a], o->a, o->b < 0 ? '-' : kinds[o->b], o->b, o->size, (long long)o->offset,
            o->flags, o->pieces, o->at, o->bad, o->no_data, results[0].r, results[1].r);
}

static int differences;
static void differ(const struct op *o, const char *why) {
    show(o, why);
    differences++;
}

static void fill(void) {
    for (int i = 0; i < ROOM; i++)
        results[0].data[i] = results[1].data[i] = (unsigned char)next_random(&seed);
    memset(&results[0].name, 0, sizeof results[0].name);
    memset(&results[1].name, 0, sizeof results[1].name);
    results[0].message_flags = results[1].message_flags = 0;
}

static bool waits_not(const struct op *o) {
    switch (o->code) {
    case PREADV2:
    case PWRITEV2:
        return o->flags & RWF_NOWAIT;
    case SEND:
    case SENDTO:
    case SENDMSG:
    case RECV:
    case RECVFROM:
    case RECVMSG:
        return o->flags & MSG_DONTWAIT;
    case SPLICE:
    case TEE:
        return o->flags & SPLICE_F_NONBLOCK;
    default:
        return false;
    }
}

// What it may wait for, as far as that does not wait itself.
static bool help_at(const struct op *o, int side) {
    int other = peer[o->a];
    uint64_t one = 1;
    if (other >= 0)
        return write(fd[side][other], "help me", 7) >= 0;
    return kinds[o->a] == 'e' && write(fd[side][o->a], &one, sizeof one) >= 0;
}

static void help(const struct op *o) {
    if (help_at(o, PLAIN))
        CHECK(help_at(o, OURS));
}

// Where several things are wrong with a call, which of them it says is the system's business.
static bool an_error(ssize_t r) { return r < 0 && r != -EAGAIN && r != -ECANCELED; }

static void compare(const struct op *o) {
    struct result *p = &results[PLAIN], *f = &results[OURS];
    if (o->flags & RWF_NOWAIT && o->code == PREADV2 && p->r == -EOPNOTSUPP && f->r == -EAGAIN)
        return; // a file that cannot tell, as those in memory on Linux 6.1
    if (kinds[o->a] == 'z' && f->r > 0 && f->r < p->r)
        return; // the kernel had something to tell the thread, which ends a read of zeros early
    if (p->r != f->r && !(an_error(p->r) && an_error(f->r)))
        return differ(o, "result");
    if (memcmp(p->data, f->data, ROOM) != 0)
        differ(o, "data");
    bool devices = strchr("nz", kinds[o->a]) || (o->b >= 0 && strchr("nz", kinds[o->b]));
    bool moves = (o->code == SPLICE && o->b >= 0 && !devices) || o->code == COPY;
    if (moves && (p->in != f->in || p->out != f->out))
        differ(o, "offsets");
    if (o->code == STATX && p->in != f->in && (kinds[o->a] == 'f'))
        differ(o, "size");
    if (p->r >= 0 && (o->code == RECVFROM || o->code == RECVMSG) && p->name_size != f->name_size)
        differ(o, "size of the name");
    if (p->message_flags != f->message_flags)
        differ(o, "flags");
    for (int side = 0; side < 2; side++)
        if (o->code == ACCEPT && results[side].r >= 0)
            close((int)results[side].r);
}

static void one(void) {
    struct op o = any_op();
    fill();
    results[PLAIN].r = perform(&o, false);
    bool wait = results[PLAIN].r == -EAGAIN && !waits_not(&o);
    if (!wait) {
        results[OURS].r = perform(&o, true);
        return compare(&o);
    }
    bool helped = below(2);
    fin_shared bool ended = false;
    fin_finish {
        fin_async {
            results[OURS].r = perform(&o, true);
            ended = true;
        };
        for (unsigned n = below(3); n; n--)
            fin_yield();
        if (ended)
            differ(&o, "has not waited");
        if (helped) {
            help(&o);
            results[PLAIN].r = perform(&o, false);
            if (results[PLAIN].r == -EAGAIN)
                fin_cancel();
        } else {
            fin_cancel();
        }
    }
    if (results[PLAIN].r == -EAGAIN)
        results[PLAIN].r = -ECANCELED;
    compare(&o);
}

static void compare_files(void) {
    static char text[2][1 << 20];
    ssize_t n[2];
    for (int side = 0; side < 2; side++) {
        int f = open(names[side], O_RDONLY);
        n[side] = read(f, text[side], sizeof text[side]);
        close(f);
    }
    if (n[0] != n[1] || memcmp(text[0], text[1], (size_t)n[0]) != 0) {
        fprintf(stderr, "files differ: %zd and %zd bytes\n", n[0], n[1]);
        differences++;
    }
    for (int i = 0; i < slots; i++) {
        if (kinds[i] == 'f' && lseek(fd[0][i], 0, SEEK_CUR) != lseek(fd[1][i], 0, SEEK_CUR)) {
            fprintf(stderr, "positions of %d differ\n", i);
            differences++;
        }
    }
}

int main(void) {
    const char *s = getenv("FIN_SEED"), *n = getenv("FIN_ROUNDS");
    unsigned first = s ? (unsigned)atoi(s) : 1, rounds = n ? (unsigned)atoi(n) : getenv("FIN_FEW") ? 8 : 20;
    if (on_valgrind())
        SKIP("valgrind looks at arguments before the kernel does");
    signal(SIGPIPE, SIG_IGN);
    CHECK_EQ(fin_sleep(1), 0); // makes what the thread waits with, so that it gets no number that was closed
    for (int side = 0; side < 2; side++) {
        strcpy(names[side], "/tmp/differential-XXXXXX");
        close(mkstemp(names[side]));
    }
    for (unsigned round = first; round < first + rounds && !differences; round++) {
        seed = round * 7919;
        open_all();
        for (int i = 0; i < STEPS && !differences; i++)
            one();
        compare_files();
        close_all();
        for (int side = 0; side < 2; side++)
            CHECK_EQ(truncate(names[side], 0), 0);
        if (differences)
            fprintf(stderr, "FIN_SEED=%u, %s\n", round, fin_io_backend());
    }
    for (int side = 0; side < 2; side++)
        unlink(names[side]);
    return differences != 0;
}
