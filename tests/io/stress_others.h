// SPDX-License-Identifier: BSD-2-Clause
// For stress.c: what is done with all but streams.
#ifndef FIN_TESTS_IO_STRESS_OTHERS_H
#define FIN_TESTS_IO_STRESS_OTHERS_H

#include "stress_streams.h"

// ---- messages

static bool take_post(struct act *a) {
    a->fd = boxes[below(&a->random, BOXES)][1];
    a->id = messages++;
    HOLDS(a->id < MESSAGES);
    a->size = 4 * (2 + below(&a->random, PIECE / 4 - 2));
    for (size_t i = 0; i < a->size; i += 4)
        memcpy(a->data + i, &a->id, 4);
    in_two(a);
    a->how = below(&a->random, 7);
    if (a->how < 2)
        put_descriptor(&a->m, a->control, sizeof a->control, pattern_file);
    return true;
}

static void run_post(struct act *a) {
    switch (a->how) {
    case 0:
    case 1:
    case 2: did(a, fin_sendmsg(a->fd, &a->m, 0)); break;
    case 3: did(a, fin_write(a->fd, a->data, a->size)); break;
    case 4: did(a, fin_writev(a->fd, a->v, 2)); break;
    case 5: did(a, fin_sendto(a->fd, a->data, a->size, 0, NULL, 0)); break;
    default: did(a, fin_send(a->fd, a->data, a->size, 0));
    }
}

static int run_post_on(struct act *a) {
    switch (a->how) {
    case 0:
    case 1:
    case 2: return fin_sendmsg_on(&a->more_on, a->fd, &a->m, 0, REST);
    case 3: return fin_write_on(&a->on, a->fd, a->data, a->size, REST);
    case 4: return fin_writev_on(&a->on, a->fd, a->v, 2, REST);
    case 5: return fin_send_at_on(&a->on, fin_now() + 1000, a->fd, a->data, a->size, 0, REST);
    default: return fin_send_on(&a->on, a->fd, a->data, a->size, 0, REST);
    }
}

static void settle_post(struct act *a) {
    HOLDS(a->error == -ECANCELED || a->moved == a->size);
    posted[a->id] = a->moved > 0;
}

static bool take_fetch(struct act *a) {
    a->fd = boxes[below(&a->random, BOXES)][0];
    a->size = PIECE;
    in_two(a);
    a->how = below(&a->random, 7);
    if (a->how < 2) {
        a->m.msg_control = a->control;
        a->m.msg_controllen = sizeof a->control;
    }
    return true;
}

static void run_fetch(struct act *a) {
    switch (a->how) {
    case 0:
    case 1:
    case 2: did(a, fin_recvmsg(a->fd, &a->m, 0)); break;
    case 3: did(a, fin_read(a->fd, a->data, a->size)); break;
    case 4: did(a, fin_readv(a->fd, a->v, 2)); break;
    case 5: did(a, fin_buffers_recv(own.pool, a->fd, &a->piece, 0)); break;
    default: did(a, fin_recv(a->fd, a->data, a->size, 0));
    }
}

static int run_fetch_on(struct act *a) {
    switch (a->how) {
    case 0:
    case 1:
    case 2: return fin_recvmsg_on(&a->more_on, a->fd, &a->m, 0, REST);
    case 3: return fin_read_on(&a->on, a->fd, a->data, a->size, REST);
    case 4: return fin_readv_on(&a->on, a->fd, a->v, 2, REST);
    case 5: return fin_buffers_recv_on(own.pool, a->fd, &a->piece, &a->buffers_on, REST);
    default: return fin_recv_on(&a->on, a->fd, a->data, a->size, 0, REST);
    }
}

static void settle_fetch(struct act *a) {
    HOLDS(a->error == -ECANCELED || a->moved > 0);
    if (a->error)
        return;
    fetched_one(a->piece ? a->piece : a->data, (ssize_t)a->moved);
    for (struct cmsghdr *c = a->how < 2 ? CMSG_FIRSTHDR(&a->m) : NULL; c; c = CMSG_NXTHDR(&a->m, c)) {
        int fd;
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
        HOLDS(c->cmsg_type == SCM_RIGHTS && close(fd) == 0);
    }
    if (a->piece)
        hold(a->piece);
}

