// SPDX-License-Identifier: BSD-2-Clause
// The asynchronous IPC of libasync under its own names (ac-extensions 5.3, 5.4): a part of <fin/thc.h>, over <fin/rpc.h>.
// Here a ring channel is a fin_chan, from fin_chan_pair, fin_chan_connect and the like. A message has memory of its own,
// from fipc_send_msg_start or one of the receiving calls until it is sent or given to fipc_recv_msg_end. Messages that are
// variables of the program can be sent, too.
//
// None of it is cancelled; only what is marked FIN_BLOCKING blocks. A channel belongs to the thread that uses it. Where the
// original spins for ever, this does not: an answer to no request is dropped, and a channel whose other end is gone is dead
// (-EPIPE).
#ifndef FIN_THC_IPC_H
#define FIN_THC_IPC_H

#include <errno.h>

#include <fin/rpc.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FIPC_NR_REGS = 7 };

// The id is a number of this thread (a request's cookie). The type and the low bits of the id take this many bits of
// `flags`; the rest is the program's.
#define AWE_TABLE_ORDER 10
#define THC_RESERVED_MSG_FLAG_BITS (2 + AWE_TABLE_ORDER)

struct fipc_message {
    uint32_t msg_status; // the id
    uint32_t flags;
    uint64_t regs[FIPC_NR_REGS];
};
typedef enum { msg_type_unspecified, msg_type_request, msg_type_response } msg_type_t;

#define fipc_ring_channel fin_chan

// Parts of a message. -ENOMEM; 0
int fin_thc_message_new_(struct fipc_message **msg);
void fin_thc_message_end_(struct fipc_message *msg);

static inline int fipc_send_msg_start(struct fipc_ring_channel *ring, struct fipc_message **msg) {
    (void)ring;
    return fin_thc_message_new_(msg);
}
static inline int fipc_recv_msg_end(struct fipc_ring_channel *ring, struct fipc_message *msg) {
    (void)ring;
    fin_thc_message_end_(msg);
    return 0;
}

static inline uint32_t fipc_get_flags(struct fipc_message *msg) { return msg->flags; }
static inline void fipc_set_flags(struct fipc_message *msg, uint32_t flags) { msg->flags = flags; }
#define FIN_THC_REG_(n)                                                                                                     \
    static inline uint64_t fipc_get_reg##n(struct fipc_message *msg) { return msg->regs[n]; }                               \
    static inline void fipc_set_reg##n(struct fipc_message *msg, uint64_t value) { msg->regs[n] = value; }
FIN_THC_REG_(0)
FIN_THC_REG_(1)
FIN_THC_REG_(2)
FIN_THC_REG_(3)
FIN_THC_REG_(4)
FIN_THC_REG_(5)
FIN_THC_REG_(6)

static inline uint32_t thc_get_msg_type(struct fipc_message *msg) { return msg->flags & 3; }
static inline void thc_set_msg_type(struct fipc_message *msg, uint32_t type) {
    msg->flags = (msg->flags & ~3u) | (type & 3);
}
static inline uint32_t thc_get_msg_id(struct fipc_message *msg) { return msg->msg_status; }
static inline void thc_set_msg_id(struct fipc_message *msg, uint32_t id) {
    const uint32_t mask = ((1u << AWE_TABLE_ORDER) - 1) << 2;
    msg->msg_status = id;
    msg->flags = (msg->flags & ~mask) | (id << 2 & mask);
}
static inline uint32_t thc_get_request_cookie(struct fipc_message *request) { return thc_get_msg_id(request); }
// The answer to that request is not wanted any more.
void fin_thc_forget_(uint32_t cookie);
static inline void thc_kill_request_cookie(uint32_t cookie) { fin_thc_forget_(cookie); }

// Begins live, with one reference. The ring is the channel's, and is closed with the last reference: then
// thc_channel_dec_ref returns 1, and the struct may be freed. AWEs that are in a call of the channel at that moment are told
// (-EPIPE), and the last of them closes the ring. Marking a channel dead ends all waits for its answers.
struct thc_channel {
    struct fipc_ring_channel *ring;
    struct fin_rpc *rpc;
    int refs;
    bool dead;
};

int fin_thc_channel_dec_(struct thc_channel *chnl);
void fin_thc_channel_dead_(struct thc_channel *chnl);

static inline int thc_channel_init(struct thc_channel *chnl, struct fipc_ring_channel *ring) {
    chnl->ring = ring;
    chnl->refs = 1;
    chnl->dead = false;
    return fin_rpc_open(&chnl->rpc, ring, 0);
}
static inline struct fipc_ring_channel *thc_channel_to_fipc(struct thc_channel *chnl) { return chnl->ring; }
static inline void thc_channel_inc_ref(struct thc_channel *chnl) { chnl->refs++; }
static inline int thc_channel_dec_ref(struct thc_channel *chnl) { return fin_thc_channel_dec_(chnl); }
static inline int thc_channel_is_live(struct thc_channel *chnl) { return !chnl->dead; }
static inline int thc_channel_is_dead(struct thc_channel *chnl) { return chnl->dead; }
static inline void thc_channel_mark_dead(struct thc_channel *chnl) { fin_thc_channel_dead_(chnl); }

