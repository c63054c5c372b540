// SPDX-License-Identifier: BSD-2-Clause
// Channels: messages between processes, between threads and between the AWEs of a thread (ac 2, htm 2.2.3). A channel has
// two ends, each sends to the other. Messages arrive whole, in order, and none is lost while both ends live. Where the other
// end is closed, or its process dies, all that it sent can be received still; after that, and at once, the receiver is told.
//
// Between processes and threads a message goes through shared memory, without a system call unless the receiver sleeps. A
// wait spins for a few microseconds where the thread has nothing else to do, and then sleeps in the one place where its I/O
// waits, too.
//
// The other process is not trusted: whatever it writes where, a call here returns with a message of its making or an error
// (-EPROTO, and then the end is of no more use), and neither crashes nor reads past what it sent.
//
// Cancellation is exact: -ECANCELED means that nothing was sent or received. In a block that is cancelled already, a
// cancellable call returns -ECANCELED at once, even where it would not have had to wait. Functions whose names end in _nc
// are not cancelled.
//
// At one end, one thread may send while another receives. Several AWEs of a thread may be in any of the calls: they take
// turns. Several threads may send, or receive, at the same end only where it was opened with FIN_CHAN_SHARED (htm 3.4: n:1).
// fin_chan_close is the last call. After a fork the ends are the parent's: the child must not use them; the other side is
// told when the parent is gone, all the same, unless the fork came while fin_chan_connect or fin_chan_take waited.
#ifndef FIN_CHAN_H
#define FIN_CHAN_H

#include <fin/finish.h>

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FIN_CHAN_LINE = 56, // bytes: as much fits into one line, and is fastest
    FIN_CHAN_FDS = 16,  // descriptors with one message, at most
};

// How an end is used.
enum {
    FIN_CHAN_SHARED = 1, // several threads send, or receive, at this end
    FIN_CHAN_LOCAL = 2,  // fin_chan_pair only: both ends are used by AWEs of one thread
};

struct fin_chan;
struct fin_chan_listener;

// The size of each direction: bytes under way, up to 64 MiB, made a power of two of at least a page. 0: 64 KiB. It takes
// memory where messages have gone through, which is one page where the two sides talk by turns. A stream is up to twice as
// quick with 256 KiB, and slower with less than 64.
struct fin_chan_options {
    size_t size;
    unsigned flags; // FIN_CHAN_...
};

// Both ends of a channel. `options` may be NULL. Does not block. Returns 0; -EINVAL, -EMFILE, -ENFILE, -ENOMEM; -EFBIG where
// RLIMIT_FSIZE is below its memory, which is a file.
int fin_chan_pair(struct fin_chan **a, struct fin_chan **b, const struct fin_chan_options *options);

// Listens for clients. Names are paths, or for what is in no file system, "@" and any text: then every process of the
// network namespace can connect. Options are those of the channels accepted; NULL: as for fin_chan_pair. A socket that a
// dead process left under the name is replaced. Does not block. Returns 0; -EADDRINUSE where another listens; -ENAMETOOLONG;
// -EINVAL where the name is empty, or the options are wrong; or as socket(2), bind(2).
int fin_chan_listen(struct fin_chan_listener **out, const char *name, const struct fin_chan_options *options);
// Waits for a client, and opens a channel to it. Any AWE of any thread may accept; the new end is usable on any thread. It
// waits for nothing that a client could withhold. -ETOOMANYREFS, -ENOBUFS, -ENOMEM: for some time the system has had no room
// to pass descriptors; that client is turned away.
FIN_BLOCKING int fin_chan_accept(struct fin_chan_listener *l, struct fin_chan **out);
FIN_BLOCKING int fin_chan_accept_nc(struct fin_chan_listener *l, struct fin_chan **out);
// Takes the name away. Nobody may be in fin_chan_accept. Does not block.
void fin_chan_listener_close(struct fin_chan_listener *l);

