// SPDX-License-Identifier: BSD-2-Clause
#define _GNU_SOURCE
#include "io/message.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descriptors.h"
#include "io/call.h"

enum { ROOM = 256 }; // enough for most, of which one is kept

void fin_message_end(struct message *own) {
    struct io *io = own->owned.io;
    fin_owned_remove(&own->owned);
    if (io->message || own->room > ROOM)
        free(own);
    else
        io->message = own;
}

static void lost(struct owned *o) {
    struct message *own = FIN_OF(struct message, owned, o);
    if (own->came)
        fin_descriptors_close(&own->m);
    fin_message_end(own);
}

struct message *fin_message_new(struct io *io, const struct msghdr *m) {
    struct message *own = io->message;
    if (own && m->msg_controllen <= own->room) {
        io->message = NULL;
    } else {
        size_t room = m->msg_controllen > ROOM ? m->msg_controllen : ROOM;
        own = room < SIZE_MAX - sizeof *own ? malloc(sizeof *own + room) : NULL;
        if (!own)
            return NULL;
        own->room = room;
    }
    own->request = NULL;
    own->came = false;
    own->m = *m;
    own->m.msg_control = own->control;
    fin_owned_add(&own->owned, io, lost);
    return own;
}

void fin_message_copy(struct msghdr *m, const struct message *own) {
    m->msg_namelen = own->m.msg_namelen;
    m->msg_flags = own->m.msg_flags;
    m->msg_controllen = own->m.msg_controllen;
    memcpy(m->msg_control, own->control, own->m.msg_controllen);
}

// On epoll the AWE itself receives it.
ssize_t fin_message_recv(struct call c, struct msghdr *m) {
    struct io *io;
    int error = fin_io_here(&io);
    if (error)
        return error;
    if (io->backend != &fin_io_uring)
        return run(c);
    struct message *own = fin_message_new(io, m);
    if (!own)
        return -ENOMEM;
    c.addr = &own->m;
    c.message = true;
    ssize_t n = run(c);
    if (n >= 0)
        fin_message_copy(m, own);
    fin_message_end(own);
    return n;
}

void fin_message_late(struct io *io, const void *request) {
    for (struct fin_link *l = io->owned.next; l != &io->owned; l = l->next) {
        struct owned *o = FIN_OF(struct owned, link, l);
        struct message *own = FIN_OF(struct message, owned, o);
        if (o->lost != lost || own->request != request)
            continue;
        own->came = true;
        fin_track_written(&own->m, sizeof own->m);
        fin_track_written(own->control, own->m.msg_controllen);
    }
}

void fin_messages_end(struct io *io) {
    free(io->message);
    io->message = NULL;
}
