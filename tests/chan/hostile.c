// SPDX-License-Identifier: BSD-2-Clause
// The other process writes at random all over the shared memory, both its lines and ours, and floods the sockets with
// packets and descriptors. Every call here ends with a message that is no longer than it can be, or with an error; a timeout
// is taken.
#include "scribble.h"

static unsigned char buffer[5000];

static void receive(void *unused) {
    (void)unused;
    ssize_t n;
    int fds[FIN_CHAN_FDS];
    for (unsigned i = 0; i < 3000; i++) {
        unsigned count = FIN_CHAN_FDS;
        const void *bytes;
        memset(buffer + 2100, 0x5a, 16);
        n = i % 3 == 0   ? fin_chan_recv(a, buffer, 2100)
            : i % 3 == 1 ? fin_chan_recv_fds(a, buffer, 2100, fds, &count)
                         : fin_chan_peek(a, &bytes);
        for (int k = 0; k < 16; k++)
            CHECK_EQ(buffer[2100 + k], 0x5a);
        CHECK(n <= 2100);
        if (i % 3 == 1 && n >= 0)
            for (unsigned k = 0; k < count; k++)
                close(fds[k]);
        if (n >= 0 && i % 3 == 2) {
            memcpy(buffer, bytes, (size_t)n);
            CHECK_EQ(fin_chan_release(a), 0);
        }
        if (n < 0 && n != -EMSGSIZE)
            return;
    }
}

static void transmit(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 3000; i++)
        if (fin_chan_send(a, buffer, i % 2 ? 8 : 1500) != 0)
            return;
}

static void one(int mode) {
    pid_t pid = child(scribble, &mode);
    CHECK_EQ(fin_chan_offer(&a, sockets[0], &(struct fin_chan_options){4096, 0}), 0);
    CHECK_EQ(fin_sleep(next_random(&seed) % 1000 * 1000), 0);
    fin_timeout(20 * FIN_MS) {
        fin_finish {
            fin_async_call(receive, NULL);
            fin_async_call(transmit, NULL);
        }
    }
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    ssize_t n;
    while ((n = fin_chan_recv(a, buffer, sizeof buffer)) >= 0) { // ends, now that nobody writes
    }
    CHECK_EQ(fin_chan_close(a), 0);
}

int main(void) {
    const char *asked = getenv("FIN_HOSTILE");
    unsigned times = asked ? (unsigned)atoi(asked) : few(90);
    one(0);
    int before = settled_descriptors();
    for (unsigned i = 0; i < times; i++) {
        seed = i * 7919;
        one((int)(i % 3));
    }
    until_open_descriptors(before);
    return 0;
}