// Connects to a listener. `flags` are 0 or FIN_CHAN_SHARED. Returns 0; -ECONNREFUSED, -ENOENT and others of connect(2); or
// as fin_chan_take.
FIN_BLOCKING int fin_chan_connect(struct fin_chan **out, const char *name, unsigned flags);
FIN_BLOCKING int fin_chan_connect_nc(struct fin_chan **out, const char *name, unsigned flags);

// The two halves of that on a connected Unix socket of type SOCK_SEQPACKET, however it was made (socketpair, inherited by a
// child). It becomes the channel's, or is closed on failure. The one that offers does not block; the other waits for it.
// Return 0; -EINVAL where it is no such socket, or the flags or options are wrong; -EMFILE, -ENFILE, -ENOMEM. Taking,
// -ECONNRESET where the other side went without an offer, -EPROTO where what came is none; offering, -EFBIG as
// fin_chan_pair, or as sendmsg(2).
int fin_chan_offer(struct fin_chan **out, int fd, const struct fin_chan_options *options);
FIN_BLOCKING int fin_chan_take(struct fin_chan **out, int fd, unsigned flags);
FIN_BLOCKING int fin_chan_take_nc(struct fin_chan **out, int fd, unsigned flags);

// Sends a message of 0 bytes or more; waits while there is no room for it. Returns 0; -EMSGSIZE where it is larger than
// fin_chan_most; -EPIPE where the other end is gone (a message sent before that was noticed is lost); -EPROTO.
FIN_BLOCKING int fin_chan_send(struct fin_chan *c, const void *data, size_t size);
FIN_BLOCKING int fin_chan_send_nc(struct fin_chan *c, const void *data, size_t size);
int fin_chan_try_send(struct fin_chan *c, const void *data, size_t size); // -EAGAIN instead of waiting. Not cancelled

// Receives a message, and returns its length; waits for one. -EMSGSIZE where it is longer than `size`: it stays. After all
// that was sent: -ESHUTDOWN where the other end was closed, -ECONNRESET where its process died; -EPROTO. -EBUSY where it
// would wait and the end is in a waitset (fin/waitset.h), unless its handler calls.
FIN_BLOCKING ssize_t fin_chan_recv(struct fin_chan *c, void *buffer, size_t size);
FIN_BLOCKING ssize_t fin_chan_recv_nc(struct fin_chan *c, void *buffer, size_t size);
ssize_t fin_chan_try_recv(struct fin_chan *c, void *buffer, size_t size); // -EAGAIN instead of waiting. Not cancelled

// fin_chan_send, and where that returned 0, fin_chan_recv: a call, or the answer to one and the wait for the next. Between
// AWEs of one thread the receiver runs at once, before others that can run, and this one waits: neither is queued.
// -ECANCELED: nothing was received; the message may have been sent. `data` and `buffer` may be the same.
FIN_BLOCKING ssize_t fin_chan_send_recv(struct fin_chan *c, const void *data, size_t size, void *buffer, size_t room);
FIN_BLOCKING ssize_t fin_chan_send_recv_nc(struct fin_chan *c, const void *data, size_t size, void *buffer, size_t room);

// As fin_chan_send and fin_chan_recv, with up to FIN_CHAN_FDS descriptors that travel with the message: copies arrive, the
// sender keeps its own. Nothing was sent where it returns -EINVAL, for more of them; -EBADF; -EMFILE, -ETOOMANYREFS,
// -ENOBUFS or -ENOMEM, where the system can take no more.
// *count is room before, and the number of those that came afterwards; -EMSGSIZE where there is no room for them, too. A
// receiver that asks for none closes them. -EMFILE where this process cannot have more: they are lost, the message stays.
// Those with `try` return -EAGAIN where they would wait, and are not cancelled.
FIN_BLOCKING int fin_chan_send_fds(struct fin_chan *c, const void *data, size_t size, const int *fds, unsigned count);
FIN_BLOCKING int fin_chan_send_fds_nc(struct fin_chan *c, const void *data, size_t size, const int *fds, unsigned count);
int fin_chan_try_send_fds(struct fin_chan *c, const void *data, size_t size, const int *fds, unsigned count);
FIN_BLOCKING ssize_t fin_chan_recv_fds(struct fin_chan *c, void *buffer, size_t size, int *fds, unsigned *count);
FIN_BLOCKING ssize_t fin_chan_recv_fds_nc(struct fin_chan *c, void *buffer, size_t size, int *fds, unsigned *count);
ssize_t fin_chan_try_recv_fds(struct fin_chan *c, void *buffer, size_t size, int *fds, unsigned *count);

