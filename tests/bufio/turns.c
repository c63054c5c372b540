// SPDX-License-Identifier: BSD-2-Clause
// Who writes to one writer, of several threads, takes turns: what a call writes lies together, the calls of an AWE are in
// order, and nobody's is lost who did not hear of it, though many are cancelled.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fin.h>
#include <fin/thread.h>

#include "check.h"
#include "process.h"

enum { THREADS = 3, AWES = 4 };

static unsigned calls = 2000;
static char space[64], before[64];
static struct fin_writer w;
static unsigned heard[THREADS][AWES]; // how far the reader has come
static unsigned sent[THREADS][AWES], received[THREADS][AWES];

// A line that says who writes it and the how manieth it is, in a length of its own.
static FIN_BLOCKING void write_line(unsigned thread, unsigned awe, unsigned number) {
    static const char dots[] = "........................................................";
    fin_shared int n = 0;
    fin_finish {
        fin_async { n = fin_writer_printf(&w, "%u %u %u %.*s\n", thread, awe, number, (int)(number % 40), dots); };
        if (number % 8 == 0) {
            fin_yield();
            fin_cancel();
        }
    }
    CHECK(n > 0 || (n == -ECANCELED && number % 8 == 0));
    sent[thread][awe] += n > 0;
}

static void writes_of(void *number) {
    unsigned thread = (unsigned)(uintptr_t)number;
    fin_finish {
        for (unsigned i = 0; i < AWES; i++) {
            fin_async {
                unsigned awe = i;
                for (unsigned n = 1; n <= calls; n++) {
                    write_line(thread, awe, n);
                    if (n % 16 == 0)
                        CHECK_EQ(fin_writer_flush(&w), 0);
                }
            };
        }
    }
}

static FIN_BLOCKING void reads(int fd) {
    struct fin_reader r;
    char *line;
    ssize_t n;
    CHECK_EQ(fin_reader_init(&r, fd, before, sizeof before), 0);
    while ((n = fin_reader_line(&r, &line)) >= 0) {
        char *end;
        unsigned thread = (unsigned)strtoul(line, &end, 10), awe = (unsigned)strtoul(end, &end, 10);
        unsigned number = (unsigned)strtoul(end, &end, 10);
        CHECK(thread < THREADS && awe < AWES);
        CHECK(number > heard[thread][awe] && number <= calls);
        heard[thread][awe] = number;
        CHECK_EQ(line + n - (end + 1), number % 40);
        received[thread][awe]++;
    }
    CHECK_EQ(n, -ENODATA);
}

int main(void) {
    struct fin_thread_handle h[THREADS];
    static int fd[2];
    int few = 4096;
    if (getenv("FIN_FEW") || on_valgrind())
        calls = 200;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    CHECK_EQ(setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &few, sizeof few), 0);
    CHECK_EQ(fin_writer_init(&w, fd[0], space, sizeof space), 0);
    fin_finish {
        for (unsigned i = 0; i < THREADS; i++)
            CHECK_EQ(fin_thread_start(&h[i], writes_of, (void *)(uintptr_t)i), 0);
        fin_async { reads(fd[1]); };
        for (unsigned i = 0; i < THREADS; i++)
            fin_thread_join_nc(&h[i]);
        CHECK_EQ(fin_writer_flush(&w), 0);
        close(fd[0]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        for (unsigned k = 0; k < AWES; k++)
            CHECK_EQ(received[i][k], sent[i][k]);
    close(fd[1]);
    return 0;
}
