// SPDX-License-Identifier: BSD-2-Clause
// A record that cannot be sent for now, in a thread that gets no descriptors to wait with, has been taken all the same: it
// is sent later, once. With a stack and without, and by a writer.
#include <pthread.h>
#include <sys/resource.h>

#include "pair.h"

enum { SIZE = 16000 }; // of one record: more than fits into a socket with as little room as Linux gives one

static struct pair p;
static char data[SIZE], space[2 * SIZE];
static struct fin_writer w;
static struct fin_more_on on;
static ssize_t result;

static void over(void *unused, int n) {
    (void)unused;
    result = n;
    fin_cont_end();
}

static void writes_on(void *unused, int n) {
    (void)unused, (void)n;
    result = fin_tls_write_on(p.server, data, SIZE, &on, over, NULL, 0);
    fin_cont_end(); // refused: nothing has happened
}

static void *writes(void *way) {
    struct rlimit before, few;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){3, before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    switch ((int)(intptr_t)way) {
    case 0: result = fin_tls_write(p.server, data, SIZE); break;
    case 1:
        fin_finish {
            CHECK(fin_async_cont(writes_on, NULL, 0) != NULL);
        }
        break;
    default: result = fin_writer_flush(&w);
    }
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    return NULL;
}

static FIN_BLOCKING void one(int way) {
    static char got[1000];
    int none = 0;
    size_t begins = 0, ends = 0, total = 0;
    pthread_t t;
    pair_open(&p, true, 0);
    pair_connect(&p);
    CHECK_EQ(setsockopt(p.fd[1], SOL_SOCKET, SO_SNDBUF, &none, sizeof none), 0);
    CHECK_EQ(fin_tls_writer_init(&w, p.server, space, sizeof space), 0);
    CHECK_EQ(fin_writer_write(&w, data, SIZE, NULL), 0);
    CHECK_EQ(pthread_create(&t, NULL, writes, (void *)(intptr_t)way), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    CHECK(result == SIZE || (result < 0 && way > 0));
    bool again = way == 1 && result < 0; // it could not even begin
    fin_finish {
        fin_async {
            if (again)
                CHECK_EQ(fin_tls_write(p.server, data, SIZE), SIZE);
            CHECK_EQ(way == 2 ? fin_writer_flush(&w) : fin_tls_flush(p.server), 0);
            CHECK_EQ(fin_tls_shutdown(p.server), 0);
        };
        for (ssize_t n; (n = fin_tls_read(p.client, got, sizeof got)) > 0; total += (size_t)n) {
            for (ssize_t i = 0; i < n; i++) {
                begins += got[i] == '<';
                ends += got[i] == '>';
            }
        }
    }
    CHECK_EQ(begins, 1);
    CHECK_EQ(ends, 1);
    CHECK_EQ(total, SIZE);
    pair_close(&p);
}

int main(void) {
    memset(data, 'x', sizeof data);
    data[0] = '<';
    data[SIZE - 1] = '>';
    for (int way = 0; way < 3; way++)
        one(way);
    return 0;
}
