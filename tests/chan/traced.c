// SPDX-License-Identifier: BSD-2-Clause
// A trace begins while an AWE waits for a message, or has just been handed one: each message from then on is in it twice,
// when it is sent and when it is received, over each kind of channel.
#define _GNU_SOURCE
#include <sys/mman.h>

#include "chan.h"

enum { MESSAGES = 6 };

static struct fin_sem sent;

static void receive(void *unused) {
    char p[8];
    const void *bytes;
    (void)unused;
    CHECK_EQ(fin_chan_recv(b, p, sizeof p), 5);
    CHECK_EQ(fin_sem_wait(&sent), 0);
    for (int i = 0; i < MESSAGES; i++) {
        if (i % 3 == 2) {
            CHECK_EQ(fin_chan_peek(b, &bytes), 5);
            CHECK_EQ(fin_chan_release(b), 0);
        } else {
            CHECK_EQ(i % 3 ? fin_chan_recv(b, p, sizeof p) : fin_chan_try_recv(b, p, sizeof p), 5);
        }
    }
}

static int count(const char *text, const char *what) {
    int n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static void check(int fd) {
    static char text[65536];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    CHECK(n > 0 && (size_t)n < sizeof text - 1);
    text[n] = 0;
    CHECK_EQ(count(text, "\"name\":\"message\""), 2 * MESSAGES);
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        char path[32];
        int fd = memfd_create("trace", MFD_CLOEXEC);
        CHECK(fd >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        open_kind(kind, 0, 0);
        fin_sem_init(&sent, 0);
        fin_finish {
            fin_async_call(receive, NULL);
            CHECK_EQ(fin_chan_send(a, "first", 5), 0);
            if (kind != LOCAL)
                CHECK_EQ(fin_sleep(FIN_MS), 0); // it has been received
            CHECK_EQ(fin_trace_start(path), 0);
            if (kind == LOCAL)
                fin_yield(); // received now, but it was sent before
            for (int i = 0; i < MESSAGES; i++)
                CHECK_EQ(fin_chan_send(a, "other", 5), 0);
            fin_sem_post(&sent);
        }
        CHECK_EQ(fin_trace_stop(), 0);
        check(fd);
        close(fd);
        close_both();
    }
    return 0;
}
