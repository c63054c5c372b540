// SPDX-License-Identifier: BSD-2-Clause
// For outside_random.c: child processes.
#ifndef FIN_TESTS_IO_OUTSIDE_CHILDREN_H
#define FIN_TESTS_IO_OUTSIDE_CHILDREN_H

#include <fcntl.h>

#include "outside_random.h"

enum { CHILDREN = 4 };

// 'e' ends at once; 'l' when it has read a line; 'k' by a signal; 's' is stopped and goes on before that line; 'a' is
// abandoned; 'o': somebody else reaps it
struct child {
    struct fin_process process;
    char kind;
    int line[2], out[2];
    _Atomic int status; // that it is to have
    struct fin_event begun, over;
    _Atomic int told;
    struct heard heard; // SIGCHLD, before it was to end
};

static void spawn_in_vain(struct fin_spawn how) {
    struct fin_process p;
    const struct fin_spawn_fd nothing = {5, 1000000};
    int r = 0, expected = -ENOENT;
    switch (chance(4)) {
    case 0: how.path = "/nowhere/nothing"; break;
    case 1: how.directory = "/nowhere"; break;
    case 2:
        how.fds = &nothing;
        how.fd_count = 1;
        expected = -EBADF;
        break;
    default: expected = -ECANCELED;
    }
    fin_finish {
        if (expected == -ECANCELED)
            fin_cancel();
        r = fin_spawn(&p, &how);
    }
    HOLDS(r == expected && fin_wait_nc(&p, NULL) == -ECHILD && fin_kill(&p, 0) == -ESRCH);
}

static void spawns(void *child) {
    struct child *c = child;
    char script[40];
    int code = (int)chance(200);
    snprintf(script, sizeof script, "%sexit %d", c->kind == 'e' || c->kind == 'o' ? "" : "read x; ", code);
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct fin_spawn_fd fds[] = {{0, c->line[0]}, {1, c->out[1]}};
    struct fin_spawn how = {.path = "/bin/sh", .argv = argv, .fds = fds, .fd_count = 2};
    how.flags = chance(3) == 0 ? FIN_SPAWN_GROUP : chance(3) == 0 ? FIN_SPAWN_SESSION : 0;
    c->status = code << 8;
    if (chance(3) == 0)
        spawn_in_vain(how);
    c->heard = heard_before(2);
    HOLDS((chance(2) ? fin_spawn(&c->process, &how) : fin_spawn_nc(&c->process, &how)) == 0);
    close(c->line[0]);
    close(c->out[1]);
    fin_event_advance(&c->begun, 1);
}

static int some_signal(void) {
    static const int signals[] = {SIGKILL, SIGTERM, SIGHUP, SIGUSR1, SIGALRM};
    return signals[chance(sizeof signals / sizeof *signals)];
}

static void write_line(struct child *c) { HOLDS(fin_write_nc(c->line[1], "\n", 1) == 1); }

static void abandon(struct child *c) {
    char byte;
    HOLDS(fin_abandon(&c->process) == 0 && fin_abandon(&c->process) == 0);
    write_line(c);
    HOLDS(fin_read_nc(c->out[0], &byte, 1) == 0); // its end
    HOLDS(fin_wait_nc(&c->process, NULL) == -ECHILD);
}

static void reaps_instead(void *child) {
    struct child *c = child;
    siginfo_t i;
    int r = waitid(P_PID, (id_t)c->process.pid, &i, WEXITED);
    HOLDS(r == 0 ? i.si_status == c->status >> 8 : errno == ECHILD);
    c->told += r == 0;
}

// Another may ask at the moment.
static void looks_at_rest(struct child *c) {
    int r;
    while ((r = fin_wait_nc(&c->process, NULL)) == -EBUSY)
        fin_yield();
    HOLDS(r == -ECHILD);
    while ((r = fin_abandon(&c->process)) == -EBUSY)
        fin_yield();
    HOLDS(r == 0);
}

