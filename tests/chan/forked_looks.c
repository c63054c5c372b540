// SPDX-License-Identifier: BSD-2-Clause
// In the child of a fork an end between processes has no sockets any more. Whatever the child does with it, the parent's
// goes on as if there were no child.
#include "chan.h"

enum { MESSAGES = 100 };

static void answers(void *unused) {
    struct fin_chan *c;
    unsigned word;
    (void)unused;
    if (fin_chan_take(&c, sockets[1], 0) != 0)
        return;
    while (fin_chan_recv(c, &word, sizeof word) == sizeof word && fin_chan_send(c, &word, sizeof word) == 0) {
    }
}

static void uses(void *how) {
    unsigned word;
    int n = *(int *)how == 0 ? (int)fin_chan_recv(a, &word, sizeof word) : -EAGAIN;
    while (n == -EAGAIN)
        n = (int)fin_chan_try_recv(a, &word, sizeof word);
    CHECK(n < 0);
}

static void one(int how) {
    int status, pid = child(answers, NULL);
    CHECK_EQ(fin_chan_offer(&a, sockets[0], NULL), 0);
    for (unsigned i = 0; i < MESSAGES; i++) {
        unsigned word;
        CHECK_EQ(fin_chan_send(a, &i, sizeof i), 0);
        CHECK_EQ(fin_chan_recv(a, &word, sizeof word), sizeof word);
        CHECK_EQ(word, i);
        if (i != MESSAGES / 2)
            continue;
        pid_t forked = fork();
        if (forked == 0) {
            alarm(20);
            uses(&how);
            _exit(0);
        }
        CHECK_EQ(waitpid(forked, &status, 0), forked);
        CHECK_EQ(status, 0);
    }
    CHECK_EQ(fin_chan_close(a), 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

int main(void) {
    skip_without_forks_of_threads();
    for (int how = 0; how < 2; how++)
        one(how);
    return 0;
}