// ---- connections

static bool take_connect(struct act *a) {
    a->fd = socket(AF_UNIX, SOCK_STREAM | (below(&a->random, 2) ? SOCK_NONBLOCK : 0), 0);
    a->how = below(&a->random, 3);
    return true;
}

static void run_connect(struct act *a) {
    if (a->how) {
        a->error = fin_connect(a->fd, (struct sockaddr *)&name, name_size);
        return;
    }
    struct fin_step s[2] = {fin_step_connect(a->fd, (struct sockaddr *)&name, name_size), fin_step_send(a->fd, "x", 1, 0)};
    int n = fin_linked(s, 2);
    a->error = n < 0 ? n : (int)s[0].result;
    HOLDS(s[1].result == 1 || s[1].result == -ECANCELED || is_lost((int)s[1].result));
}

static int run_connect_on(struct act *a) {
    return fin_connect_on(&a->more_on, a->fd, (struct sockaddr *)&name, name_size, REST);
}

static void settle_connect(struct act *a) {
    HOLDS(a->error == 0 || a->error == -ECANCELED);
    connected += a->error == 0;
    close(a->fd);
}

static bool take_accept(struct act *a) {
    a->how = below(&a->random, 3);
    return true;
}

static void run_accept(struct act *a) {
    a->fd = a->how ? fin_acceptor_next(own.acceptor) : fin_accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    a->error = a->fd < 0 ? a->fd : 0;
}

static int run_accept_on(struct act *a) {
    if (a->how)
        return fin_acceptor_next_on(own.acceptor, &a->on, REST);
    return fin_accept_on(&a->on, listener, SOCK_CLOEXEC, REST);
}

static void settle_descriptor(struct act *a) {
    HOLDS(a->error == 0 || a->error == -ECANCELED);
    if (a->error)
        return;
    int r = fin_close(a->fd);
    HOLDS(r == 0 || r == -ECANCELED);
    if (r)
        HOLDS(fin_close_nc(a->fd) == 0);
}

static void settle_accept(struct act *a) {
    accepted += a->error == 0;
    if (!a->how || a->error != -ESHUTDOWN) // an acceptor that could not be freed when it was stopped
        settle_descriptor(a);
}

static bool take_nothing(struct act *a) {
    a->how = below(&a->random, 3);
    return true;
}

static void run_open(struct act *a) {
    a->fd = fin_openat(AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC, 0);
    a->error = a->fd < 0 ? a->fd : 0;
}

static int run_open_on(struct act *a) { return fin_openat_on(&a->on, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC, 0, REST); }

// ---- numbers in an eventfd, regions and records of files

static bool take_sum(struct act *a) {
    a->how = below(&a->random, 4);
    a->value = a->how < 2 ? 1 + below(&a->random, 3) : 0;
    a->v[0] = (struct iovec){&a->value, sizeof a->value};
    return true;
}

static void run_sum(struct act *a) {
    switch (a->how) {
    case 0: did(a, fin_write(event, &a->value, sizeof a->value)); break;
    case 1: did(a, fin_writev(event, a->v, 1)); break;
    case 2: did(a, fin_read(event, &a->value, sizeof a->value)); break;
    default: did(a, fin_readv(event, a->v, 1));
    }
}

static int run_sum_on(struct act *a) {
    if (a->how < 2)
        return fin_write_on(&a->on, event, &a->value, sizeof a->value, REST);
    return fin_read_on(&a->on, event, &a->value, sizeof a->value, REST);
}

static void settle_sum(struct act *a) {
    HOLDS(a->error == -ECANCELED || a->moved == sizeof a->value);
    *(a->how < 2 ? &added : &summed) += a->error ? 0 : a->value;
}

