// SPDX-License-Identifier: BSD-2-Clause
#ifndef FIN_IO_FIXED_H
#define FIN_IO_FIXED_H

#include "io/io.h"

// Numbers of registered files: no descriptor is as large. Below are a slot and a tag, which tells an old number from a new
// one.
enum { FIXED = 0x40000000, SLOT_BITS = 10, FILES = 1 << SLOT_BITS };

struct files {
    bool in_ring;
    unsigned next; // slot to try
    struct {
        int number, fd; // number is 0 where it is registered no more
        unsigned users; // calls that have begun: the slot stays as it is
    } slot[FILES];
};

// Puts what c->fd stands for in its place. Its slot, for fin_fixed_done when the call is over; or -EBADF.
int fin_fixed_file(struct io *io, struct call *c);
void fin_fixed_done(struct io *io, int slot);
// Of a call for which that has been done: its descriptor.
static inline int fin_descriptor(const struct io *io, const struct call *c) {
    return c->sqe_flags & IOSQE_FIXED_FILE ? io->files->slot[c->fd].fd : c->fd;
}
// What a number of the calling thread stands for; another is what it is.
int fin_io_descriptor(int fd);
// Of a socket, by its descriptor or number: the value of an option of SOL_SOCKET, or -1.
int fin_socket_option(int fd, int name);
FIN_BLOCKING int fin_io_run(struct call c); // any call
// One of four words, as the ring has them.
struct call fin_io_of_words(uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc);
FIN_BLOCKING long fin_io_run_words(uint64_t head, uint64_t off, uint64_t addr, uint64_t tail, bool nc);

#endif
