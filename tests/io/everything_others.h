// SPDX-License-Identifier: BSD-2-Clause
// For everything.c: connections, children, work for the pool, files.
#ifndef FIN_TESTS_IO_EVERYTHING_OTHERS_H
#define FIN_TESTS_IO_EVERYTHING_OTHERS_H

#include "everything.h"

// ---- connections, of which each is accepted and served once

enum { LISTENERS = 2, CLIENTS = 2048 };

struct listener {
    bool is_unix;
    int fd, flags;
    union {
        struct sockaddr_in in;
        struct sockaddr_un un;
    } address;
    socklen_t size;
    struct fin_acceptor *acceptors[THREADS];
    int ready[THREADS][2]; // those that accept, with an acceptor or without, and do not rest
    struct fin_event served;
    _Atomic bool cancelled;
    _Atomic unsigned clients;
    _Atomic unsigned char seen[CLIENTS];
};

static struct listener listeners[LISTENERS];

static void open_listener(struct listener *l) {
    memset(l, 0, sizeof *l);
    fin_event_init(&l->served);
    l->is_unix = chance(2);
    l->size = sizeof l->address.in;
    l->fd = l->is_unix ? unix_listen(&l->address.un, &l->size, chance(2) ? 1 : 20) : tcp_listen(&l->address.in, 100);
    l->flags = SOCK_CLOEXEC | (chance(2) ? SOCK_NONBLOCK : 0);
    if (chance(3) == 0)
        fcntl(l->fd, F_SETFL, O_NONBLOCK);
}

static ssize_t run_connect(struct act *a) {
    struct listener *l = a->object;
    return fin_connect(a->fd, (struct sockaddr *)&l->address, l->size);
}

static int run_connect_on(struct act *a) {
    struct listener *l = a->object;
    return fin_connect_on(&a->more_on, a->fd, (struct sockaddr *)&l->address, l->size, REST);
}

static bool try_to_connect(struct act *a) {
    struct listener *l = a->object;
    bool anything = attempt(a);
    if (!anything && !l->is_unix)
        l->cancelled = true; // its peer may have seen it all the same
    return anything;
}

static void is_client(void *listener) {
    struct listener *l = listener;
    struct act *a = new_act("connect", l);
    uint32_t id = l->clients++, reply = 0;
    a->fd = socket(l->is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | (chance(2) ? SOCK_NONBLOCK : 0), 0);
    a->run = run_connect;
    a->run_on = run_connect_on;
    HOLDS(id < CLIENTS && a->fd >= 0);
    if (chance(2))
        pause_here();
    while (!try_to_connect(a)) {
    }
    HOLDS_OF(a, a->result == 0);
    a->name = "client";
    a->waits = true;
    HOLDS_OF(a, fin_send_nc(a->fd, &id, sizeof id, 0) == sizeof id);
    HOLDS_OF(a, fin_recv_all_nc(a->fd, &reply, sizeof reply, 0, NULL) == 0 && reply == ~id);
    a->waits = false;
    fin_close_nc(a->fd);
}

struct service {
    struct listener *listener;
    int fd;
};

static void serves(void *service) {
    struct service *s = service;
    uint32_t id, reply;
    size_t done;
    int r = fin_recv_all_nc(s->fd, &id, sizeof id, 0, &done);
    if (r == 0) {
        HOLDS(id < s->listener->clients && s->listener->seen[id]++ == 0);
        fin_event_advance(&s->listener->served, 1);
        reply = ~id;
        HOLDS(fin_send_nc(s->fd, &reply, sizeof reply, 0) == sizeof reply);
        HOLDS(fin_recv_nc(s->fd, &reply, 1, 0) == 0);
    } else {
        HOLDS(s->listener->cancelled && done == 0 && (r == -ENODATA || r == -ECONNRESET));
    }
    HOLDS((chance(2) ? fin_close_nc(s->fd) : close(s->fd)) == 0);
    free(s);
}

static ssize_t run_accept(struct act *a) {
    struct listener *l = a->object;
    if (a->how == 0)
        return fin_acceptor_next(l->acceptors[own.number]);
    return fin_accept4(l->fd, NULL, NULL, l->flags);
}

