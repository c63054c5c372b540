// SPDX-License-Identifier: BSD-2-Clause
// Random operations on random kinds of descriptors, beside the system calls of their names on twins of those descriptors:
// the same results, the same data, and in the end the same files. Where the system call would wait, ours waits too: then
// what it waits for comes, on both sides, or it is cancelled and has done nothing. In every fourth round there are signals.
// (No TCP and UDP: there it depends on the machine when what was sent is there.)
// FIN_SEED=n FIN_ROUNDS=n in the environment: others, and more.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/time.h>

#include "twins.h"

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

static bool signals_come;

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
        o.no_data = o.bad = false; // before Linux 6.18 the write leaves nothing there, which takes a place
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
    if (signals_come && o.code == GETDENTS) // which then may return less, and go on from there
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

// The ring of Linux 5.15 goes to the end of a file for a write that appends, and stays there when the write fails.
static void go_back(const struct op *o) {
    bool old = !on_epoll() && !strstr(fin_io_backend(), "registered ring");
    if (old && kinds[o->a] == 'f' && fcntl(fd[OURS][o->a], F_GETFL) & O_APPEND)
        lseek(fd[OURS][o->a], lseek(fd[PLAIN][o->a], 0, SEEK_CUR), SEEK_SET);
}

static void compare(const struct op *o) {
    struct result *p = &results[PLAIN], *f = &results[OURS];
    if (an_error(f->r))
        go_back(o);
    if (o->flags & RWF_NOWAIT && o->code == PREADV2 && p->r == -EOPNOTSUPP && f->r == -EAGAIN)
        return; // a file that cannot tell, as those in memory on Linux 6.1
    if (kinds[o->a] == 'z' && f->r > 0 && p->r > 0 && f->r != p->r)
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

static void interrupted(int unused) { (void)unused; }

static void interrupt_every(suseconds_t us) {
    signals_come = us != 0;
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = interrupted}, NULL); // restarts nothing
    struct itimerval t = {{0, us}, {0, us}};
    CHECK_EQ(setitimer(ITIMER_REAL, &t, NULL), 0);
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
        interrupt_every(round % 4 ? 0 : 200);
        for (int i = 0; i < STEPS && !differences; i++)
            one();
        interrupt_every(0);
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
