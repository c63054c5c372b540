// SPDX-License-Identifier: BSD-2-Clause
// Child processes awaited with continuations: each ends with its own status, many at a time, without a stack. One waits for
// a process at a time; one that somebody else reaped has ended all the same.
#include "child.h"

enum { CHILDREN = 12 };

struct child {
    struct fin_more_on on;
    struct fin_process own, *p;
    int status, result;
    bool nc;
};

static struct child all[CHILDREN];
static int ended;

static int start_own(struct child *c, const char *script) {
    c->p = &c->own;
    return start_shell(c->p, script);
}

static void over(void *state, int result) {
    struct child *c = *(struct child **)state;
    c->result = result;
    ended++;
    fin_cont_end();
}

static void begin(void *state, int unused) {
    struct child *c = *(struct child **)state;
    (void)unused;
    if (c->nc)
        fin_wait_on_nc(c->p, &c->status, &c->on, over, &c, sizeof c);
    else
        fin_wait_on(c->p, &c->status, &c->on, over, &c, sizeof c);
    CHECK(false);
}

static void many(void) {
    struct fin_stats s;
    CHECK_EQ(fin_sleep(1), 0); // the thread has what it waits with
    int before = open_descriptors();
    for (int i = 0; i < CHILDREN; i++) {
        char script[64];
        snprintf(script, sizeof script, i % 2 ? "exit %d" : "sleep 0.0%d; exit %d", i % 2 ? i : 9 - i % 9, i);
        CHECK_EQ(start_own(&all[i], script), 0);
    }
    ended = 0;
    fin_finish {
        for (int i = 0; i < CHILDREN; i++) {
            struct child *c = &all[i];
            c->result = 1;
            CHECK(fin_async_cont(begin, &c, sizeof c) != NULL);
        }
        fin_yield();
        fin_stats(&s);
        CHECK_EQ(s.stacks_used, 1);
    }
    CHECK_EQ(ended, CHILDREN);
    for (int i = 0; i < CHILDREN; i++) {
        CHECK_EQ(all[i].result, 0);
        CHECK(WIFEXITED(all[i].status));
        CHECK_EQ(WEXITSTATUS(all[i].status), i);
        CHECK_EQ(all[i].own.fd, -1);
        CHECK_EQ(fin_wait(&all[i].own, NULL), -ECHILD);
    }
    CHECK_EQ(open_descriptors(), before);
    no_child_left();
}

// The second is told that another waits; with the first's end the handle is free again.
static void two_for_one(void) {
    static struct child second;
    struct child *c = &all[0], *d = &second;
    CHECK_EQ(start_own(c, "exec sleep 1000"), 0);
    fin_finish {
        CHECK(fin_async_cont(begin, &c, sizeof c) != NULL);
        fin_yield();
        CHECK_EQ(fin_wait(c->p, NULL), -EBUSY);
        fin_finish {
            d->p = c->p;
            CHECK(fin_async_cont(begin, &d, sizeof d) != NULL);
        }
        CHECK_EQ(d->result, -EBUSY);
        fin_cancel();
    }
    CHECK_EQ(c->result, -ECANCELED);
    CHECK_EQ(fin_kill(c->p, SIGTERM), 0); // nobody has reaped it
    fin_finish {
        CHECK(fin_async_cont(begin, &d, sizeof d) != NULL);
    }
    CHECK_EQ(d->result, 0);
    CHECK_EQ(WTERMSIG(d->status), SIGTERM);
    no_child_left();
}

// In a block that is cancelled, before it begins or while it waits, it waits until the child ends.
static void not_cancelled(bool before) {
    struct child *c = &all[3];
    struct fin_stats s;
    c->nc = true;
    c->result = 1;
    CHECK_EQ(start_own(c, "exec sleep 1000"), 0);
    fin_finish {
        if (before)
            fin_cancel();
        CHECK(fin_async_cont(begin, &c, sizeof c) != NULL);
        CHECK_EQ(fin_sleep_nc(FIN_MS), 0);
        fin_stats(&s);
        CHECK_EQ(s.stacks_used, 1);
        fin_cancel();
        CHECK_EQ(fin_sleep_nc(5 * FIN_MS), 0);
        CHECK_EQ(c->result, 1);
        CHECK_EQ(fin_wait(c->p, NULL), -EBUSY);
        CHECK_EQ(fin_kill(c->p, SIGTERM), 0);
    }
    CHECK_EQ(c->result, 0);
    CHECK_EQ(WTERMSIG(c->status), SIGTERM);
    c->nc = false;
    no_child_left();
}

static void reaped_by_others(void) {
    struct child *c = &all[1];
    int before = open_descriptors(), status;
    CHECK_EQ(start_own(c, "exit 3"), 0);
    CHECK_EQ(waitpid(c->p->pid, &status, 0), c->p->pid);
    fin_finish {
        CHECK(fin_async_cont(begin, &c, sizeof c) != NULL);
    }
    CHECK_EQ(c->result, -ECHILD);
    CHECK_EQ(c->p->fd, -1);
    fin_finish {
        CHECK(fin_async_cont(begin, &c, sizeof c) != NULL);
    }
    CHECK_EQ(c->result, -ECHILD);
    CHECK_EQ(open_descriptors(), before);
    CHECK_EQ(fin_wait(c->p, NULL), -ECHILD); // nobody waits for it
}

// What is no child's stays the caller's.
static void no_child(void) {
    struct child *c = &all[1];
    int fd = open("/dev/null", O_RDONLY);
    c->own = (struct fin_process){.fd = fd};
    for (int i = 0; i < 2; i++) {
        fin_finish {
            CHECK(fin_async_cont(begin, &c, sizeof c) != NULL);
        }
        CHECK(c->result < 0 && c->result != -EBUSY && c->result != -ECHILD);
        CHECK_EQ(c->own.fd, fd);
    }
    close(fd);
}

static void never(void *state, int result) {
    (void)state, (void)result;
    CHECK(false);
}

static void refused(void *state, int unused) {
    struct child *c = *(struct child **)state;
    char much[FIN_CONT_STATE + 1] = "";
    (void)unused;
    CHECK_EQ(fin_wait_on(c->p, NULL, &c->on, never, much, sizeof much), -E2BIG);
    CHECK_EQ(fin_wait_on(c->p, NULL, &c->on, NULL, NULL, 0), -EINVAL);
    CHECK_EQ(fin_wait_on_nc(c->p, NULL, &c->on, never, much, sizeof much), -E2BIG);
    CHECK_EQ(fin_wait_on_nc(c->p, NULL, &c->on, NULL, NULL, 0), -EINVAL);
    fin_finish {
        CHECK_EQ(fin_wait_on(c->p, NULL, &c->on, never, NULL, 0), -EBUSY);
    }
    fin_wait_on(c->p, NULL, &c->on, over, &c, sizeof c); // what has been refused has claimed nothing
}

int main(void) {
    struct child *c = &all[2];
    many();
    two_for_one();
    not_cancelled(false);
    not_cancelled(true);
    reaped_by_others();
    no_child();
    CHECK_EQ(start_own(c, "exit 0"), 0);
    CHECK_EQ(fin_wait_on(c->p, NULL, &c->on, never, NULL, 0), -EINVAL); // not an AWE that could
    fin_finish {
        CHECK(fin_async_cont(refused, &c, sizeof c) != NULL);
    }
    CHECK_EQ(c->result, 0);
    no_child_left();
    return 0;
}