static int run_accept_on(struct act *a) {
    struct listener *l = a->object;
    if (a->how == 0)
        return fin_acceptor_next_on(l->acceptors[own.number], &a->on, REST);
    return fin_accept_on(&a->on, l->fd, l->flags, REST);
}

// Whoever takes from an acceptor goes on doing so, or another does: it may have accepted what nobody has asked for.
static void rest_from(struct listener *l, int *ready) {
    if (--*ready > 0)
        fin_event_await_nc(&l->served, l->clients);
    ++*ready;
}

static void accepts(void *listener) {
    struct listener *l = listener;
    struct act *a = new_act("accept", l);
    a->serves = true;
    a->how = chance(3) == 0;
    a->run = run_accept;
    a->run_on = run_accept_on;
    a->fd = l->fd;
    l->ready[own.number][a->how]++;
    if (a->how == 0 && !l->acceptors[own.number])
        HOLDS(fin_acceptor_open(&l->acceptors[own.number], l->fd, l->flags) == 0);
    fin_finish {
        while (!over) {
            if (attempt(a) && !(a->result == -ECONNABORTED && l->cancelled)) {
                HOLDS_OF(a, a->result >= 0);
                struct service *s = malloc(sizeof *s);
                *s = (struct service){l, (int)a->result};
                fin_async_eager_call(serves, s);
            }
            if (chance(3) == 0) // also after a cancelled attempt
                rest_from(l, &l->ready[own.number][a->how]);
        }
    }
}

// By each thread that has some.
static void close_acceptors(void) {
    for (struct listener *l = listeners; l < listeners + LISTENERS; l++) {
        struct fin_acceptor *a = l->acceptors[own.number];
        int n = a ? fin_acceptor_close(a) : 0;
        HOLDS(n == 0 || (n > 0 && l->cancelled));
    }
}

static void close_listener(struct listener *l) {
    for (unsigned i = 0; i < l->clients; i++)
        HOLDS(l->seen[i] == 1);
    close(l->fd);
}

// Nobody takes it: cancelled, it is as new.
static void connects_twice(void *unused) {
    struct full_listener full;
    struct listener l = {.size = sizeof l.address.in};
    struct act *a = new_act("connect twice", &l);
    (void)unused;
    listen_and_fill(&full);
    l.address.in = full.address;
    a->run = run_connect;
    a->run_on = run_connect_on;
    a->fd = socket(AF_INET, SOCK_STREAM | (chance(2) ? SOCK_NONBLOCK : 0), 0);
    fin_finish {
        START(a);
        pause_here();
        fin_cancel();
    }
    HOLDS_OF(a, a->result == -ECANCELED);
    l.fd = tcp_listen(&l.address.in, 1);
    attempt_calmly(a);
    HOLDS_OF(a, a->result == 0);
    int peer = accept(l.fd, NULL, NULL);
    HOLDS(peer >= 0 && send(a->fd, "x", 1, 0) == 1 && recv(peer, a->data, 1, 0) == 1);
    HOLDS(close(peer) == 0 && close(a->fd) == 0 && close(l.fd) == 0);
    close_filled(&full);
}

// ---- children

#define SHELL(script) {.path = "/bin/sh", .argv = (const char *const[]){"sh", "-c", script, NULL}}

static ssize_t run_wait(struct act *a) { return fin_wait(a->object, &a->status); }
static int run_wait_on(struct act *a) { return fin_wait_on(a->object, &a->status, &a->more_on, REST); }

static struct act *waits_for(struct fin_process *p) {
    struct act *a = new_act("wait", p);
    a->run = run_wait;
    a->run_on = run_wait_on;
    while (!attempt(a)) {
    }
    HOLDS_OF(a, a->result == 0);
    return a;
}

static void writes_line(void *fd) {
    pause_here();
    HOLDS(fin_write_nc(*(int *)fd, "\n", 1) == 1);
}

static void kills(void *process) {
    pause_here();
    HOLDS(fin_kill(process, SIGKILL) == 0);
}

