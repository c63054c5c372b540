// SPDX-License-Identifier: BSD-2-Clause
// Channels: messages between processes, between threads and between the AWEs of a thread (ac 2, htm 2.2.3). A channel has
// two ends, each of which sends to the other. Messages arrive whole and in order, and none is lost while both ends live.
// When the other end is closed or its process dies, all that it sent can still be received; then the receiver is told, at
// once.
//
// Between processes and threads a message goes through shared memory, without a system call unless the receiver sleeps. A
// wait spins for a few microseconds if the thread has nothing else to do; then the thread sleeps in the one place where it
// waits for its I/O, too. Who need not wait, as the other side is that quick, lets the others of its thread run, and timers,
// a few times for each ring full of messages; the functions whose names begin with fin_chan_try never do.
//
// The other process is not trusted: whatever it writes, and wherever it writes it, a call here returns a message of its
// making or an error (-EPROTO, after which the end is of no more use), and neither crashes nor reads past what was sent.
//
// Cancellation is exact: -ECANCELED means that nothing was sent or received. In a block that is cancelled already, a
// cancellable call returns -ECANCELED at once, even where it would not have had to wait. Functions whose names end in _nc
// are not cancelled.
//
// At one end, one thread may send while another receives. Several AWEs of a thread may be in any of the calls: they take
// turns. Several threads may send, or receive, at the same end only if it was opened with FIN_CHAN_SHARED (htm 3.4: n:1).
// fin_chan_close is the last call. After a fork the ends are the parent's, and the child must not use them; but it may close
// its copies, as destructors do at its exit, of which nobody is told. The other side is still told when the parent is gone,
// and the child has no copies of descriptors that are under way; unless the fork comes between the moment at which the
// system gives the process the descriptors of a new channel, or those of a message, and the return of the call that waited
// for them.
#ifndef FIN_CHAN_H
#define FIN_CHAN_H

#include <fin/finish.h>

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FIN_CHAN_LINE = 56, // bytes: a message up to this size fits into one line, and is fastest
    FIN_CHAN_FDS = 16,  // the most descriptors with one message
};

// How an end is used.
enum {
    FIN_CHAN_SHARED = 1, // several threads send, or receive, at this end
    FIN_CHAN_LOCAL = 2,  // fin_chan_pair only: both ends are used by AWEs of one thread
};

struct fin_chan;
struct fin_chan_listener;

// The size of each direction: the bytes that can be under way, up to 64 MiB, rounded up to a power of two of at least a
// page. 0: 64 KiB. Memory is taken only where messages have gone through: one page if the two sides talk by turns. A stream
// is up to twice as quick with 256 KiB (./run chan, table stream).
struct fin_chan_options {
    size_t size;
    unsigned flags; // FIN_CHAN_...
};

// Makes a channel, both ends of it. `options` may be NULL. Does not block. Returns 0; -EINVAL, -EMFILE, -ENFILE, -ENOMEM;
// -EFBIG if RLIMIT_FSIZE is below the size of its memory, which is a file.
int fin_chan_pair(struct fin_chan **a, struct fin_chan **b, const struct fin_chan_options *options);

// Listens for clients. A name is a path; or "@" and any text, which is in no file system: then every process of the network
// namespace can connect. A relative path costs a descriptor, of the folder that it begins in: wherever the process goes
// meanwhile (chdir(2)), closing removes this name. The options are those of the channels accepted; NULL: as for
// fin_chan_pair. A socket that a dead process left under the name is replaced; under a relative path this takes /proc, so
// that no other is, where a thread calls chdir(2) at the same time. Two that come at once do not replace each other's: while
// they look and bind they have the folder locked (flock(2)), where they may read it; for somebody else's lock they wait
// about a second at most. Where a process died that was accepting, the kernel may keep its socket for a while: for that it
// waits, five seconds at most. Apart from these it does not block the thread. The child of a fork listens there, too, until
// it closes.
// Returns 0; -EADDRINUSE if another listens there; -ENAMETOOLONG; -EINVAL if the name is empty or the options are wrong; or
// an error of open(2), socket(2) or bind(2).
int fin_chan_listen(struct fin_chan_listener **out, const char *name, const struct fin_chan_options *options);
// Waits for a client, and opens a channel to it. Any AWE of any thread may accept; the new end is usable on any thread.
// Accepting waits for nothing that a client could withhold. If the process or the system is out of descriptors or memory
// (-EMFILE, -ENFILE, -ENOMEM) it tries again before it says so, as fin_accept does, and the client stays in line.
// If the system has had no room to pass descriptors for some time (-ETOOMANYREFS, -ENOBUFS, -ENOMEM) that client is turned
// away. -EFBIG as fin_chan_pair. A client whose connect was cancelled may be accepted; of its end one is told -ECONNRESET.
FIN_BLOCKING int fin_chan_accept(struct fin_chan_listener *l, struct fin_chan **out);
FIN_BLOCKING int fin_chan_accept_nc(struct fin_chan_listener *l, struct fin_chan **out);
// Ends listening, and removes the name unless it is another's by now, or a parent's. Nobody may be in fin_chan_accept.
// Blocks as fin_chan_listen does.
void fin_chan_listener_close(struct fin_chan_listener *l);

