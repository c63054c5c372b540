// SPDX-License-Identifier: BSD-2-Clause
// How ends come to be, and go. The side that offers makes the memory, sealed so that nobody can shrink it, and a pair of
// sockets for what it receives, and sends the memory and the other socket of the pair in one packet over the connection. So
// it waits for nothing. The side that takes checks what it is given, and receives over the connection. The end of a socket
// tells the death of the other side.
//
// So no side receives on an open file that the other one has as well. Who has it could ask the kernel to add descriptors to
// what comes, and where its owner is to be sent a signal for each packet (monitor.c), say which: with the owner's rights.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fin/io.h>

#include "chan/chan.h"
#include "chan/offer.h"
#include "chan/wait.h"
#include "descriptors.h"
#include "touch.h"

enum { MOST_FDS = 4 }; // in a greeting, to see that there are not too many
enum { LEAST_LINES = 64, MOST_LINES = 1 << 20, DEFAULT_SIZE = 64 << 10 };

// The first page of the memory; the rings follow.
struct control {
    struct sender_line sender[2]; // of the direction 0, from the one that took to the one that offered, and of 1
    struct receiver_line receiver[2];
};

struct hello {
    char magic[8];
    uint32_t version, lines;
};

static const struct hello greeting = {"fin-chan", 5, 0};

static size_t page(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static uint32_t lines_of(size_t size) {
    uint32_t lines = LEAST_LINES;
    size = size ? size : DEFAULT_SIZE;
    size = size < page() ? page() : size;
    while (lines < MOST_LINES && (size_t)lines * UMP_LINE < size)
        lines *= 2;
    return lines;
}

static size_t memory_size(uint32_t lines) { return page() + 2 * (size_t)lines * UMP_LINE; }

static bool map_at(char *at, size_t size, int fd, size_t offset) {
    return mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)offset) != MAP_FAILED;
}

