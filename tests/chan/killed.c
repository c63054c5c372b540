// SPDX-License-Identifier: BSD-2-Clause
// A process is killed at a random moment while it sends, receives and sleeps. The other one receives, in order, a whole
// number of the messages that it sent, and is told at once; nothing is left. FIN_KILLS says how often.
#include <sys/prctl.h>
#include <time.h>

#include "chan.h"

static unsigned char p[1900];

static size_t size_of(unsigned i) { return i % 3 ? 24 : i * 7 % sizeof p; }

static void victim(void *unused) {
    (void)unused;
    struct fin_chan *c;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fin_chan_take(&c, sockets[1], 0) != 0)
        return;
    for (unsigned i = 0;; i++) {
        unsigned char q[sizeof p];
        fill(q, size_of(i), i);
        fin_chan_send(c, q, size_of(i));
        while (fin_chan_try_recv(c, q, sizeof q) >= 0) {
        }
        if (i % 64 == 63)
            fin_sleep(1000);
    }
}

static unsigned seed = 17, received;

// After some time, or some messages, or both.
static void kill_after(void *arg) {
    int *pid = arg;
    unsigned r = next_random(&seed), messages = r % 3 ? r / 3 % 300 : 0;
    while (received < messages)
        CHECK_EQ(fin_sleep(20000), 0);
    if (r % 3 != 1)
        CHECK_EQ(fin_sleep(next_random(&seed) % 2000 * 1000), 0);
    CHECK_EQ(kill(*pid, SIGKILL), 0);
}

static void flood(void *unused) {
    (void)unused;
    unsigned char q[200] = {0};
    int r;
    while ((r = fin_chan_send(a, q, sizeof q)) == 0) {
    }
    CHECK_EQ(r, -EPIPE);
}

static unsigned one(bool flooded) {
    int pid = child(victim, NULL);
    ssize_t n;
    received = 0;
    CHECK_EQ(fin_chan_offer(&a, sockets[0], &(struct fin_chan_options){4096, 0}), 0);
    fin_finish {
        fin_async_call(kill_after, &pid);
        if (flooded)
            fin_async_call(flood, NULL);
        while ((n = fin_chan_recv(a, p, sizeof p)) >= 0) {
            CHECK_EQ(n, size_of(received));
            CHECK(filled(p, (size_t)n, received));
            received++;
        }
    }
    CHECK_EQ(n, -ECONNRESET);
    CHECK_EQ(fin_chan_recv(a, p, sizeof p), -ECONNRESET);
    CHECK_EQ(fin_chan_close(a), 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    return received;
}

int main(void) {
    const char *asked = getenv("FIN_KILLS");
    unsigned kills = asked ? (unsigned)atoi(asked) : few(400), got = 0;
    one(false);
    int before = settled_descriptors();
    for (unsigned i = 0; i < kills; i++)
        got += one(i % 2) > 0;
    CHECK(got > 0);
    until_open_descriptors(before);
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
    return 0;
}
