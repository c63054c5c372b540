// SPDX-License-Identifier: BSD-2-Clause
// What the files of this room share. A thread's I/O has one back end, a table of functions: uring.c, or epoll.c where
// io_uring is denied. Time is the same in both: timers, the first of which bounds the thread's sleep.
#ifndef FIN_IO_IO_H
#define FIN_IO_IO_H

#include <liburing.h>
#include <poll.h>

#include <fin/io.h>

#include "core/runtime.h"

struct io;

// A system call, in the words of a submission queue entry: its fields, by their first names there.
struct call {
    uint8_t op;        // IORING_OP_...
    uint8_t sqe_flags; // IOSQE_...
    uint16_t ioprio;   // also: IORING_RECVSEND_..., IORING_ACCEPT_...
    int fd;
    uint64_t off; // also: second address, size of a socket address
    const void *addr;
    uint32_t len;
    uint32_t flags;     // also: events of a poll
    uint16_t buf_index; // also: buffer group
    bool nc;
    bool message;        // addr is that of the header in a struct message
    uint32_t file_index; // also: splice_fd_in
    uint64_t addr3;
    uint64_t since; // how many closes there had been when it began; 0: it has not
};

// What a ring has no code for goes to the thread pool: an operation of a ring, with arguments that its entry cannot hold, or
// one of these. So does what blocks where there is no ring, and what the ring of an older kernel lacks.
enum {
    FIN_OP_POOL = 0x80, // plus IORING_OP_...
    FIN_OP_READLINKAT = FIN_OP_POOL + 64,
    FIN_OP_GETDENTS,
    FIN_OP_COPY,
    FIN_OP_MSYNC,
    FIN_OP_SYNCFS,
    FIN_OP_FCHMODAT,
    FIN_OP_FCHOWNAT,
    FIN_OP_UTIMENSAT,
    FIN_OP_FACCESSAT,
    FIN_OP_MKNODAT,
    FIN_OP_STATFS,
    FIN_OP_FSTATFS,
    FIN_OP_LGETXATTR,
    FIN_OP_LSETXATTR,
    FIN_OP_LISTXATTR,
    FIN_OP_LLISTXATTR,
    FIN_OP_FLISTXATTR,
    FIN_OP_REMOVEXATTR,
    FIN_OP_LREMOVEXATTR,
    FIN_OP_FREMOVEXATTR,
    FIN_OP_FTRUNCATE = 55, // IORING_OP_FTRUNCATE of Linux 6.9
};

struct backend {
    bool (*expects)(const struct io *io); // is anything to come of what AWEs or objects wait for?
    int (*begin)(struct io *io);          // 0 or -errno
    void (*end)(struct io *io);
    // Handles what is ready; waits for something first where ns is not 0: so long, or without limit where it is negative.
    void (*poll)(struct io *io, int64_t ns);
    int (*run)(struct io *io, const struct call *c);
};

extern const struct backend fin_io_uring, fin_io_epoll;

// A descriptor whose reads go to the page cache, for so many looks, as long as nothing has been closed (cached.c).
struct known {
    uint64_t since;
    int fd;
    uint8_t looks;
};

struct uring {
    struct io_uring ring;
    uint64_t wake_value;
    uint64_t in_flight; // completions to come
    bool wake_armed;
    uint16_t groups; // of buffers: the next number to try
    bool has_slots;  // for registered memory; a bit each where used
    uint64_t slots;
};

// What the kernel can; all false without a ring.
struct can {
    uint64_t ops; // a bit each
    bool registered_ring, cancel_all, multishot_accept, multishot_receive, buffer_rings, zero_copy, zero_copy_msg;
    bool tells_part; // that a transfer with MSG_WAITALL had done before an error or a cancel
};

struct watch;
struct epoll {
    int watches;
    struct watch **watch; // by descriptor; NULL where nothing ever waited for it
};

// What waits for its time. A row is in the order of its times, and takes a timer only at its end.
enum { TIMER_ROWS = 4 };
struct timers {
    struct fin_timer *heap;
    struct timer_row {
        struct fin_timer *first, *last;
        uint64_t due; // of its last
    } rows[TIMER_ROWS];
    uint64_t started; // how many ever were
    uint64_t waiting; // how many are
};

