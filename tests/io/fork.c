// SPDX-License-Identifier: BSD-2-Clause
// A child of fork does I/O of its own, and its parent's goes on undisturbed, though some was in flight at the fork.
#include <pthread.h>
#include <sys/wait.h>

#include "net.h"

static int up[2], down[2];

static int child(void) {
    char c;
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    CHECK_EQ(fin_recv(down[0], &c, 1, 0), 1);
    c++;
    CHECK_EQ(fin_send(up[1], &c, 1, 0), 1);
    return c;
}

static void *in_thread(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(1), 0);
    return NULL;
}

int main(void) {
    static char c;
    stream_pair(up);
    stream_pair(down);
    fin_finish {
        fin_async { CHECK_EQ(fin_recv(up[0], &c, 1, 0), 1); };
        CHECK_EQ(fin_sleep(1), 0);
        pid_t pid = fork();
        if (pid == 0)
            _exit(child());
        CHECK_EQ(fin_send(down[1], "m", 1, 0), 1);
        int status;
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 'n');
    }
    CHECK_EQ(c, 'n');
    fin_timeout(3600 * FIN_S) { // the child leaves a block whose timer is its parent's
        pid_t pid = fork();
        if (pid != 0) {
            int status;
            CHECK_EQ(waitpid(pid, &status, 0), pid);
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        } else {
            CHECK_EQ(fin_sleep(1), 0);
            c = 'c';
        }
    }
    if (c == 'c')
        _exit(7);
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, in_thread, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    return 0;
}
