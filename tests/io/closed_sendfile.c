// SPDX-License-Identifier: BSD-2-Clause
// A file is closed by fin_close while fin_sendfile waits for room, and another file gets its number: that one's position
// stays where it is.
#include "net.h"

static char much[1 << 20];
static int pair[2];

int main(void) {
    fin_shared ssize_t n = 0;
    fin_shared int other = -1;
    int file = nameless_file();
    stream_pair(pair);
    CHECK_EQ(write(file, much, sizeof much), sizeof much);
    CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
    fin_finish {
        fin_async { n = fin_sendfile(pair[0], file, NULL, sizeof much); };
        while (recv(pair[1], much, 1, MSG_PEEK | MSG_DONTWAIT) < 0)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_close(file), 0);
        other = nameless_file();
        CHECK_EQ(other, file);
        fin_timeout(20 * FIN_MS) { // until nothing comes any more
            while (fin_recv(pair[1], much, sizeof much, 0) > 0)
                continue;
        }
        fin_cancel();
    }
    CHECK(n > 0 && n < (ssize_t)sizeof much);
    CHECK_EQ(lseek(other, 0, SEEK_CUR), 0);
    return 0;
}
