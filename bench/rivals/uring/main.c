// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>

#include "uring.h"

enum { ENTRIES = 1024, COMPLETIONS = 16384 };

struct io_uring ring;

static void must(int result, const char *what) {
    if (result >= 0)
        return;
    errno = -result;
    die(what);
}

void uring_begin(void) {
    struct io_uring_params p = {.flags = IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN |
                                         IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
                                .cq_entries = COMPLETIONS};
    int r = io_uring_queue_init_params(ENTRIES, &ring, &p);
    if (r == -EINVAL) { // before Linux 6.1
        p = (struct io_uring_params){.flags = IORING_SETUP_CQSIZE, .cq_entries = COMPLETIONS};
        r = io_uring_queue_init_params(ENTRIES, &ring, &p);
    }
    must(r, "io_uring");
    io_uring_register_ring_fd(&ring);
}

// A full queue goes down first.
static struct io_uring_sqe *entry(void) {
    struct io_uring_sqe *e;
    while (!(e = io_uring_get_sqe(&ring)))
        io_uring_submit(&ring);
    return e;
}

void uring_recv(struct operation *o, int fd, void *buffer, size_t size) {
    struct io_uring_sqe *e = entry();
    io_uring_prep_recv(e, fd, buffer, size, 0);
    io_uring_sqe_set_data(e, o);
}

void uring_send(struct operation *o, int fd, const void *data, size_t size) {
    struct io_uring_sqe *e = entry();
    io_uring_prep_send(e, fd, data, size, MSG_NOSIGNAL);
    io_uring_sqe_set_data(e, o);
}

void uring_pread(struct operation *o, int fd, void *buffer, size_t size, off_t offset) {
    struct io_uring_sqe *e = entry();
    io_uring_prep_read(e, fd, buffer, (unsigned)size, (uint64_t)offset);
    io_uring_sqe_set_data(e, o);
}

void uring_register(const int *fds, unsigned count, void *memory, size_t size) {
    must(io_uring_register_files(&ring, fds, count), "io_uring_register_files");
    must(io_uring_register_buffers(&ring, &(struct iovec){memory, size}, 1), "io_uring_register_buffers");
}

void uring_pread_fixed(struct operation *o, int fd, void *buffer, size_t size, off_t offset) {
    struct io_uring_sqe *e = entry();
    io_uring_prep_read_fixed(e, fd, buffer, (unsigned)size, (uint64_t)offset, 0);
    io_uring_sqe_set_flags(e, IOSQE_FIXED_FILE);
    io_uring_sqe_set_data(e, o);
}

static void reap(void) {
    struct io_uring_cqe *c;
    unsigned head, n = 0;
    io_uring_for_each_cqe(&ring, head, c) {
        struct operation *o = io_uring_cqe_get_data(c);
        o->done(o, c->res, c->flags);
        n++;
    }
    io_uring_cq_advance(&ring, n);
}

void uring_run(int64_t ns) {
    int r;
    if (ns < 0) {
        r = io_uring_submit_and_wait(&ring, 1);
    } else {
        struct __kernel_timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
        struct io_uring_cqe *c;
        r = io_uring_submit_and_wait_timeout(&ring, &c, 1, &t, NULL);
    }
    if (r != -ETIME && r != -EINTR && r != -EAGAIN && r != -EBUSY)
        must(r, "io_uring_enter");
    reap();
}

static struct {
    struct operation operation;
    int listener;
    void (*accepted)(int fd);
} acceptor;

static void accept_more(void) {
    struct io_uring_sqe *e = entry();
    io_uring_prep_multishot_accept(e, acceptor.listener, NULL, NULL, SOCK_CLOEXEC);
    io_uring_sqe_set_data(e, &acceptor.operation);
}

static void on_accept(struct operation *o, int result, unsigned flags) {
    (void)o;
    if (result >= 0)
        acceptor.accepted(result);
    else
        accept_again(-result);
    if (!(flags & IORING_CQE_F_MORE))
        accept_more();
}

void uring_accept(int listener, void (*accepted)(int fd)) {
    acceptor.operation.done = on_accept;
    acceptor.listener = listener;
    acceptor.accepted = accepted;
    accept_more();
}

int main(int argc, char **argv) {
    if (argc > 3 && strcmp(argv[1], "reads") == 0)
        return reads(argc, argv);
    void (*serve)(int) = argc != 3                        ? NULL
                         : strcmp(argv[1], "quotes") == 0 ? quotes
                         : strcmp(argv[1], "http") == 0   ? hello
                         : strcmp(argv[1], "echo") == 0   ? echo
                                                          : NULL;
    if (!serve) {
        fprintf(stderr, "usage: %s quotes|http|echo PORT\n", argv[0]);
        return 2;
    }
    int listener = rival_listen(argv[2]);
    uring_begin();
    serve(listener);
    return 0;
}