// Connects to a listener. `flags` are 0 or FIN_CHAN_SHARED. Returns 0; -ENAMETOOLONG; -ECONNREFUSED, -ENOENT and others of
// connect(2); or as fin_chan_take, with -EINVAL for an empty name, too.
FIN_BLOCKING int fin_chan_connect(struct fin_chan **out, const char *name, unsigned flags);
FIN_BLOCKING int fin_chan_connect_nc(struct fin_chan **out, const char *name, unsigned flags);

// The two halves of that on a connected Unix socket of type SOCK_SEQPACKET, however it was made (socketpair, inherited by a
// child). The socket becomes the channel's; on failure it is closed. fin_chan_offer does not block; fin_chan_take waits for
// the offer. Return 0; -EINVAL if it is no such socket, or the flags or options are wrong; -EMFILE, -ENFILE, -ENOMEM.
// fin_chan_take also returns -ECONNRESET if the other side went away without an offer, and -EPROTO if what came is not an
// offer; fin_chan_offer also -EFBIG as fin_chan_pair, or an error of sendmsg(2). Who takes receives over that socket: where
// the other side made it, or keeps it, it can have this one's calls return errors, and choose which signal a thread that
// monitors the channel is sent (fin/alert.h). To a stranger a channel is offered, or it connects to a listener.
int fin_chan_offer(struct fin_chan **out, int fd, const struct fin_chan_options *options);
FIN_BLOCKING int fin_chan_take(struct fin_chan **out, int fd, unsigned flags);
FIN_BLOCKING int fin_chan_take_nc(struct fin_chan **out, int fd, unsigned flags);

// Sends a message of 0 bytes or more; waits while there is no room for it. Returns 0; -EMSGSIZE if it is longer than
// fin_chan_most; -EPIPE if the other end is gone, and has not taken this message (a process that ended without closing it
// may have; others that were not taken by then are lost, too); -EPROTO. The next send notices that the other end was
// closed. That a process was killed is noticed by whatever receives at this end, by a send for which the other one would
// have to be woken, by the first send or reservation after an AWE of its thread has waited (one in some milliseconds looks),
// and where there is no room. So who sends to one that was killed while it ran, and whose thread waits for nothing of Fin's
// meanwhile, is told when the ring is full.
FIN_BLOCKING int fin_chan_send(struct fin_chan *c, const void *data, size_t size);
FIN_BLOCKING int fin_chan_send_nc(struct fin_chan *c, const void *data, size_t size);
int fin_chan_try_send(struct fin_chan *c, const void *data, size_t size); // -EAGAIN instead of waiting. Not cancelled

// Where a filter denies a system call that an end between processes needs to wait, or to wake who waits, what it calls here
// and below returns that error: -EPERM, -EACCES or -ENOSYS. A message that was sent is not taken back then. The other end is
// taken for gone by nobody, and wakes up when this one is closed.
//
// If an end between processes would have to wait, and the thread cannot get what it needs for that, it returns -EMFILE,
// -ENFILE, -ENOMEM, -ENOBUFS or -ENOSPC (epoll_ctl(2)). Then, as after -ECANCELED, nothing was sent or received, and the end
// is as before.

// Receives a message, and returns its length; waits for one. -EMSGSIZE if it is longer than `size`: the message stays. After
// all that was sent: -ESHUTDOWN if the other end was closed, -ECONNRESET if its process died; -EPROTO. -EBUSY if it would
// have to wait while the end is in a waitset (fin/waitset.h), unless it is the handler there that calls. fin_chan_try_recv
// says at once that the other end was closed; that its process died it says when an AWE of the thread has waited meanwhile,
// or at the 64th try.
FIN_BLOCKING ssize_t fin_chan_recv(struct fin_chan *c, void *buffer, size_t size);
FIN_BLOCKING ssize_t fin_chan_recv_nc(struct fin_chan *c, void *buffer, size_t size);
ssize_t fin_chan_try_recv(struct fin_chan *c, void *buffer, size_t size); // -EAGAIN instead of waiting. Not cancelled

// fin_chan_send and, if that returned 0, fin_chan_recv: a call, or the answer to a call and the wait for the next one.
// Between AWEs of one thread the receiver runs at once, before others that can run, and the caller waits: neither is queued.
// -ECANCELED, or a shortage: nothing was received; the message may have been sent. `data` and `buffer` may be the same.
FIN_BLOCKING ssize_t fin_chan_send_recv(struct fin_chan *c, const void *data, size_t size, void *buffer, size_t room);
FIN_BLOCKING ssize_t fin_chan_send_recv_nc(struct fin_chan *c, const void *data, size_t size, void *buffer, size_t room);