// Descriptors that AWEs have been given which have not run since. Free places are a list of ~next.
struct held {
    int *place;
    uint32_t room, free;
};

// For a loop that is not ours: embed.c.
struct embed {
    int timer;    // in the epoll; -1 where there is no such loop
    uint64_t due; // when it goes off
};

// The I/O of a thread. It is never freed, because a waker may be late: the next thread that has the same runtime takes it
// over, and may find itself woken for nothing.
struct io {
    struct fin_poller poller; // first
    struct fin_runtime *rt;
    const struct backend *backend;
    const char *name;
    char features[160]; // what name points to, for a ring or where one was made in vain; why there is nothing
    const char *lacks;  // the system call that a ring or an epoll was made in vain for, or NULL
    struct timers timers;
    uint64_t slack; // how long the thread sleeps on when a timer is due
    bool small;  // with queues that are full at once
    bool ending; // no AWE will run any more
    bool parents; // in the child of a fork: what waits there stays as it is until it is cancelled
    uint8_t calls;           // that may have been made at once, counted
    uint8_t misses, skipped; // of reads from the page cache
    struct known known[4];
    struct can can;
    struct fin_link owned;    // objects of the program
    struct fin_link chains;   // in the ring (linked.c)
    struct fin_link accepts;  // in the ring, and which news of them have been heard (unheard.c)
    uint32_t news;
    struct held held, opened; // opened: by the pool, under its lock
    struct fin_link jobs;     // in the pool's queue, and how many it runs: under its lock
    unsigned jobs_begun;
    struct fin_link awaited; // of the pool's, those for which AWEs wait
    struct message *message;  // one that nobody uses, or NULL
    struct files *files;      // registered ones, or NULL
    union {
        struct uring uring;
        struct epoll epoll;
    };
    int fd; // of the ring or the epoll, -1 while there is none
    struct embed embed;
    struct io *next;
    int wake_fd;
    uint32_t woken __attribute__((aligned(64))); // who puts this up writes wake_fd, and who reads that lowers it
};

// An object of the program that is of use on this thread only.
struct owned {
    struct fin_link link;
    struct io *io;
    void (*lost)(struct owned *); // frees it, when the thread ends
};

// An AWE that waits, in the frame of its call.
struct waiter {
    struct fin_cancel_item item;
    struct fin_awe *awe;
    int result;
};

// An AWE that waits until a descriptor is ready: on the epoll back end.
struct ready_waiter {
    struct waiter waiter;
    struct fin_link link; // next is NULL where it waits no longer
    struct io *io;
    uint32_t events;
    bool looks; // and takes nothing of what is ready
};

// accept.c: of an AWE that takes a connection with a continuation
void fin_acceptor_cancel(void *taker);
void fin_acceptor_completed(struct io *io, struct waiter *w);
// receive.c: of one that takes a piece
void fin_receiver_cancel(void *receiver);
void fin_receiver_completed(struct io *io, struct waiter *w);

// epoll.c: begins such a wait, whose end fin_io_resume tells: 0, -ECANCELED, -EBADF, or what epoll says later. 1: it
// is always ready to be read and written, and never for anything else.
int fin_epoll_watch(struct ready_waiter *r, int fd);
static inline int fin_epoll_wait_for(struct ready_waiter *r, int fd) { // -EINVAL: never for what would not have blocked
    int error = fin_epoll_watch(r, fd);
    return error > 0 ? -EINVAL : error;
}
void fin_epoll_cancel(void *ready_waiter);
// Of what poll(2) tells, asked for these events.
static inline int fin_io_asked_for(int result, uint32_t events) {
    return result & (int)(events | POLLERR | POLLHUP | POLLNVAL);
}
int fin_io_epoll_for(int fd, uint32_t events); // a new descriptor: POLLIN where that one is ready; or -errno