static bool take_region(struct act *a) {
    unsigned i = below(&a->random, REGIONS) / THREADS * THREADS + (unsigned)own.number;
    struct region *r = &regions[i];
    if (r->busy)
        return false;
    r->busy = true;
    a->region = r;
    a->how = below(&a->random, 8);
    a->size = REGION;
    in_two(a);
    memset(a->data, (unsigned char)(r->value + 1), REGION); // which is not what is to be read
    memset(own.fixed[i], (unsigned char)(r->value + 1), REGION);
    return true;
}

static void run_region(struct act *a) {
    long i = a->region - regions;
    off_t at = i * REGION;
    struct fin_step s[2] = {fin_step_pwrite(regions_file, a->data, a->size, at), fin_step_fsync(regions_file)};
    switch (a->how) {
    case 0: did(a, fin_pwrite(regions_file, a->data, a->size, at)); break;
    case 1: did(a, fin_pwritev(regions_file, a->v, 2, at)); break;
    case 2: did(a, fin_pwrite_fixed(regions_file, own.memory, own.fixed[i], a->size, at)); break;
    case 3: fin_linked(s, 2); did(a, s[0].result); break;
    case 4: did(a, fin_pread(regions_file, a->data, a->size, at)); break;
    case 5: did(a, fin_preadv(regions_file, a->v, 2, at)); break;
    default:
        did(a, fin_pread_fixed(regions_file, own.memory, own.fixed[i], a->size, at));
        memcpy(a->data, own.fixed[i], REGION);
    }
}

static int run_region_on(struct act *a) {
    off_t at = (a->region - regions) * REGION;
    if (a->how < 4)
        return fin_pwrite_on(&a->on, regions_file, a->data, a->size, at, REST);
    return fin_pread_on(&a->on, regions_file, a->data, a->size, at, REST);
}

static void settle_region(struct act *a) {
    struct region *r = a->region;
    HOLDS(a->error == -ECANCELED || a->moved == REGION);
    r->value = (unsigned char)(r->value + (a->how < 4 && !a->error));
    check_region(r);
    for (int i = 0; i < REGION && !a->error; i++)
        HOLDS(a->data[i] == r->value);
    r->busy = false;
}

static bool take_record(struct act *a) {
    memset(a->data, (int)a->random, RECORD);
    return true;
}

static void run_record(struct act *a) { did(a, fin_write(records_file, a->data, RECORD)); }
static int run_record_on(struct act *a) { return fin_write_on(&a->on, records_file, a->data, RECORD, REST); }

static void settle_record(struct act *a) {
    HOLDS(a->error == -ECANCELED || a->moved == RECORD);
    records += a->error == 0;
}

// ---- what only waits

static void runs(void *act) { ((struct act *)act)->ran = true; }
static void run_offload(struct act *a) { a->error = fin_offload(runs, a); }
static int run_offload_on(struct act *a) { return fin_offload_on(&a->on, runs, a, REST); }
static void settle_offload(struct act *a) { HOLDS(a->error == (a->ran ? 0 : -ECANCELED)); }

static bool take_time(struct act *a) {
    a->due = fin_now() + below(&a->random, 200000);
    return true;
}

static void run_sleep(struct act *a) { a->error = fin_sleep_until(a->due); }
static int run_sleep_on(struct act *a) { return fin_sleep_until_on(&a->on, a->due, REST); }
static void settle_sleep(struct act *a) { HOLDS(a->error == -ECANCELED || (a->error == 0 && fin_now() >= a->due)); }

static bool take_poll(struct act *a) {
    a->how = below(&a->random, 2);
    return take_stream(a, (int)a->how);
}

static void run_poll(struct act *a) {
    if (begins(a, (int)a->how))
        did(a, fin_poll(a->fd, a->how ? POLLOUT : POLLIN));
}

static int run_poll_on(struct act *a) {
    return begins(a, (int)a->how) ? fin_poll_on(&a->on, a->fd, a->how ? POLLOUT : POLLIN, REST) : 0;
}

static void settle_poll(struct act *a) {
    struct stream *s = a->stream;
    HOLDS(a->moved > 0 || a->is_void || a->error == -ECANCELED || (a->error == -EBADF && s->gone[a->how]));
    s->busy[a->how] = false;
}

#endif