// The control page, then each ring twice in a row.
static struct shared_map *map_new(int fd, uint32_t lines) {
    size_t ring = (size_t)lines * UMP_LINE;
    struct shared_map *m = malloc(sizeof *m);
    if (!m)
        return NULL;
    *m = (struct shared_map){.size = page() + 4 * ring};
    m->base = mmap(NULL, m->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool good = m->base != MAP_FAILED && map_at(m->base, page(), fd, 0);
    for (size_t i = 0; good && i < 4; i++)
        good = map_at(m->base + page() + i * ring, ring, fd, page() + i / 2 * ring);
    struct stat s;
    if (good) {
        m->id = fstat(fd, &s) == 0 ? (uint64_t)s.st_ino : 0;
        return m;
    }
    if (m->base != MAP_FAILED)
        munmap(m->base, m->size);
    free(m);
    return NULL;
}

static void map_end(struct shared_map *m) {
    munmap(m->base, m->size);
    fin_meeting_end(&m->meeting[0]);
    fin_meeting_end(&m->meeting[1]);
    free(m);
}

static void map_release(struct shared_map *m) {
    if (__atomic_sub_fetch(&m->users, 1, __ATOMIC_ACQ_REL) == 0)
        map_end(m);
}

static void close_all(const int *fd, int count) {
    for (int i = 0; i < count; i++)
        if (fd[i] >= 0)
            close(fd[i]);
}

// The caller's: programs that this process starts are not to have it.
static void keep_socket(int fd) { fcntl(fd, F_SETFD, FD_CLOEXEC); }

struct fin_chan *fin_chan_new(unsigned flags) {
    struct fin_chan *c = aligned_alloc(_Alignof(struct fin_chan), sizeof *c);
    if (!c)
        return NULL;
    memset(c, 0, sizeof *c);
    for (int i = 0; i < FIN_CHAN_SOCKETS; i++)
        c->sockets[i] = -1;
    c->watch.chan = c; // any thread may look there, by a waitset
    c->out.turn.shared = c->in.turn.shared = flags & FIN_CHAN_SHARED;
    if (fin_chan_trace_add(c) == 0)
        return c;
    free(c);
    return NULL;
}

// First it leaves the list whose sockets the child of a fork closes: their numbers may be others' then.
void fin_chan_drop(struct fin_chan *c) {
    if (!c)
        return;
    fin_chan_trace_remove(c);
    if (c->sockets[FIN_CHAN_MEMORY] >= 0)
        close(c->sockets[FIN_CHAN_MEMORY]);
    for (int i = 0; i < FIN_CHAN_MEMORY; i++)
        if (c->sockets[i] >= 0)
            fin_bell_end_socket(c->sockets[i]);
    free(c);
}

static bool touches(void) {
    static int known; // 1 plus the answer; a race writes the same value
    int k = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (k == 0) {
        k = 1 + fin_arch_touches();
        __atomic_store_n(&known, k, __ATOMIC_RELAXED);
    }
    return k > 1;
}

// Side 0 offered: it receives in direction 0.
static void chan_begin(struct fin_chan *c, struct shared_map *m, unsigned side, uint32_t lines) {
    struct control *control = (struct control *)m->base;
    size_t ring = 2 * (size_t)lines * UMP_LINE;
    uint32_t shift = (uint32_t)__builtin_ctz(lines);
    unsigned in = side, out = 1 - side;
    bool barriers = fin_ump_barriers();
    c->map = m;
    __atomic_add_fetch(&m->users, 1, __ATOMIC_RELAXED);
    c->out.most = c->in.most = (size_t)lines / 2 * UMP_LINE - UMP_LINE; // of half of the lines
    c->out.ump = (struct ump_tx){.ring = m->base + page() + out * ring,
                                 .peer = &control->receiver[out],
                                 .own = &control->sender[out],
                                 .limit = ump_window(lines) + 1,
                                 .other = &c->in.ump.tail,
                                 .lines = lines,
                                 .shift = shift,
                                 .fd = c->sockets[out],
                                 .alive = c->sockets[out] < 0 ? UINT64_MAX : 0,
                                 .registered = barriers,
                                 .touches = touches()};
    c->in.ump = (struct ump_rx){.ring = m->base + page() + in * ring,
                                .own = &control->receiver[in],
                                .peer = &control->sender[in],
                                .acknowledge_at = ump_window(lines),
                                .talks = &c->out.ump.talks,
                                .lines = lines,
                                .shift = shift,
                                .fd = c->sockets[in],
                                .asks = barriers && !c->in.turn.shared};
    __atomic_store_n(&c->in.ump.own->barriers, barriers, __ATOMIC_RELAXED);
    c->out.ump.fence = !barriers || !__atomic_load_n(&c->out.ump.peer->barriers, __ATOMIC_RELAXED);
}

int fin_chan_options_check(const struct fin_chan_options *o, struct fin_chan_options *out) {
    *out = o ? *o : (struct fin_chan_options){0};
    bool bad = out->size > (size_t)MOST_LINES * UMP_LINE || out->flags & ~(FIN_CHAN_SHARED | FIN_CHAN_LOCAL);
    return bad || out->flags == (FIN_CHAN_SHARED | FIN_CHAN_LOCAL) ? -EINVAL : 0;
}

static void meet(struct fin_chan *c, unsigned side, bool alone) {
    c->in.ump.meeting = &c->map->meeting[side];
    c->out.ump.meeting = &c->map->meeting[1 - side];
    c->in.ump.alone = c->out.ump.alone = alone;
    c->out.quick &= !alone;
    c->out.here = alone && !fin_trace_is_on();           // no message of a trace goes past the ring
    c->out.ump.fence = !alone && !c->out.ump.registered; // the other end does as this one
}

static int pair_up(struct fin_chan *a, struct fin_chan *b, const struct fin_chan_options *o) {
    uint32_t lines = lines_of(o->size);
    int fd = fin_chan_memory_new(memory_size(lines));
    struct shared_map *m = fd < 0 ? NULL : map_new(fd, lines);
    if (!m)
        return close_all(&fd, 1), fd < 0 ? fd : -ENOMEM;
    close(fd);
    chan_begin(a, m, 0, lines);
    chan_begin(b, m, 1, lines);
    meet(a, 0, o->flags & FIN_CHAN_LOCAL);
    meet(b, 1, o->flags & FIN_CHAN_LOCAL);
    return 0;
}

int fin_chan_pair(struct fin_chan **a, struct fin_chan **b, const struct fin_chan_options *options) {
    struct fin_chan_options o;
    int r = fin_chan_options_check(options, &o);
    if (r != 0)
        return r;
    struct fin_chan *end[2] = {fin_chan_new(o.flags), fin_chan_new(o.flags)};
    r = !end[0] || !end[1] ? -ENOMEM : pair_up(end[0], end[1], &o);
    if (r != 0) {
        fin_chan_drop(end[0]);
        fin_chan_drop(end[1]);
        return r;
    }
    *a = end[0];
    *b = end[1];
    return 0;
}

void fin_offer_drop(struct offer *o) {
    if (o->map)
        map_end(o->map);
    fin_chan_drop(o->chan);
}

static int make_pair(int *sockets) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -errno;
    sockets[FIN_CHAN_TO_OFFER] = pair[0];
    sockets[FIN_CHAN_OFFERED] = pair[1];
    return 0;
}