// closed.c
extern uint64_t fin_closes;
static inline uint64_t fin_closes_now(void) { return __atomic_load_n(&fin_closes, __ATOMIC_RELAXED); }
uint64_t fin_close_begins(int fd); // from now on it counts as closed; the value is for:
void fin_close_ends(int fd, uint64_t begun, bool closed);
// Of a close that has begun: it has released the descriptor, whatever it says. A file system, too, may say ECANCELED, which
// here means that the descriptor is open.
int fin_close_result(int result);
int fin_close_at_once(int fd); // without a back end
// A step of a chain finds its file when the steps before it are over; or does no more.
void fin_close_linked(int fd, bool linked);
bool fin_close_is_linked(int fd);
bool fin_any_closed(const struct call *c);
// Has fin_close closed a descriptor of it since it began? Then it must not be made again.
static inline bool fin_io_closed(const struct call *c) {
    return FIN_UNLIKELY(fin_closes_now() != c->since) && fin_any_closed(c);
}

// io.c
int fin_io_watch_forks(void); // for the locks of this room, before any is taken: 0 or -ENOMEM
int fin_io_begin(struct io **io);
// The calling thread's, made on first use; 0 or -errno.
static inline int fin_io_here(struct io **io) {
    struct fin_thread *t = fin_self;
    if (FIN_UNLIKELY(!t || !fin_rt(t)->poller))
        return fin_io_begin(io);
    *io = (struct io *)fin_rt(t)->poller;
    return 0;
}
void fin_owned_add(struct owned *o, struct io *io, void (*lost)(struct owned *));
void fin_owned_remove(struct owned *o);
bool fin_io_is_here(const struct io *io); // of this thread: not what a fork's child has of its parent's
bool fin_owned_here(const struct owned *o);
// The thread may end before the AWE that is to have the descriptor runs: the end closes those that nobody took. Where it was
// put; where there is no memory to remember it, nowhere.
uint32_t fin_hold(struct held *held, int fd);
void fin_take(struct held *held, uint32_t place);
static inline uint32_t fin_io_hold(struct io *io, int fd) { return fin_hold(&io->held, fd); }
static inline void fin_io_take(struct io *io, uint32_t place) { fin_take(&io->held, place); }
// With its stack. For a message, where that is what the caller has said.
static inline void fin_io_count_wait(struct fin_runtime *rt) {
    rt->stats.blocks[rt->waits_for].with_stack++;
    rt->waits_for = FIN_FOR_IO;
}
// In the child of a fork an AWE may be in a call that its parent has begun, and of which nothing is under way: it stays
// there until it is cancelled.
FIN_BLOCKING int fin_io_stay(bool nc);
static inline FIN_BLOCKING int fin_io_by_backend(struct io *io, const struct call *c) {
    return FIN_UNLIKELY(io->parents) ? fin_io_stay(c->nc) : io->backend->run(io, c);
}
static inline FIN_BLOCKING void fin_io_suspend(struct waiter *w) {
    fin_io_count_wait(fin_rt(fin_self));
    fin_await(&w->awe);
}
// Its result is a descriptor, which nobody must lose.
static inline bool fin_io_makes_descriptor(unsigned op) {
    return op == IORING_OP_OPENAT || op == IORING_OP_ACCEPT || op == IORING_OP_OPENAT2;
}
// A read or write of nothing, which does not wait, but for an empty datagram. A ring's does, for something, where it takes
// the end for one that may block: of a pipe before Linux 6.4, of a terminal, of an inotify, of a full eventfd. And what
// moves nothing, where a ring looks at the descriptors, or at the other end of a socket.
static inline bool fin_io_nothing(const struct call *c) {
    bool bytes = c->op == IORING_OP_READ || c->op == IORING_OP_READV || c->op == IORING_OP_WRITE;
    bool moves = c->op == IORING_OP_SPLICE || c->op == IORING_OP_TEE || c->op == IORING_OP_WRITEV;
    return (bytes || moves) && c->len == 0;
}
// A socket is to transfer all, if it can. (MSG_WAITALL is another flag elsewhere.)
static inline bool fin_io_all(const struct call *c) {
    bool message = c->op == IORING_OP_SENDMSG || c->op == IORING_OP_RECVMSG;
    return (c->op == IORING_OP_SEND || c->op == IORING_OP_RECV || message) && c->flags & MSG_WAITALL;
}
struct fin_on;
const char *fin_io_path(const char *path, int flags); // of a statx
int fin_on_call(struct fin_on *on, const struct call *c, void (*cont)(void *, int), const void *state, size_t size);
int fin_on_invalid(void (*cont)(void *, int), const void *state, size_t size); // one whose arguments are -EINVAL
// A waiter without an AWE is that of a struct fin_on.
void fin_on_completed(struct io *io, struct waiter *w);
static inline void fin_io_resume(struct io *io, struct waiter *w, int result) { // own thread
    w->result = result;
    if (FIN_UNLIKELY(io->ending))
        return;
    if (FIN_LIKELY(w->awe != NULL))
        fin_schedule_own(io->rt, w->awe);
    else
        fin_on_completed(io, w);
}
void fin_io_wake(struct io *io);              // any thread
void fin_io_wake_others(const struct io *io);
// io.c: as fin_io_begin, of an epoll. -EBUSY where the thread has a ring.
int fin_io_begin_epoll(struct io **io);
// embed.c
void fin_embed_timed(struct io *io); // the timer has gone off
void fin_embed_end(struct io *io);   // the thread ends, or another process goes on with it
void fin_io_woken(struct io *io);             // wake_fd was read
uint32_t fin_io_events(const struct call *c); // what it waits for; 0 where it is not to wait
// What a cancelled connect comes to: 0 where the socket is connected all the same, or -ECANCELED.
int fin_io_connect_ended(const struct io *io, const struct call *c);
// Returns the error; the socket is as before.
int fin_io_connect_failed(const struct io *io, const struct call *c, int error);