// Requests and answers. 0, or a negative errno; -EPIPE: the channel is dead, or, of one that sends, its other end is
// gone: what came from there before can still be received. A message that could not be sent stays the program's; only
// thc_ipc_call, after which nobody knows whether it was, has taken it then, too.
FIN_BLOCKING int fin_thc_send_(struct thc_channel *chnl, struct fipc_message *msg, uint32_t *cookie);
FIN_BLOCKING int fin_thc_recv_(struct thc_channel *chnl, uint32_t cookie, struct fipc_message **out);
FIN_BLOCKING int fin_thc_poll_(struct thc_channel *chnl, struct fipc_message **out);
FIN_BLOCKING int fin_thc_reply_(struct thc_channel *chnl, uint32_t cookie, struct fipc_message *msg);

FIN_BLOCKING static inline int thc_ipc_send_request(struct thc_channel *chnl, struct fipc_message *msg, uint32_t *cookie) {
    return fin_thc_send_(chnl, msg, cookie);
}
FIN_BLOCKING static inline int thc_ipc_recv_response(struct thc_channel *chnl, uint32_t cookie, struct fipc_message **out) {
    return fin_thc_recv_(chnl, cookie, out);
}
FIN_BLOCKING static inline int thc_ipc_poll_recv(struct thc_channel *chnl, struct fipc_message **out) {
    return fin_thc_poll_(chnl, out);
}
FIN_BLOCKING static inline int thc_ipc_call(struct thc_channel *chnl, struct fipc_message *msg, struct fipc_message **out) {
    uint32_t cookie;
    int error = fin_thc_send_(chnl, msg, &cookie);
    if (error)
        fin_thc_message_end_(msg);
    return error ? error : fin_thc_recv_(chnl, cookie, out);
}
FIN_BLOCKING static inline int thc_ipc_reply(struct thc_channel *chnl, uint32_t cookie, struct fipc_message *msg) {
    return fin_thc_reply_(chnl, cookie, msg);
}

// Groups: their members are in the order in which they were added. `size` is the number of items.
struct thc_channel_group_item {
    struct thc_channel_group_item *next;
    struct thc_channel *channel;
    struct thc_channel_group *group;
    int (*dispatch_fn)(struct thc_channel_group_item *, struct fipc_message *);
};
struct thc_channel_group {
    struct thc_channel_group_item *first;
    int size;
};

static inline int thc_channel_group_init(struct thc_channel_group *g) {
    g->first = NULL;
    g->size = 0;
    return 0;
}
static inline int thc_channel_group_item_init(struct thc_channel_group_item *item, struct thc_channel *chnl,
                                              int (*fn)(struct thc_channel_group_item *, struct fipc_message *)) {
    item->next = NULL;
    item->channel = chnl;
    item->group = NULL;
    item->dispatch_fn = fn;
    return 0;
}
static inline struct thc_channel *thc_channel_group_item_channel(struct thc_channel_group_item *item) {
    return item->channel;
}
int fin_thc_group_add_(struct thc_channel_group *g, struct thc_channel_group_item *item);
void fin_thc_group_remove_(struct thc_channel_group *g, struct thc_channel_group_item *item);

static inline int thc_channel_group_item_add(struct thc_channel_group *g, struct thc_channel_group_item *item) {
    return fin_thc_group_add_(g, item); // 0, or -EBUSY where it is in a group
}
static inline void thc_channel_group_item_remove(struct thc_channel_group *g, struct thc_channel_group_item *item) {
    fin_thc_group_remove_(g, item);
}
// A member by its number. 0, or 1 if there are not so many.
static inline int thc_channel_group_item_get(struct thc_channel_group *g, int index, struct thc_channel_group_item **out) {
    struct thc_channel_group_item *item = g->first;
    for (; item && index > 0; index--)
        item = item->next;
    if (!item || index < 0)
        return 1;
    *out = item;
    return 0;
}

// The first request of any member of the group; -EWOULDBLOCK if none has one.
FIN_BLOCKING int fin_thc_poll_group_(struct thc_channel_group *g, struct thc_channel_group_item **item,
                                     struct fipc_message **out);
FIN_BLOCKING static inline int thc_poll_recv_group(struct thc_channel_group *g, struct thc_channel_group_item **item,
                                                   struct fipc_message **out) {
    return fin_thc_poll_group_(g, item, out);
}
#define thc_poll_rcv_group thc_poll_recv_group // the paper's spelling

#ifdef __cplusplus
}
#endif
#endif