// One that ends when it has read a line; or is abandoned, and tells its end by that of its standard output.
static void has_reader(bool abandoned) {
    struct fin_process p;
    int in[2], out[2];
    char c;
    CHECK_EQ(pipe2(in, O_CLOEXEC), 0);
    CHECK_EQ(pipe2(out, O_CLOEXEC), 0);
    struct fin_spawn_fd fds[] = {{0, in[0]}, {1, out[1]}};
    struct fin_spawn how = SHELL("read x; exit 9");
    how.fds = fds;
    how.fd_count = 2;
    HOLDS(fin_spawn_nc(&p, &how) == 0);
    close(in[0]);
    close(out[1]);
    fin_finish {
        fin_async_call(writes_line, &in[1]);
        if (abandoned)
            HOLDS(fin_abandon(&p) == 0);
        else
            HOLDS(WEXITSTATUS(waits_for(&p)->status) == 9);
        HOLDS(fin_read_nc(out[0], &c, 1) == 0);
    }
    close(in[1]);
    close(out[0]);
}

static void has_killed(void) {
    struct fin_process p;
    struct fin_spawn how = SHELL("exec sleep 1000");
    HOLDS(fin_spawn_nc(&p, &how) == 0);
    fin_finish {
        fin_async_call(kills, &p);
        HOLDS(WTERMSIG(waits_for(&p)->status) == SIGKILL);
    }
}

static ssize_t run_cat(struct act *a) {
    struct fin_spawn how = {.path = "cat", .argv = (const char *const[]){"cat", NULL}};
    a->counts = true;
    return fin_run(&how, pattern, a->size, a->data, MOST, &a->status);
}

static void has_run(void) {
    struct act *a = new_act("run", NULL);
    a->run = run_cat;
    a->run_on = NULL;
    a->size = 1 + chance(MOST);
    while (!attempt(a)) {
    }
    HOLDS_OF(a, a->result == (ssize_t)a->size && a->status == 0 && memcmp(a->data, pattern, a->size) == 0);
}

static void has_child(void *unused) {
    (void)unused;
    switch (chance(4)) {
    case 0: has_reader(false); break;
    case 1: has_reader(true); break;
    case 2: has_killed(); break;
    default: has_run();
    }
}

// ---- the pool, and time

static void works(void *act) {
    struct act *a = act;
    if (a->how)
        usleep(a->how);
    a->status++;
}

static ssize_t run_work(struct act *a) { return fin_offload(works, a); }
static int run_work_on(struct act *a) { return fin_offload_on(&a->on, works, a, REST); }

static void has_work(void *unused) {
    struct act *a = new_act("work", NULL);
    (void)unused;
    a->how = chance(2) * chance(500);
    a->run = run_work;
    a->run_on = run_work_on;
    while (!attempt(a))
        HOLDS_OF(a, a->status == 0);
    HOLDS_OF(a, a->status == 1 && a->result == 0);
}

static ssize_t run_sleep(struct act *a) { return fin_sleep_until(a->due); }
static int run_sleep_on(struct act *a) { return fin_sleep_until_on(&a->on, a->due, REST); }

static void sleeps(void *unused) {
    struct act *a = new_act("sleep", NULL);
    (void)unused;
    a->run = run_sleep;
    a->run_on = run_sleep_on;
    a->due = fin_now() + some_time();
    while (!attempt(a)) {
    }
    HOLDS_OF(a, a->result == 0 && fin_now() >= a->due);
}

// Cancelled long before their time.
static ssize_t run_long(struct act *a) { return a->how ? fin_sleep(1000 * FIN_S) : fin_sleep_until(a->due); }

static int run_long_on(struct act *a) {
    if (a->how)
        return fin_send_at_on(&a->on, a->due, a->fd, a->data, 1, 0, REST);
    return fin_sleep_until_on(&a->on, a->due, REST);
}

static void sleeps_long(void *unused) {
    struct act *a = new_act("long sleep", NULL);
    int fd[2];
    (void)unused;
    stream_pair(fd);
    a->run = run_long;
    a->run_on = run_long_on;
    a->fd = fd[0];
    a->how = chance(2);
    a->due = fin_now() + 1000 * FIN_S;
    fin_timeout(some_time()) {
        START(a);
    }
    HOLDS_OF(a, a->result == -ECANCELED && recv(fd[1], a->data, 1, MSG_DONTWAIT) < 0);
    close(fd[0]);
    close(fd[1]);
}

#endif