// offload.c
FIN_BLOCKING int fin_io_offload(struct io *io, void (*fn)(void *), void *arg, bool nc);
uint32_t fin_io_hold_opened(struct io *io, int fd); // any thread
void fin_io_take_opened(struct io *io, uint32_t place);
void fin_offload_forked(struct io *here); // in the child: the caller's, from before, or NULL
void fin_io_offload_end(struct io *io); // own thread, at its end: nothing uses its memory any more

// request.c: a call in registers, the first four words of an entry. Pre: io has a ring that knows the operation; no
// descriptor comes of it.
FIN_BLOCKING long fin_uring_quick(struct io *io, uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc);
// Of IORING_OP_READ at a position: perhaps from the page cache.
FIN_BLOCKING long fin_uring_quick_read(struct io *io, uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc);
// From there alone, or -EAGAIN. Pre: fin_io_is_alone() (io/cached.h).
FIN_BLOCKING int fin_uring_read_at_once(struct io *io, int fd, uint64_t addr, uint32_t size, uint64_t off, uint32_t flags,
                                      bool nc);
// Of IORING_OP_SEND.
FIN_BLOCKING long fin_uring_quick_send(struct io *io, uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc);
// Of IORING_OP_RECV, _RECVMSG and _SENDMSG.
FIN_BLOCKING long fin_uring_quick_transfer(struct io *io, uint64_t head, uint64_t off, uint64_t addr, uint64_t tail,
                                           bool nc);
// Of memory that is registered as number `index`.
FIN_BLOCKING long fin_uring_quick_fixed(struct io *io, uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc,
                                        uint16_t index);
// addr is that of the header in a struct message.
FIN_BLOCKING long fin_uring_quick_message(struct io *io, uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc);

// Of a call that may be made at once. Who has only such calls to make, from a peer who sends without end or of what the page
// cache has, is cancelled and timed out as anybody is, and keeps nobody from running.
static inline FIN_BLOCKING void fin_io_let_others_run(struct io *io) {
    enum { AT_ONCE = 64 };
    if (FIN_UNLIKELY(++io->calls % AT_ONCE == 0))
        fin_let_others_run();
}

// direct.c
int fin_io_direct(const struct call *c);                              // the system call itself; may block the thread
FIN_BLOCKING int fin_io_by_pool(struct io *io, const struct call *c); // the same on a thread of the pool
// preadv2 or pwritev2. Where these are denied, and without flags, what is older does the same.
int fin_io_vectors(bool in, int fd, const struct iovec *v, int n, off_t at, int flags);
static inline int fin_io_result(long r) { return r < 0 ? -errno : (int)r; }