int fin_offer_make(struct offer *o, const struct fin_chan_options *options) {
    *o = (struct offer){.lines = lines_of(options->size)};
    o->chan = fin_chan_new(options->flags);
    if (!o->chan)
        return -ENOMEM;
    int memory = fin_chan_memory_new(memory_size(o->lines)), r = memory;
    if (memory >= 0) {
        o->chan->sockets[FIN_CHAN_MEMORY] = memory;
        r = make_pair(o->chan->sockets);
    }
    if (r == 0)
        o->map = map_new(memory, o->lines);
    if (r == 0 && !o->map)
        r = -ENOMEM;
    if (r == 0) // before the other side can look
        ((struct control *)o->map->base)->receiver[0].barriers = fin_ump_barriers();
    if (r != 0)
        fin_offer_drop(o);
    return r;
}

struct letter {
    struct hello hello;
    struct iovec v;
    struct msghdr m;
    union {
        char room[CMSG_SPACE(MOST_FDS * sizeof(int))];
        struct cmsghdr align;
    } control;
};

static void letter_init(struct letter *p) {
    memset(p, 0, sizeof *p);
    p->v = (struct iovec){&p->hello, sizeof p->hello};
    p->m = (struct msghdr){
        .msg_iov = &p->v, .msg_iovlen = 1, .msg_control = p->control.room, .msg_controllen = sizeof p->control.room};
}

// Its number may be another's once it is closed.
static void close_one(int *place) {
    int fd = *place;
    *place = -1;
    close(fd);
}

// In the child of a fork all of them are -1.
int fin_offer_send(struct offer *o) {
    struct letter p;
    int *sockets = o->chan->sockets, fd = sockets[FIN_CHAN_TO_TAKER];
    int fds[2] = {sockets[FIN_CHAN_MEMORY], sockets[FIN_CHAN_OFFERED]};
    letter_init(&p);
    p.hello = greeting;
    p.hello.lines = o->lines;
    p.m.msg_controllen = CMSG_SPACE(sizeof fds);
    struct cmsghdr *c = CMSG_FIRSTHDR(&p.m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(c), fds, sizeof fds);
    ssize_t n;
    do
        n = sendmsg(fd, &p.m, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof p.hello)
        return errno ? -errno : -EPROTO;
    chan_begin(o->chan, o->map, 0, o->lines);
    close_one(&sockets[FIN_CHAN_MEMORY]);
    close_one(&sockets[FIN_CHAN_OFFERED]);
    return 0;
}

void fin_offer_turn_away(struct offer *o) {
    int fd = o->chan->sockets[FIN_CHAN_TO_TAKER];
    o->chan->sockets[FIN_CHAN_TO_TAKER] = -1;
    if (fd >= 0)
        fin_bell_end_socket(fd);
}

// 0; -EINVAL, if it is none; or what denies it to be asked.
static int is_seqpacket(int fd) {
    int domain = 0, type = 0;
    socklen_t size = sizeof(int);
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0)
        return fin_host_denied(-errno) ? -errno : -EINVAL;
    return domain == AF_UNIX && type == SOCK_SEQPACKET ? 0 : -EINVAL;
}

