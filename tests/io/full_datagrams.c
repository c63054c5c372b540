// SPDX-License-Identifier: BSD-2-Clause
// Whatever sends to a Unix socket whose queue is full: what goes out is whole, once there is room.
#define _GNU_SOURCE
#include "senders.h"

static int fill(void) {
    int n = 0;
    while (send(out, "x", 1, MSG_DONTWAIT) == 1)
        n++;
    return n;
}

static void try_it(const struct way *w) {
    fin_shared long sent = 0, cancelled = -ECANCELED;
    char got[16];
    int full = fill();
    fin_finish {
        fin_async { sent = w->send(); };
        fin_finish {
            fin_async { cancelled = w->send(); };
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            fin_cancel();
        }
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(sent, 0); // it waits
        for (int i = 0; i <= full; i++) {
            ssize_t n = fin_recv(in, got, sizeof got, 0);
            if (n != (i < full ? 1 : 4))
                fprintf(stderr, "%s, flags %d: %zd bytes came, as number %d of %d\n", w->name, flags, n, i, full);
            CHECK(n == (i < full ? 1 : 4) && (i < full || memcmp(got, text, 4) == 0));
        }
    }
    CHECK_EQ(sent, 4);
    CHECK_EQ(cancelled, -ECANCELED);
    CHECK_EQ(recv(in, got, sizeof got, MSG_DONTWAIT), -1);
}

int main(void) {
    in = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    out = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    to_size = sizeof to;
    CHECK_EQ(bind(in, (struct sockaddr *)&to, sizeof to.sun_family), 0);
    CHECK_EQ(getsockname(in, (struct sockaddr *)&to, &to_size), 0);
    CHECK_EQ(connect(out, (struct sockaddr *)&to, to_size), 0);
    CHECK((registered = fin_file_register(out)) >= 0);
    try_all(try_it);
    CHECK_EQ(fin_file_unregister(registered), 0);
    close(in);
    close(out);
    return 0;
}
