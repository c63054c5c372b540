// SPDX-License-Identifier: BSD-2-Clause
// Messages with room for control data, which may bring descriptors. The kernel makes those as the message comes, and that
// may be while the thread of the AWE that waits for it ends: only the library can close them then, and the memory that
// the program wanted their numbers in may be gone. So the ring gets a header and room of ours, which the AWE copies as it
// runs.
#ifndef FIN_IO_MESSAGE_H
#define FIN_IO_MESSAGE_H

#include <sys/socket.h>

#include "io/uring.h"

struct message {
    struct owned owned;            // its end closes what came and was not copied
    const struct request *request; // by its address: it may be gone
    size_t room;                   // for control data
    bool came;
    struct msghdr m;
    char control[] __attribute__((aligned(16)));
};

struct message *fin_message_new(struct io *io, const struct msghdr *m); // NULL: no memory
void fin_message_copy(struct msghdr *m, const struct message *own);
void fin_message_end(struct message *own);
static inline struct message *fin_message_of(const struct call *c) { return FIN_OF(struct message, m, c->addr); }

// c is a receive of *m, which has room for control data.
FIN_BLOCKING ssize_t fin_message_recv(struct call c, struct msghdr *m);
void fin_message_late(struct io *io, const void *request); // the thread ends, and now it came
void fin_messages_end(struct io *io);

#endif
