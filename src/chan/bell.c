// SPDX-License-Identifier: BSD-2-Clause
#define _GNU_SOURCE
#include "chan/bell.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fin/io.h>

#include "chan/chan.h"
#include "chan/lmp.h"
#include "chan/wait.h"
#include "core/runtime.h"
#include "descriptors.h"
#include "sync/wait.h"

enum { AT_ONCE = 4096 }; // packets taken in one go: more than a socket holds
enum { TRIES = 1000 };   // where the kernel has no memory now: a ring that nobody hears would be a hang
enum { TOO_MANY = 64 };  // rings beyond one for each number: a flood, which keeps a computation from its work

static bool again(ssize_t r, int *tries) {
    if (r >= 0 || (errno != ENOBUFS && errno != ENOMEM && errno != EINTR) || ++*tries == TRIES)
        return false;
    sched_yield();
    return true;
}

// A filter may deny one of them: by the other the channel has been offered.
static ssize_t send_byte(int fd) {
    static char byte = 0;
    struct iovec v = {&byte, 1};
    ssize_t n = send(fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0 || !fin_host_denied(-errno))
        return n;
    return sendmsg(fd, &(struct msghdr){.msg_iov = &v, .msg_iovlen = 1}, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// -EPIPE: the other side is gone; or what denies it to be woken. Where it is full that side has packets to wake up for.
static int send_ring(int fd) {
    ssize_t n;
    int tries = 0;
    do
        n = send_byte(fd);
    while (again(n, &tries));
    if (n >= 0)
        return 0;
    return fin_host_denied(-errno) ? -errno : errno == EPIPE || errno == ECONNRESET ? -EPIPE : 0;
}

static void meeting_ring(struct meeting *m) {
    fin_event_advance(&m->message, 1);
    fin_latch_acquire(&m->latch);
    if (m->watch)
        fin_waitset_rung(m->watch);
    fin_latch_release(&m->latch);
}

void fin_bell_ring_message(struct ump_tx *tx) {
    int error = 0;
    if (tx->meeting)
        meeting_ring(tx->meeting);
    else
        error = send_ring(tx->fd);
    if (error)
        fin_ump_no_receiver(tx, error);
}

// The system denies what this end needs: from here on it says so, and its owner can only close it, which wakes the other.
static void denied(struct ump_rx *rx, int error) {
    rx->broken = true;
    rx->why = error;
}

void fin_bell_ring_room(struct ump_rx *rx) {
    int error = 0;
    if (rx->meeting)
        fin_event_advance(&rx->meeting->room, 1);
    else
        error = send_ring(rx->fd);
    if (error && error != -EPIPE)
        denied(rx, error);
}

struct packet {
    char byte[8];
    struct iovec v;
    struct msghdr m;
    union {
        char room[CMSG_SPACE(UMP_FDS * sizeof(int))];
        struct cmsghdr align;
    } control;
};

static void packet_init(struct packet *p) {
    p->v = (struct iovec){p->byte, sizeof p->byte};
    p->m = (struct msghdr){
        .msg_iov = &p->v, .msg_iovlen = 1, .msg_control = p->control.room, .msg_controllen = sizeof p->control.room};
}

// The child of a fork closes those that are counted: only what has come, and is nobody's yet.
static void set_parcels(struct ump_rx *rx, unsigned n) { __atomic_store_n(&rx->parcels, (uint8_t)n, __ATOMIC_RELEASE); }

// A sender that keeps to the protocol has descriptors of two messages under way at most: those that stand next in the ring,
// and those of the message after it. Where the system could not give us all of them their number is less than was sent.
// What is against the protocol stays until the end is closed: who hears of it may have a latch. Then the end is broken, and
// nothing is heard any more: so there is a place.
static void parcel_came(struct ump_rx *rx, struct msghdr *m) {
    unsigned i = rx->parcels;
    if (!CMSG_FIRSTHDR(m) && !(m->msg_flags & MSG_CTRUNC)) {
        rx->broken |= ++rx->rings > rx->armed + TOO_MANY;
        return;
    }
    rx->broken |= i == UMP_PARCELS || fin_descriptors_strange(m);
    rx->lacking[i] = m->msg_flags & MSG_CTRUNC;
    rx->counts[i] = (uint8_t)fin_descriptors_take(m, rx->fds[i]);
    set_parcels(rx, i + 1);
}

// Who was killed has not said that it takes no more. Who sends here, maybe in another thread, looks there. Not for the child
// of a fork, whose end has no socket: its parent sends on.
static void say_for_it(struct ump_rx *rx) {
    struct fin_chan *c = (struct fin_chan *)((char *)rx - offsetof(struct fin_chan, in.ump));
    struct receiver_line *receiver = (struct receiver_line *)(uintptr_t)c->out.ump.peer;
    if (rx->fd >= 0)
        __atomic_store_n(&receiver->armed, UMP_CLOSED, __ATOMIC_RELEASE);
}

// A packet of nothing ends the channel like the end of the socket: no sender of ours makes one. It may bring descriptors all
// the same. A sender that went with rings unread is told by ECONNRESET first, once, and by the end behind what it sent.
static void packet_came(struct ump_rx *rx, struct packet *p, ssize_t n) {
    if (n >= 0)
        parcel_came(rx, &p->m);
    if (n == 0 || (n < 0 && !fin_bell_nothing(n) && n != -ECONNRESET)) {
        rx->gone = true;
        say_for_it(rx);
    }
}

int fin_bell_await_message(struct ump_rx *rx, uint64_t heard, bool nc) {
    struct packet p;
    if (rx->meeting) {
        // The sender says that it is gone before it rings.
        bool gone = __atomic_load_n(&rx->peer->closed, __ATOMIC_ACQUIRE);
        return gone ? 0 : fin_event_await_message(&rx->meeting->message, heard + 1, nc);
    }
    packet_init(&p);
    fin_here()->waits_for = FIN_FOR_MESSAGE;
    ssize_t n = nc ? fin_recvmsg_nc(rx->fd, &p.m, MSG_CMSG_CLOEXEC) : fin_recvmsg(rx->fd, &p.m, MSG_CMSG_CLOEXEC);
    fin_here()->waits_for = FIN_FOR_IO;
    if (fin_bell_of_this_wait(n))
        return (int)n;
    packet_came(rx, &p, n);
    rx->unread = true;
    return 0;
}

// A ring, or the end of the other side. Descriptors do not belong there.
static void room_came(struct ump_tx *tx, struct packet *p, ssize_t n, struct unwanted *u) {
    if (n >= 0)
        u->count = fin_descriptors_take(&p->m, u->fds);
    u->within = false;
    if (n <= 0 && !fin_bell_nothing(n))
        fin_ump_no_receiver(tx, -EPIPE);
}

int fin_bell_await_room(struct ump_tx *tx, uint64_t heard, bool nc) {
    struct packet p;
    struct unwanted u = {.count = 0};
    if (tx->meeting)
        return fin_event_await_message(&tx->meeting->room, heard + 1, nc);
    packet_init(&p);
    fin_here()->waits_for = FIN_FOR_MESSAGE;
    ssize_t n = nc ? fin_recvmsg_nc(tx->fd, &p.m, MSG_CMSG_CLOEXEC) : fin_recvmsg(tx->fd, &p.m, MSG_CMSG_CLOEXEC);
    fin_here()->waits_for = FIN_FOR_IO;
    if (fin_bell_of_this_wait(n))
        return (int)n;
    room_came(tx, &p, n, &u);
    bell_close(&u);
    return 0;
}

// Without what has come there. The child of a fork has closed those of its parent's ends.
bool fin_bell_is_cut(int fd) {
    struct pollfd p = {.fd = fd};
    return fd < 0 || (poll(&p, 1, 0) == 1 && p.revents & (POLLHUP | POLLNVAL));
}

int fin_bell_hear_room(struct ump_tx *tx, struct unwanted *u) {
    struct packet p;
    ssize_t n;
    int tries = 0;
    if (tx->meeting)
        return 0;
    do {
        packet_init(&p);
        n = recvmsg(tx->fd, &p.m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (again(n, &tries));
    if (n < 0 && fin_bell_of_this_wait(-errno))
        return -errno;
    room_came(tx, &p, n < 0 ? -errno : n, u);
    return 0;
}

static bool may_hear(const struct ump_rx *rx) { return rx->parcels < UMP_PARCELS && !rx->gone && !rx->broken; }

// Takes a packet. False: there is none, or no memory for it now.
static bool hear(struct ump_rx *rx) {
    struct packet p;
    ssize_t n;
    int tries = 0;
    do {
        packet_init(&p);
        n = recvmsg(rx->fd, &p.m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (again(n, &tries));
    rx->unread = !(n < 0 && errno == EAGAIN);
    if (n < 0 && fin_host_denied(-errno))
        denied(rx, -errno);
    if (!rx->unread || (n < 0 && fin_bell_of_this_wait(-errno)))
        return false;
    packet_came(rx, &p, n < 0 ? -errno : n);
    return true;
}

static void see_peer(struct ump_rx *rx) { rx->gone |= __atomic_load_n(&rx->peer->closed, __ATOMIC_ACQUIRE); }

void fin_bell_hear(struct ump_rx *rx) {
    if (rx->meeting)
        see_peer(rx);
    else if (may_hear(rx))
        hear(rx);
}

void fin_bell_empty(struct ump_rx *rx) {
    if (rx->meeting) {
        see_peer(rx);
        return;
    }
    for (int i = 0; i < AT_ONCE && may_hear(rx); i++)
        if (!hear(rx))
            return;
    // The second was sent after the message of the first.
    rx->broken |= rx->parcels == UMP_PARCELS && ump_look(rx) == 0;
}

static void close_each(const int *fds, int count) {
    for (int i = 0; i < count; i++)
        close(fds[i]);
}

// A list of them.
static void drop_parcels(struct parcel *p) {
    for (struct parcel *next; p; p = next) {
        next = p->next;
        close_each(p->fds, p->count);
        free(p);
    }
}

static int send_parcel(struct meeting *m, const int *fds, int count) {
    struct parcel *p = malloc(sizeof *p);
    if (!p)
        return -ENOMEM;
    p->next = NULL;
    for (p->count = 0; p->count < count; p->count++) {
        int fd = fcntl(fds[p->count], F_DUPFD_CLOEXEC, 0);
        if (fd < 0) {
            int error = -errno;
            close_each(p->fds, p->count);
            free(p);
            return error == -EINVAL ? -EMFILE : error;
        }
        p->fds[p->count] = fd;
    }
    fin_latch_acquire(&m->parcels);
    bool closed = m->closed;
    if (!closed) {
        __atomic_store_n(m->first ? &m->last->next : &m->first, p, __ATOMIC_RELEASE); // for the child of a fork
        m->last = p;
    }
    fin_latch_release(&m->parcels);
    if (closed)
        drop_parcels(p);
    return closed ? -EPIPE : 0;
}

static void packet_of(struct packet *p, const int *fds, int count) {
    packet_init(p);
    p->v.iov_len = p->byte[0] = 1;
    memset(p->control.room, 0, sizeof p->control.room);
    p->m.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
    struct cmsghdr *c = CMSG_FIRSTHDR(&p->m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(c), fds, (size_t)count * sizeof(int));
}

static int packet_sent(struct ump_tx *tx, ssize_t n) {
    if (n != -EPIPE && n != -ECONNRESET)
        return n < 0 ? (int)n : 0;
    fin_ump_no_receiver(tx, -EPIPE);
    return tx->end;
}

int fin_bell_send_fds(struct ump_tx *tx, const int *fds, int count, bool nc) {
    struct packet p;
    if (tx->meeting)
        return packet_sent(tx, send_parcel(tx->meeting, fds, count));
    packet_of(&p, fds, count);
    return packet_sent(tx, nc ? fin_sendmsg_nc(tx->fd, &p.m, 0) : fin_sendmsg(tx->fd, &p.m, 0));
}

int fin_bell_try_send_fds(struct ump_tx *tx, const int *fds, int count) {
    struct packet p;
    if (tx->meeting)
        return packet_sent(tx, send_parcel(tx->meeting, fds, count));
    packet_of(&p, fds, count);
    ssize_t n = sendmsg(tx->fd, &p.m, MSG_DONTWAIT | MSG_NOSIGNAL);
    return packet_sent(tx, n < 0 ? -errno : n);
}

// The parcel of the message that is there becomes the first in *rx.
static bool parcel_here(struct ump_rx *rx) {
    struct meeting *m = rx->meeting;
    if (rx->parcels)
        return true;
    fin_bell_empty(rx);
    if (m) {
        fin_latch_acquire(&m->parcels);
        struct parcel *p = m->first;
        rx->counts[0] = (uint8_t)p->count;
        rx->lacking[0] = false;
        memcpy(rx->fds[0], p->fds, sizeof p->fds);
        set_parcels(rx, 1);
        m->first = p->next;
        fin_latch_release(&m->parcels);
        free(p);
    }
    rx->broken |= rx->parcels == 0;
    return !rx->broken;
}

static void parcel_done(struct ump_rx *rx) {
    set_parcels(rx, rx->parcels - 1u);
    for (unsigned i = 0; i < rx->parcels; i++) {
        rx->counts[i] = rx->counts[i + 1];
        rx->lacking[i] = rx->lacking[i + 1];
        memcpy(rx->fds[i], rx->fds[i + 1], sizeof rx->fds[i]);
    }
}

// The caller's from here on.
static int take_out(struct ump_rx *rx, int *fds) {
    int n = rx->counts[0];
    memcpy(fds, rx->fds[0], (size_t)n * sizeof(int));
    rx->counts[0] = 0;
    rx->lacking[0] = false;
    return n;
}

static void take_unwanted(struct ump_rx *rx, struct unwanted *u) {
    u->count = take_out(rx, u->fds);
    u->within = rx->meeting;
}

void fin_bell_close(struct unwanted *u) {
    (u->within ? close_each : fin_close_strangers)(u->fds, u->count);
}

int fin_bell_take_fds(struct ump_rx *rx, int *fds, int most, struct unwanted *u) {
    if (!parcel_here(rx))
        return fin_ump_broken(rx);
    if (rx->lacking[0]) {
        take_unwanted(rx, u);
        return -EMFILE;
    }
    if (rx->counts[0] > most)
        return -EMSGSIZE;
    int n = take_out(rx, fds);
    parcel_done(rx);
    return n;
}

void fin_bell_drop_fds(struct ump_rx *rx, struct unwanted *u) {
    if (!parcel_here(rx))
        return;
    take_unwanted(rx, u);
    parcel_done(rx);
}

void fin_bell_stop(struct ump_rx *rx) {
    rx->gone = true;
    __atomic_store_n(&rx->own->consumed, rx->tail, __ATOMIC_RELEASE); // what it takes no more, the other side can tell
    if (rx->meeting) {
        fin_event_advance(&rx->meeting->message, 1);
        if (rx->alone)
            fin_lmp_wake(rx->meeting);
    } else {
        shutdown(rx->fd, SHUT_RD);
    }
}

void fin_bell_stop_waiting(struct ump_tx *tx) {
    if (tx->meeting)
        fin_event_advance(&tx->meeting->room, 1);
    else
        shutdown(tx->fd, SHUT_RD);
}

// Nothing comes there any more. What has come would be closed with the socket.
static void close_unread(int fd) {
    struct packet p;
    ssize_t n = 1;
    for (int i = 0; i < AT_ONCE && (n > 0 || CMSG_FIRSTHDR(&p.m)); i++) {
        packet_init(&p);
        n = recvmsg(fd, &p.m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n >= 0)
            fin_descriptors_close(&p.m);
        else if (errno == ECONNRESET || errno == EINTR) // the first is told before what came
            n = 1;
        else
            return;
    }
}

// A child of a fork may have the socket, too: to close our copy of it would tell nobody.
void fin_bell_end_socket(int fd) {
    shutdown(fd, SHUT_RDWR);
    close_unread(fd);
    close(fd);
}

static void take_no_parcels(struct meeting *m) {
    fin_latch_acquire(&m->parcels);
    struct parcel *first = m->first;
    m->first = NULL;
    m->closed = true;
    fin_latch_release(&m->parcels);
    drop_parcels(first);
}

void fin_bell_end(struct ump_tx *tx, struct ump_rx *rx) {
    while (rx->parcels) {
        struct unwanted u;
        take_unwanted(rx, &u);
        parcel_done(rx);
        bell_close(&u);
    }
    if (tx->meeting) {
        meeting_ring(tx->meeting);
        if (tx->alone)
            fin_lmp_wake(tx->meeting);
        fin_event_advance(&rx->meeting->room, 1);
        take_no_parcels(rx->meeting);
    } else {
        fin_bell_end_socket(tx->fd);
        fin_bell_end_socket(rx->fd);
    }
}

// Nor is a pipe to stay open whose other end the parent waits at.
static void forget_parcels(struct ump_rx *rx) {
    while (rx->parcels) {
        close_each(rx->fds[rx->parcels - 1], rx->counts[rx->parcels - 1]);
        rx->parcels--;
    }
    for (struct parcel *p = rx->meeting ? rx->meeting->first : NULL; p; p = p->next) {
        close_each(p->fds, p->count);
        p->count = 0;
    }
}

// What the child says of an end of its parent's, in place of the lines that are shared.
static struct sender_line nobodys_sender;
static struct receiver_line nobodys_receiver;

bool fin_bell_is_parents(const struct fin_chan *c) { return c->in.ump.own == &nobodys_receiver; }

// The other side is to be told when the parent dies, and not when its last child does.
void fin_bell_forget(struct fin_chan *c) {
    c->out.ump.own = &nobodys_sender;
    c->in.ump.own = &nobodys_receiver;
    for (int i = 0; i < FIN_CHAN_SOCKETS; i++) {
        if (c->sockets[i] >= 0)
            close(c->sockets[i]);
        c->sockets[i] = -1; // the numbers may become the child's
    }
    c->out.ump.fd = c->in.ump.fd = -1;
    forget_parcels(&c->in.ump);
}

void fin_meeting_end(struct meeting *m) { drop_parcels(m->first); }
