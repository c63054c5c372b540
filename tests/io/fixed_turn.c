// SPDX-License-Identifier: BSD-2-Clause
// A call on a registered number gives others a turn, who unregister it, close its file, and open another in its place: the
// call does not go on with that one.
#include <fin/fixed.h>

#include "net.h"

enum { MANY = 200 }; // of so many calls at least one gives a turn

static int fd[2], other[2], file;

static void replaces(void *unused) {
    (void)unused;
    fin_yield(); // the first call has begun
    int number = fd[0];
    CHECK_EQ(fin_file_unregister(file), 0);
    CHECK_EQ(fin_close_nc(number), 0);
    stream_pair(other);
    CHECK(other[0] == number || other[1] == number);
    CHECK_EQ(send(other[other[0] == number], "bad", 3, 0), 3);
}

int main(void) {
    static char good[MANY];
    char c = 0;
    ssize_t n = 1;
    memset(good, 'g', sizeof good);
    stream_pair(fd);
    CHECK_EQ(send(fd[1], good, MANY, 0), MANY);
    file = fin_file_register(fd[0]);
    CHECK(file > 0);
    fin_finish {
        fin_async_call(replaces, NULL);
        for (int i = 0; i < MANY && n == 1; i++) {
            n = fin_recv(file, &c, 1, 0);
            CHECK(n == -EBADF || c == 'g');
        }
    }
    CHECK_EQ(n, -EBADF);
    return 0;
}
