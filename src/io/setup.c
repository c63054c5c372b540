// SPDX-License-Identifier: BSD-2-Clause
// A thread's ring: what the kernel can is looked for, and used.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "io/uring.h"

enum { ENTRIES = 256, COMPLETIONS = 4096, SMALL = 8, OPERATIONS = 64 };

// What newer kernels save us, completions that interrupt the thread, and locks; with the last operation that they know.
static const struct kernel {
    const char *name;
    unsigned setup;
    int last;
} kernels[] = {
    {"6.1",
     IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SINGLE_ISSUER |
         IORING_SETUP_DEFER_TASKRUN,
     63},
    {"6.0", IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SINGLE_ISSUER,
     IORING_OP_SEND_ZC},
    {"5.19", IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, IORING_OP_URING_CMD},
    {"5.18", IORING_SETUP_SUBMIT_ALL, IORING_OP_MSG_RING},
    {"plain", 0, IORING_OP_LINKAT}, // 5.15, by two names
    {"5.15", 0, IORING_OP_LINKAT},
};
enum { KERNELS = sizeof kernels / sizeof *kernels, OLDEST = KERNELS - 1 };

// The newest kernel whose io_uring may be used, or -1: that of FIN_IO is not known.
static int newest_kernel(void) {
    const char *want = getenv("FIN_IO");
    if (!want || !want[0] || strcmp(want, "small") == 0)
        return 0;
    for (int i = 0; i < KERNELS; i++)
        if (strcmp(want, kernels[i].name) == 0)
            return i;
    return -1;
}

// What older kernels do without. The set-up flags tell the version where nothing else does. 0, or why the kernel does not
// say.
static int look_for_features(struct io *io, unsigned setup, int last) {
    struct can *can = &io->can;
    union {
        struct io_uring_probe head;
        char room[sizeof(struct io_uring_probe) + OPERATIONS * sizeof(struct io_uring_probe_op)];
    } probe = {.room = {0}};
    can->cancel_all = setup & IORING_SETUP_COOP_TASKRUN; // 5.19, as are multishot accept and buffer rings
    can->multishot_accept = can->buffer_rings = can->cancel_all;
    can->multishot_receive = setup & IORING_SETUP_SINGLE_ISSUER; // 6.0
    can->tells_part = setup & IORING_SETUP_DEFER_TASKRUN;        // 6.1
    int r = io_uring_register_probe(&io->uring.ring, &probe.head, OPERATIONS);
    for (int op = 0; r >= 0 && op <= last; op++)
        can->ops |= (uint64_t)(io_uring_opcode_supported(&probe.head, op) != 0) << op;
    can->zero_copy = can->ops >> IORING_OP_SEND_ZC & 1;
    can->zero_copy_msg = can->ops >> IORING_OP_SENDMSG_ZC & 1;
    if (last >= IORING_OP_MSG_RING) // 5.18. Saves a look-up per call
        can->registered_ring = io_uring_register_ring_fd(&io->uring.ring) == 1;
    return r < 0 ? r : 0;
}

static void describe(struct io *io, unsigned setup, bool known) {
    const struct can *can = &io->can;
    const struct {
        bool can;
        const char *name;
    } features[] = {
        {setup & IORING_SETUP_DEFER_TASKRUN, "deferred work"},
        {setup & IORING_SETUP_SINGLE_ISSUER, "single issuer"},
        {can->registered_ring, "registered ring"},
        {can->multishot_accept, "multishot accept"},
        {can->multishot_receive, "multishot receive"},
        {can->buffer_rings, "buffer rings"},
        {can->zero_copy, "zero-copy send"},
    };
    size_t n = 0;
    for (unsigned i = 0; i < sizeof features / sizeof *features; i++)
        if (features[i].can)
            n += (size_t)snprintf(io->features + n, sizeof io->features - n, "%s %s",
                                  n ? "," : "io_uring:", features[i].name);
    snprintf(io->features + n, sizeof io->features - n, "%s%s", n ? "" : "io_uring, without the features of newer kernels",
             known ? "" : "; FIN_IO says what is not known");
    io->name = io->features;
}

// liburing makes its system calls itself.
int fin_uring_map(struct io_uring *ring, unsigned entries, struct io_uring_params *p) {
    int r = io_uring_queue_init_params(entries, ring, p);
    fin_track_mapping(true);
    return r;
}

void fin_uring_unmap(struct io_uring *ring) {
    fin_track_mapping(false);
    io_uring_queue_exit(ring);
}

static void make_own(void *p, size_t size) {
    mmap(p, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

void fin_uring_forked(struct io *io) {
    struct io_uring *ring = &io->uring.ring;
    struct io_uring_sq *sq = &ring->sq;
    make_own(sq->sqes, sq->ring_entries * sizeof *sq->sqes);
    make_own(sq->ring_ptr, sq->ring_sz);
    if (ring->cq.ring_ptr != sq->ring_ptr)
        make_own(ring->cq.ring_ptr, ring->cq.ring_sz);
}

// Each system call that a ring needs may be denied by itself: io->lacks is the one that failed.
static int look_for_calls(struct io *io, unsigned setup, int last) {
    io->lacks = "io_uring_register(2)";
    int r = look_for_features(io, setup, last);
    if (r < 0)
        return r;
    if (!(io->can.ops >> IORING_OP_SHUTDOWN & 1)) {
        io->lacks = NULL;
        return -EOPNOTSUPP;
    }
    io->lacks = "io_uring_enter(2)";
    r = io_uring_get_events(&io->uring.ring);
    return r == -EINTR || r == -EAGAIN || r == -EBUSY || r > 0 ? 0 : r;
}

int fin_uring_begin(struct io *io) {
    struct uring *u = &io->uring;
    struct io_uring_params p;
    int r = -EINVAL, wanted = newest_kernel(), newest = wanted < 0 ? 0 : wanted;
    io->lacks = NULL;
    memset(u, 0, sizeof *u);
    for (int i = fin_on_valgrind ? OLDEST : newest; i < KERNELS && r == -EINVAL; i++) {
        p = (struct io_uring_params){.flags = kernels[i].setup | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
                                     .cq_entries = io->small ? 2 * SMALL : COMPLETIONS};
        r = fin_uring_map(&u->ring, io->small ? SMALL : ENTRIES, &p);
    }
    if (r < 0)
        return r;
    unsigned need = IORING_FEAT_NODROP | IORING_FEAT_FAST_POLL | IORING_FEAT_EXT_ARG | IORING_FEAT_RSRC_TAGS;
    r = (p.features & need) == need ? look_for_calls(io, p.flags, kernels[newest].last) : -EOPNOTSUPP;
    if (r < 0) {
        fin_uring_unmap(&u->ring);
        io->can = (struct can){0};
        return r;
    }
    io->fd = u->ring.ring_fd;
    describe(io, p.flags, wanted >= 0);
    return 0;
}