// As fin_chan_send and fin_chan_recv, with up to FIN_CHAN_FDS descriptors that travel with the message: copies arrive, the
// sender keeps its own. Sending returns -EINVAL for more of them; -EBADF; -EMFILE, -ETOOMANYREFS, -ENOBUFS or -ENOMEM if the
// system can take no more: then nothing was sent.
// For receiving, *count is how many there is room for, and afterwards how many came; -EMSGSIZE also if there is no room for
// all of them. A receiver that asks for none closes them: pipes and memory files at once, sockets of a network too, which
// are told not to linger. The end of anything else may take as long as another process likes, as of a file whose file system
// is a process: a thread of the library closes it, of up to 256 one after the other. setuid(2) and the like, which libc has
// each thread do, return no earlier than a file system has answered that thread. (More than FIN_CHAN_FDS in one packet are a
// breach of the protocol: those beyond are the kernel's to close, and it lets the thread wait. So it does in
// fin_chan_listener_close with what clients sent that were not accepted.) -EMFILE if this process cannot have more: they are
// lost, the message stays. The functions with `try` return -EAGAIN instead of waiting, and are not cancelled.
FIN_BLOCKING int fin_chan_send_fds(struct fin_chan *c, const void *data, size_t size, const int *fds, unsigned count);
FIN_BLOCKING int fin_chan_send_fds_nc(struct fin_chan *c, const void *data, size_t size, const int *fds, unsigned count);
int fin_chan_try_send_fds(struct fin_chan *c, const void *data, size_t size, const int *fds, unsigned count);
FIN_BLOCKING ssize_t fin_chan_recv_fds(struct fin_chan *c, void *buffer, size_t size, int *fds, unsigned *count);
FIN_BLOCKING ssize_t fin_chan_recv_fds_nc(struct fin_chan *c, void *buffer, size_t size, int *fds, unsigned *count);
ssize_t fin_chan_try_recv_fds(struct fin_chan *c, void *buffer, size_t size, int *fds, unsigned *count);

// Sending without a copy. *room is set to space for a message of up to `size` bytes. Fill it, then send the first `used`
// bytes of it with fin_chan_commit, or give it up with fin_chan_abandon. Until then others that send at this end wait. The
// space is aligned for any word, and for a size of 1 KiB and more to 64 bytes; so is the message for a receiver that peeks
// at it. Otherwise as fin_chan_send.
FIN_BLOCKING int fin_chan_reserve(struct fin_chan *c, size_t size, void **room);
FIN_BLOCKING int fin_chan_reserve_nc(struct fin_chan *c, size_t size, void **room);
int fin_chan_try_reserve(struct fin_chan *c, size_t size, void **room); // -EAGAIN instead of waiting. Not cancelled
// Sends it. Returns 0; -EINVAL if `used` is more than was reserved, or nothing was; -EPIPE as fin_chan_send.
int fin_chan_commit(struct fin_chan *c, size_t used);
void fin_chan_abandon(struct fin_chan *c);

// Receiving without a copy: the length of the next message, and in *bytes where its bytes lie until fin_chan_release, which
// takes the message. Another process can change them meanwhile: copy what you are going to check. Until the release others
// that receive at this end wait. fin_chan_release returns 0, or -EINVAL if no message is being peeked at. Otherwise as
// fin_chan_recv.
FIN_BLOCKING ssize_t fin_chan_peek(struct fin_chan *c, const void **bytes);
FIN_BLOCKING ssize_t fin_chan_peek_nc(struct fin_chan *c, const void **bytes);
ssize_t fin_chan_try_peek(struct fin_chan *c, const void **bytes); // -EAGAIN instead of waiting. Not cancelled
int fin_chan_release(struct fin_chan *c);

// The longest message that can be sent, in bytes: about half of the options' size. Does not block.
size_t fin_chan_most(const struct fin_chan *c);

// Says what a receiver that waits does on this machine after it has looked for a message and before it sleeps, for some
// microseconds: "umwait", "mwaitx" or "wfet", instructions with which the processor itself waits for the sender's store; or
// "looks", if it has none of them or the environment says FIN_DOZE=0. Does not block.
const char *fin_chan_backend(void);

// Closes this end. What it sent can still be received. Returns 0; -EBUSY if an AWE is in one of the calls above, or between
// reserve and commit, or peek and release, or if it has become an end of RPC, which fin_rpc_close closes. Does not block.
int fin_chan_close(struct fin_chan *c);

// Shared memory for more than a message holds. One process makes it and sends its descriptor with fin_chan_send_fds; the
// other maps it. Messages tell what lies where in it, and who may write when. Nobody can shrink it, so touching it is safe.
struct fin_chan_region {
    void *data;
    size_t size; // as asked for
    int fd;
};
// Makes a region. Does not block. Returns 0; -EINVAL for a size of 0 or of more than 64 TiB, -EMFILE, -ENFILE, -ENOMEM,
// -EFBIG (RLIMIT_FSIZE).
int fin_chan_region_make(struct fin_chan_region *r, size_t size);
// Maps a region that another process made; fin_chan_region_end ends a region of either kind. `fd` becomes the region's, or
// is closed on failure. Returns 0; -EINVAL for a size of 0; -EPROTO if it is no such memory, or smaller than `size`;
// -ENOMEM.
int fin_chan_region_map(struct fin_chan_region *r, int fd, size_t size);
void fin_chan_region_end(struct fin_chan_region *r);

#ifdef __cplusplus
}
#endif
#endif