int fin_chan_offer(struct fin_chan **out, int fd, const struct fin_chan_options *options) {
    struct fin_chan_options o;
    struct offer offer;
    int r = fin_chan_options_check(options, &o);
    if (r == 0)
        r = o.flags & FIN_CHAN_LOCAL ? -EINVAL : is_seqpacket(fd);
    if (r == 0)
        r = fin_offer_make(&offer, &o);
    if (r != 0) {
        close(fd);
        return r;
    }
    fin_offer_to(&offer, fd);
    r = fin_offer_send(&offer);
    if (r != 0) {
        fin_offer_drop(&offer);
        return r;
    }
    keep_socket(fd);
    *out = offer.chan;
    return 0;
}

static bool good_hello(const struct hello *h) {
    return memcmp(h->magic, greeting.magic, sizeof h->magic) == 0 && h->version == greeting.version &&
           h->lines >= LEAST_LINES && h->lines <= MOST_LINES && (h->lines & (h->lines - 1)) == 0 &&
           (size_t)h->lines * UMP_LINE % page() == 0;
}

static int begin_taken(struct fin_chan *c, const struct hello *h, const int *fds) {
    int error = good_hello(h) ? is_seqpacket(fds[1]) : -EINVAL;
    if (error == 0)
        error = fin_chan_memory_check(fds[0], memory_size(h->lines));
    if (error)
        return error == -EINVAL ? -EPROTO : error;
    struct shared_map *m = map_new(fds[0], h->lines);
    if (!m)
        return -ENOMEM;
    close(fds[0]);
    c->sockets[FIN_CHAN_TO_OFFER] = fds[1];
    chan_begin(c, m, 1, h->lines);
    return 0;
}

static FIN_BLOCKING int take(struct fin_chan *c, bool nc) {
    struct letter p;
    int fds[MOST_FDS] = {-1, -1, -1, -1}, fd = c->sockets[FIN_CHAN_TO_TAKER], r;
    letter_init(&p);
    fin_descriptors_refuse(fd);
    ssize_t n = nc ? fin_recvmsg_nc(fd, &p.m, MSG_CMSG_CLOEXEC) : fin_recvmsg(fd, &p.m, MSG_CMSG_CLOEXEC);
    int count = n < 0 ? 0 : fin_descriptors_take(&p.m, fds);
    if (n < 0)
        r = (int)n;
    else if (n == 0)
        r = -ECONNRESET;
    else if (fin_descriptors_strange(&p.m))
        r = -EPROTO;
    else if (p.m.msg_flags & MSG_CTRUNC && count < 2)
        r = -EMFILE;
    else if (n == sizeof p.hello && count == 2 && !(p.m.msg_flags & MSG_CTRUNC))
        r = begin_taken(c, &p.hello, fds);
    else
        r = -EPROTO;
    if (r != 0)
        fin_close_strangers(fds, MOST_FDS);
    return r;
}

int fin_chan_take_at(struct fin_chan *c, struct fin_chan **out, bool nc) {
    int r = take(c, nc);
    if (r == 0)
        *out = c;
    else
        fin_chan_drop(c);
    return r;
}

static FIN_BLOCKING int take_over(struct fin_chan **out, int fd, unsigned flags, bool nc) {
    int error = flags & ~(unsigned)FIN_CHAN_SHARED ? -EINVAL : is_seqpacket(fd);
    struct fin_chan *c = error ? NULL : fin_chan_new(flags);
    if (!c) {
        close(fd);
        return error ? error : -ENOMEM;
    }
    keep_socket(fd);
    c->sockets[FIN_CHAN_TO_TAKER] = fd;
    return fin_chan_take_at(c, out, nc);
}

int fin_chan_take(struct fin_chan **out, int fd, unsigned flags) { return take_over(out, fd, flags, false); }
int fin_chan_take_nc(struct fin_chan **out, int fd, unsigned flags) { return take_over(out, fd, flags, true); }

int fin_chan_close(struct fin_chan *c) {
    out_settle(c);
    if (c->rpc || turn_in_use(&c->out.turn) || turn_in_use(&c->in.turn))
        return -EBUSY;
    fin_waitset_leave(&c->watch);
    fin_chan_trace_remove(c); // before its sockets' numbers are others': the child of a fork closes those of the list
    if (!fin_bell_is_parents(c))
        fin_ump_end(&c->out.ump, &c->in.ump);
    map_release(c->map);
    free(c);
    return 0;
}
