// SPDX-License-Identifier: BSD-2-Clause
// fin_timeout and fin_deadline: what is late is cancelled, what is in time ends the block at once; break, return and goto
// leave it as they leave any finish block; nested ones each have their own time.
#include "net.h"

#define FOREVER (3600 * FIN_S)

static int fd[2];
static char c;

static void late(void) {
    fin_shared int n = 1, m = 1;
    uint64_t start = fin_now();
    fin_timeout(5 * FIN_MS) {
        fin_async { n = (int)fin_recv(fd[0], &c, 1, 0); };
        m = fin_sleep(FOREVER);
        CHECK(fin_cancelled());
    }
    CHECK(fin_timed_out());
    CHECK(fin_now() - start >= 5 * FIN_MS);
    CHECK_EQ(n, -ECANCELED);
    CHECK_EQ(m, -ECANCELED);
    CHECK(!fin_cancelled());
}

// An hour is not waited for.
static void in_time(void) {
    fin_shared int n = 0;
    fin_timeout(FOREVER) {
        fin_async { n = (int)fin_recv(fd[0], &c, 1, 0); };
        CHECK_EQ(fin_sleep(1), 0);
        CHECK_EQ(write(fd[1], "x", 1), 1);
    }
    CHECK(!fin_timed_out());
    CHECK_EQ(n, 1);
    fin_timeout(FOREVER) {
    }
    CHECK(!fin_timed_out());
}

static void at_once(void) {
    int n = 1;
    CHECK_EQ(write(fd[1], "x", 1), 1);
    fin_timeout(0) {
        n = (int)fin_recv(fd[0], &c, 1, 0);
    }
    CHECK(fin_timed_out());
    CHECK_EQ(n, -ECANCELED);
    CHECK_EQ(fin_recv(fd[0], &c, 1, 0), 1);
}

static void note_end(void *ended) {
    CHECK_EQ(fin_sleep(FOREVER), -ECANCELED);
    ++*(int *)ended;
}

static int leave_by_return(int *ended) {
    fin_timeout(FIN_MS) {
        fin_async_call(note_end, ended);
        return 7;
    }
    return 8;
}

static void left_early(void) {
    int ended = 0, passed = 0;
    CHECK_EQ(leave_by_return(&ended), 7);
    CHECK_EQ(ended, 1);
    CHECK(fin_timed_out());
    for (int i = 0; i < 3; i++) {
        fin_timeout(FIN_MS) {
            fin_async_call(note_end, &ended);
            if (i == 1)
                break;
            passed++;
        }
        CHECK_EQ(ended, i + 2);
    }
    CHECK_EQ(passed, 2);
    fin_timeout(FIN_MS) {
        fin_async_call(note_end, &ended);
        goto out;
    }
    CHECK(false);
out:
    CHECK_EQ(ended, 5);
}

static void nested(void) {
    fin_shared int inner = 1, between = 1;
    fin_timeout(FOREVER) {
        fin_timeout(FIN_MS) {
            inner = fin_sleep(FOREVER);
        }
        CHECK(fin_timed_out());
        CHECK(!fin_cancelled());
        between = fin_sleep(1);
    }
    CHECK(!fin_timed_out());
    CHECK_EQ(inner, -ECANCELED);
    CHECK_EQ(between, 0);
    bool inner_late = true;
    fin_timeout(FIN_MS) {
        fin_timeout(FOREVER) {
            inner = fin_sleep(FOREVER);
        }
        inner_late = fin_timed_out();
        CHECK(fin_cancelled());
        between = fin_sleep(1);
    }
    CHECK(fin_timed_out());
    CHECK(!inner_late);
    CHECK_EQ(inner, -ECANCELED);
    CHECK_EQ(between, -ECANCELED);
}

static void shielded(void) {
    fin_shared int n = 1, m = 1;
    fin_timeout(FIN_MS) {
        fin_finish_nc {
            n = fin_sleep(20 * FIN_MS);
        }
        m = fin_sleep_nc(FIN_MS);
    }
    CHECK(fin_timed_out());
    CHECK_EQ(n, 0);
    CHECK_EQ(m, 0);
}

// The block that its program cancels has not timed out.
static void cancelled(void) {
    int n = 1;
    fin_timeout(FOREVER) {
        fin_cancel();
        n = fin_sleep(FOREVER);
    }
    CHECK(!fin_timed_out());
    CHECK_EQ(n, -ECANCELED);
}

static void deadlines(void) {
    fin_shared int n = 1, m = 1;
    uint64_t when = fin_now() + 3 * FIN_MS;
    for (int i = 0; i < 3; i++) {
        n = m = 1;
        fin_deadline(when) { // late from the second time on
            fin_async { n = (int)fin_recv(fd[0], &c, 1, 0); };
            m = fin_sleep(FOREVER);
        }
        CHECK(fin_timed_out());
        CHECK(fin_now() >= when);
        CHECK_EQ(n, -ECANCELED);
        CHECK_EQ(m, -ECANCELED);
    }
    fin_deadline(UINT64_MAX) {
        n = fin_sleep(1);
    }
    CHECK(!fin_timed_out());
    CHECK_EQ(n, 0);
}

int main(void) {
    stream_pair(fd);
    for (int i = 0; i < 3; i++) {
        late();
        in_time();
        at_once();
        left_early();
        nested();
        shielded();
        cancelled();
        deadlines();
    }
    return 0;
}
