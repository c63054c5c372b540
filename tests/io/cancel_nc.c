// SPDX-License-Identifier: BSD-2-Clause
// A cancel while calls in _nc wait: they go on waiting and do their work.
#include <poll.h>

#include "net.h"

int main(void) {
    static int fd[2], other[2];
    struct sockaddr_in address;
    static char a, b;
    fin_shared int got = 0, received = 0, polled = 0, slept = 1, accepted = -1, shielded = 0;
    stream_pair(fd);
    stream_pair(other);
    int listener = tcp_listen(&address, 8);
    fin_finish {
        fin_async { got = (int)fin_read_nc(fd[0], &a, 1); };
        fin_async { slept = fin_sleep_nc(20 * FIN_MS); };
        fin_async { received = (int)fin_recv_nc(fd[1], &b, 1, 0); };
        fin_async { polled = fin_poll_nc(other[0], POLLIN); };
        fin_async { accepted = fin_accept_nc(listener, NULL, NULL); };
        fin_async {
            fin_finish_nc {
                shielded = fin_poll(other[1], POLLIN);
            }
        };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
        CHECK_EQ(fin_sleep_nc(FIN_MS), 0);
        CHECK(got == 0 && received == 0 && polled == 0 && accepted == -1 && shielded == 0);
        CHECK_EQ(write(fd[1], "a", 1), 1);
        CHECK_EQ(write(fd[0], "b", 1), 1);
        CHECK_EQ(write(other[0], "c", 1), 1);
        CHECK_EQ(write(other[1], "d", 1), 1);
        close(tcp_connect(&address));
    }
    CHECK_EQ(got, 1);
    CHECK_EQ(a, 'a');
    CHECK_EQ(received, 1);
    CHECK_EQ(b, 'b');
    CHECK_EQ(polled, POLLIN);
    CHECK_EQ(shielded, POLLIN);
    CHECK_EQ(slept, 0);
    CHECK(accepted >= 0);
    return 0;
}