// try.c: calls that do not block. -EAGAIN where they would. `waited`: the descriptor has been said to be ready
void fin_try_forked(void); // in the child, which has not the thread that may have had the lock
enum fin_io_kind { FIN_IO_FILE, FIN_IO_SOCKET, FIN_IO_STREAM };
enum fin_io_kind fin_io_kind_and_number(int fd, ino_t *number); // that of the inode
static inline enum fin_io_kind fin_io_kind_of(int fd) {
    ino_t number;
    return fin_io_kind_and_number(fd, &number);
}
int fin_io_try(const struct call *c, enum fin_io_kind kind, bool waited);
int fin_io_ready_now(int fd, int events);
bool fin_io_poll_tells_room(int fd, bool waited); // for a message that found none
// Of a file: true where the call is done, with its result in *done. Otherwise `rest` is left to do, after a count of *done.
bool fin_io_try_file(struct io *io, const struct call *c, struct call *rest, int *done);

// position.c
void fin_position_forked(void); // in the child
// Of a file, by this thread or the pool. At the position where `file` is its number; otherwise at another place.
FIN_BLOCKING int fin_io_file(struct io *io, const struct call *c);
FIN_BLOCKING int fin_io_file_here(struct io *io, const struct call *c, ino_t file);
// A call of four words at the position, which the thread's ring could do: it does, where there is no position.
FIN_BLOCKING long fin_io_run_here(struct io *io, uint64_t head, uint64_t addr, uint64_t tail, bool nc);
static inline bool fin_io_at_position(unsigned op, uint64_t off) {
    bool transfers =
        op == IORING_OP_READ || op == IORING_OP_WRITE || op == IORING_OP_READV || op == IORING_OP_WRITEV;
    return transfers && off == UINT64_MAX;
}
// At the position, and the file has one? Its number is to be said then.
bool fin_io_of_file(const struct io *io, const struct call *c, ino_t *file);

// poll.c
FIN_BLOCKING int fin_io_poll(int fd, int events, bool nc); // as fin_poll
// Before what no event tells of is tried again.
static inline FIN_BLOCKING int fin_io_pause(bool nc) { return nc ? fin_sleep_nc(FIN_MS) : fin_sleep(FIN_MS); }
// A Unix socket in non-blocking mode is told so when its peer has too many to accept; nothing tells when that changes.
static inline bool fin_io_too_many_to_accept(const struct call *c, int result) {
    return result == -EAGAIN && c->op == IORING_OP_CONNECT && ((const struct sockaddr *)c->addr)->sa_family == AF_UNIX;
}

// splice.c
bool fin_io_splices_file(const struct call *c);
FIN_BLOCKING int fin_io_splice(struct io *io, const struct call *c, bool file); // or a tee

// timer.c
uint64_t fin_io_after(uint64_t ns); // from now; the end of time at most
void fin_timer_add(struct io *io, struct fin_timer *t, uint64_t due, void (*fn)(struct fin_timer *));
void fin_timer_remove(struct fin_timer *t); // does nothing where it ran
void fin_timers_run(struct io *io);
// Takes away all that have this function, and gives each to `with`.
void fin_timers_take(struct io *io, void (*fn)(struct fin_timer *), void (*with)(struct fin_timer *));
void fin_timers_forked(struct io *parents); // in the child: the blocks around the caller of fork keep their time
bool fin_timed_left(struct fin_poller *p, struct fin_finish_block *block); // its timer goes, where it has one that waits
struct fin_timer *fin_timers_soonest(const struct io *io); // pre: one waits
static inline struct fin_timer *fin_timers_first(const struct io *io) { // NULL: none waits
    return io->timers.waiting ? fin_timers_soonest(io) : NULL;
}
static inline bool fin_timer_waits(const struct fin_timer *t) { return t->order != 0; }

// An AWE that sleeps, with a stack or without.
struct sleeper {
    struct waiter waiter; // first
    struct fin_timer timer;
    struct io *io;
};
void fin_io_slept(struct fin_timer *t);
void fin_io_cancel_sleep(void *sleeper); // of a cancel item

// What the kernel transfers at most in one call.
static inline uint32_t fin_io_most(size_t size) { return size < 0x7ffff000 ? (uint32_t)size : 0x7ffff000; }

#define FIN_OF(type, member, p) ((type *)((char *)(p) - offsetof(type, member)))

#endif