static void is_ended(void *child) {
    struct child *c = child;
    fin_event_await_nc(&c->begun, 1);
    rest_here();
    if (c->kind != 'e' && c->kind != 'o') // else it may have ended
        c->heard = heard_before(2);
    switch (c->kind) {
    case 's':
        HOLDS(fin_kill(&c->process, SIGSTOP) == 0);
        rest_here();
        HOLDS(fin_kill(&c->process, SIGCONT) == 0);
        write_line(c);
        break;
    case 'l':
        HOLDS(fin_kill(&c->process, 0) == 0);
        write_line(c);
        break;
    case 'k':
        HOLDS(fin_kill(&c->process, c->status = some_signal()) == 0);
        break;
    case 'o': HOLDS(fin_offload_nc(reaps_instead, c) == 0); break;
    case 'a': abandon(c); break;
    }
    if (c->kind != 'a' && c->kind != 'o')
        fin_event_await_nc(&c->over, 1);
    if (with_signals)
        await_heard(2, c->heard);
    if (c->kind != 'o') // of that the waits use up the handle
        looks_at_rest(c);
    close(c->line[1]);
    close(c->out[0]);
}

static ssize_t run_wait(struct act *a) {
    struct child *c = a->object;
    a->status = -1;
    a->value = a->how == 3 && !a->cancels; // it does not ask
    if (a->how % 2 && !a->cancels)
        return fin_wait_nc(&c->process, a->value ? NULL : &a->status);
    return fin_wait(&c->process, &a->status);
}

static int run_wait_on(struct act *a) {
    struct child *c = a->object;
    a->status = -1;
    a->value = 0;
    return fin_wait_on(&c->process, &a->status, &a->more_on, REST);
}

// Several wait for each: one of them is told, the others hear that somebody waits, or that it is over.
static void waits_for(void *child) {
    struct child *c = child;
    struct act *a = new_act("wait", c);
    a->run = run_wait;
    a->run_on = run_wait_on;
    a->shared = true;
    fin_event_await_nc(&c->begun, 1);
    for (bool over = false; !over;) {
        rest_here();
        a->how = chance(4);
        if (!try_act(a))
            continue;
        over = a->result != -EBUSY;
        if (a->result == 0) {
            HOLDS_OF(a, a->value || a->status == c->status);
            HOLDS_OF(a, c->told++ == 0);
            fin_event_advance(&c->over, 1);
        } else if (a->result == -EBUSY && calm[burst_now] && c->kind != 'o') {
            fin_event_await_nc(&c->over, 1); // who waits is not cancelled
        } else {
            HOLDS_OF(a, a->result == -EBUSY || a->result == -ECHILD);
            fin_yield();
        }
    }
}

static ssize_t run_cat(struct act *a) {
    struct fin_spawn how = {.path = "cat", .argv = (const char *const[]){"cat", NULL}};
    a->counts = true;
    return fin_run(&how, a->data, a->size, a->v[0].iov_base, MOST, &a->status);
}

static void has_run(void *unused) {
    struct act *a = new_act("run", NULL);
    (void)unused;
    a->run = run_cat;
    a->size = 1 + chance(MOST);
    a->v[0].iov_base = malloc(MOST);
    number_bytes(a->data, a->size, 3);
    a->status = -1;
    while (!try_act(a)) {
    }
    HOLDS_OF(a, a->result == (ssize_t)a->size && a->status == 0);
    check_numbers(a->v[0].iov_base, a->size, 3);
    free(a->v[0].iov_base);
}

// One that would go on for long, and is killed where nobody waits for it any more; while somebody does, others may not.
static void waits_alone(void *process) { HOLDS(fin_wait(process, NULL) == 0); }

static void has_long(void *unused) {
    static const char *const argv[] = {"sleep", "1000", NULL};
    const struct fin_spawn how = {.path = "sleep", .argv = argv};
    struct fin_process p;
    fin_shared char output;
    (void)unused;
    HOLDS(fin_spawn_nc(&p, &how) == 0);
    fin_finish {
        fin_async_call(waits_alone, &p);
        rest_here();
        HOLDS(fin_abandon(&p) == -EBUSY && fin_wait(&p, NULL) == -EBUSY && fin_kill(&p, SIGKILL) == 0);
    }
    fin_finish {
        fin_async {
            ssize_t n = fin_run(&how, NULL, 0, &output, 1, NULL);
            HOLDS(n == -ECANCELED);
        };
        rest_here();
        fin_cancel();
    }
}

#endif
