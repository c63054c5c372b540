// SPDX-License-Identifier: BSD-2-Clause
// The asynchronous IPC of <fin/thc_ipc.h>: messages with memory of their own, and requests by a number of their thread,
// because thc_kill_request_cookie names no channel.
#include <stddef.h>
#include <stdlib.h>

#include <fin/thc_ipc.h>

#include "chan/rpc.h"

struct message {
    struct message *next;
    struct fipc_message m;
};

struct request {
    struct request *next;
    struct fin_rpc *rpc;
    uint32_t id, cookie;
};

static __thread struct message *messages;
static __thread struct request *requests;
static __thread uint32_t last_cookie;

struct on_wire {
    uint32_t flags, unused;
    uint64_t regs[FIPC_NR_REGS];
};

int fin_thc_message_new_(struct fipc_message **msg) {
    struct message *m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    m->next = messages;
    messages = m;
    *msg = &m->m;
    return 0;
}

// Where it is none of ours it is the program's.
void fin_thc_message_end_(struct fipc_message *msg) {
    for (struct message **at = &messages, *m; (m = *at); at = &m->next) {
        if (&m->m == msg) {
            *at = m->next;
            free(m);
            return;
        }
    }
}

static struct request *take_request(uint32_t cookie) {
    for (struct request **at = &requests, *q; (q = *at); at = &q->next) {
        if (q->cookie == cookie) {
            *at = q->next;
            return q;
        }
    }
    return NULL;
}

void fin_thc_forget_(uint32_t cookie) {
    struct request *q = take_request(cookie);
    if (q)
        fin_rpc_forget(q->rpc, q->id);
    free(q);
}

void fin_thc_channel_dead_(struct thc_channel *chnl) {
    if (!chnl->dead)
        fin_rpc_stop(chnl->rpc, -EPIPE);
    chnl->dead = true;
}

int fin_thc_channel_dec_(struct thc_channel *chnl) {
    if (--chnl->refs != 0)
        return 0;
    fin_thc_channel_dead_(chnl);
    for (struct request **at = &requests, *q; (q = *at);) {
        if (q->rpc == chnl->rpc) {
            *at = q->next;
            free(q);
        } else {
            at = &q->next;
        }
    }
    struct fin_rpc *rpc = chnl->rpc;
    rpc->left = true;
    fin_rpc_close(rpc); // -EBUSY: who is in a call of it does, see result()
    return 1;
}

// Of a call that is over: 0 or a negative errno. Where others ran meanwhile the channel may be gone, and its end is then for
// the last who was in a call to close.
static int result(struct thc_channel *chnl, struct fin_rpc *rpc, ssize_t n) {
    if (rpc->left) {
        fin_rpc_close(rpc);
        return -EPIPE;
    }
    bool over = n == -ESHUTDOWN || n == -ECONNRESET || n == -EPIPE || n == -EPROTO;
    if (over)
        fin_thc_channel_dead_(chnl);
    return over ? -EPIPE : n < 0 ? (int)n : 0;
}

// The same of what was sent: where the other end is gone, answers and requests that it sent before can be received still,
// and who receives hears that the channel is dead.
static int result_of_sending(struct thc_channel *chnl, struct fin_rpc *rpc, ssize_t n) {
    return n == -EPIPE && !rpc->left ? -EPIPE : result(chnl, rpc, n);
}

static struct on_wire to_wire(const struct fipc_message *msg) {
    struct on_wire w = {msg->flags, 0, {0}};
    memcpy(w.regs, msg->regs, sizeof w.regs);
    return w;
}

// What came may be shorter.
static void from_wire(const struct on_wire *w, uint32_t type, uint32_t id, struct fipc_message *m) {
    m->flags = w->flags;
    memcpy(m->regs, w->regs, sizeof w->regs);
    thc_set_msg_type(m, type);
    thc_set_msg_id(m, id);
}

int fin_thc_send_(struct thc_channel *chnl, struct fipc_message *msg, uint32_t *cookie) {
    struct request *q = malloc(sizeof *q);
    if (!q)
        return -ENOMEM;
    thc_set_msg_type(msg, msg_type_request);
    struct on_wire w = to_wire(msg);
    q->rpc = chnl->rpc;
    q->rpc->direct = true;
    int error = result_of_sending(chnl, q->rpc, fin_rpc_send_nc(q->rpc, &w, sizeof w, &q->id));
    if (error != 0) {
        free(q);
        return error;
    }
    q->cookie = *cookie = ++last_cookie ? last_cookie : ++last_cookie;
    q->next = requests;
    requests = q;
    fin_thc_message_end_(msg);
    return 0;
}