// Without copies. *room is for a message of up to `size` bytes, to be filled and then sent by fin_chan_commit, with `used`
// bytes of it, or given up by fin_chan_abandon. Until then others that send at this end wait. It is aligned for any word,
// and from 1 KiB on to 64 bytes, as the message is where it is peeked at. Otherwise as fin_chan_send.
FIN_BLOCKING int fin_chan_reserve(struct fin_chan *c, size_t size, void **room);
FIN_BLOCKING int fin_chan_reserve_nc(struct fin_chan *c, size_t size, void **room);
int fin_chan_try_reserve(struct fin_chan *c, size_t size, void **room); // -EAGAIN instead of waiting. Not cancelled
int fin_chan_commit(struct fin_chan *c, size_t used); // 0, or -EINVAL where that is more than was reserved, or nothing was
void fin_chan_abandon(struct fin_chan *c);

// The next message where it lies: its length, and its bytes until fin_chan_release, which takes it. Another process can
// change them meanwhile: copy what is to be checked. Until then others that receive at this end wait. fin_chan_release
// returns 0, or -EINVAL where nothing is looked at. Otherwise as fin_chan_recv.
FIN_BLOCKING ssize_t fin_chan_peek(struct fin_chan *c, const void **bytes);
FIN_BLOCKING ssize_t fin_chan_peek_nc(struct fin_chan *c, const void **bytes);
ssize_t fin_chan_try_peek(struct fin_chan *c, const void **bytes); // -EAGAIN instead of waiting. Not cancelled
int fin_chan_release(struct fin_chan *c);

// The longest message that can be sent, in bytes: about half of the options' size. Does not block.
size_t fin_chan_most(const struct fin_chan *c);

// What a receiver's wait does between looking and sleeping on this machine, for some microseconds: "umwait", "mwaitx" or
// "wfet", by which the processor itself waits for the sender's store; or "looks", where it has none of them, or the
// environment says FIN_DOZE=0. Does not block.
const char *fin_chan_backend(void);

// Closes this end. What it sent can be received still. Returns 0; -EBUSY where an AWE is in one of the calls above, or
// between reserve and commit, or peek and release. Does not block.
int fin_chan_close(struct fin_chan *c);

// Memory for more than a message holds: made by one process, sent by fin_chan_send_fds as its descriptor, and mapped by the
// other. What lies where in it, and who writes it when, is told by messages. Nobody can shrink it, so that touching it is
// safe.
struct fin_chan_region {
    void *data;
    size_t size; // as asked for
    int fd;
};
// Makes a region. Does not block. Returns 0; -EINVAL for a size of 0, -EMFILE, -ENFILE, -ENOMEM, -EFBIG (RLIMIT_FSIZE).
int fin_chan_region_make(struct fin_chan_region *r, size_t size);
// Maps a region that another made, and ends it. `fd` becomes the region's, or is closed on failure. Returns 0; -EINVAL for
// a size of 0; -EPROTO where it is no such memory, or smaller than `size`; -ENOMEM.
int fin_chan_region_map(struct fin_chan_region *r, int fd, size_t size);
void fin_chan_region_end(struct fin_chan_region *r);

#ifdef __cplusplus
}
#endif
#endif