int fin_thc_recv_(struct thc_channel *chnl, uint32_t cookie, struct fipc_message **out) {
    struct on_wire w = {0};
    struct request *q = take_request(cookie);
    if (!q || q->rpc != chnl->rpc) {
        if (q) {
            q->next = requests;
            requests = q;
        }
        return -ESRCH;
    }
    int no_memory = fin_thc_message_new_(out);
    ssize_t n = no_memory ? no_memory : fin_rpc_recv_nc(q->rpc, q->id, &w, sizeof w);
    if (n < 0)
        fin_rpc_forget(q->rpc, q->id);
    int error = result(chnl, q->rpc, n);
    if (error == 0)
        from_wire(&w, msg_type_response, cookie, *out);
    else if (!no_memory)
        fin_thc_message_end_(*out);
    free(q);
    return error;
}

// With no room for it a request stays where it is: memory is asked for only where there is one. Lets nobody run.
static int poll_now(struct thc_channel *chnl, struct fin_rpc *rpc, struct fipc_message **out) {
    struct on_wire w = {0};
    uint32_t id;
    ssize_t n = fin_rpc_poll_now(rpc, &w, 0, &id);
    if (n < 0 && n != -EMSGSIZE)
        return result(chnl, rpc, n);
    int error = fin_thc_message_new_(out);
    if (error != 0)
        return result(chnl, rpc, error);
    if (n == -EMSGSIZE)
        n = fin_rpc_poll_now(rpc, &w, sizeof w, &id);
    error = result(chnl, rpc, n == -EMSGSIZE ? -EPROTO : n); // no thc sends what none can take
    if (error != 0)
        fin_thc_message_end_(*out);
    else
        from_wire(&w, msg_type_request, id, *out);
    return error;
}

// Who waits for an answer reads for this one, too, and runs first.
int fin_thc_poll_(struct thc_channel *chnl, struct fipc_message **out) {
    struct fin_rpc *rpc = chnl->rpc;
    fin_rpc_let_read(&rpc, 1);
    return rpc->left ? result(chnl, rpc, -EPIPE) : poll_now(chnl, rpc, out);
}

int fin_thc_reply_(struct thc_channel *chnl, uint32_t cookie, struct fipc_message *msg) {
    thc_set_msg_type(msg, msg_type_response);
    struct on_wire w = to_wire(msg);
    struct fin_rpc *rpc = chnl->rpc;
    int error = result_of_sending(chnl, rpc, fin_rpc_reply_nc(rpc, cookie, &w, sizeof w));
    if (error == 0)
        fin_thc_message_end_(msg);
    return error;
}

int fin_thc_group_add_(struct thc_channel_group *g, struct thc_channel_group_item *item) {
    struct thc_channel_group_item **at = &g->first;
    if (item->group)
        return -EBUSY;
    while (*at)
        at = &(*at)->next;
    *at = item;
    item->next = NULL;
    item->group = g;
    g->size++;
    return 0;
}

// Who waits for answers runs first, once for all members. Nothing of the group is kept meanwhile: they may come and go.
int fin_thc_poll_group_(struct thc_channel_group *g, struct thc_channel_group_item **item, struct fipc_message **out) {
    bool reading = false;
    for (const struct thc_channel_group_item *i = g->first; i; i = i->next)
        reading |= i->channel->rpc->reading;
    if (reading)
        fin_yield();
    for (struct thc_channel_group_item *i = g->first; i; i = i->next) {
        if (poll_now(i->channel, i->channel->rpc, out) == 0) {
            *item = i;
            return 0;
        }
    }
    return -EWOULDBLOCK;
}

void fin_thc_group_remove_(struct thc_channel_group *g, struct thc_channel_group_item *item) {
    for (struct thc_channel_group_item **at = &g->first; *at; at = &(*at)->next) {
        if (*at == item) {
            *at = item->next;
            item->group = NULL;
            g->size--;
            return;
        }
    }
}
