// SPDX-License-Identifier: BSD-2-Clause
// While a splice waits for a socket, its pipe can be used. Where it is the kernel that waits, it holds the pipe's lock, and
// who then reads from the pipe or writes to it stands still for as long, which this thread would do for ever.
#define _GNU_SOURCE
#include <fcntl.h>

#include "kernels.h"
#include "net.h"

static int pipes[2], sockets[2];
static bool tcp, waits; // waits: a splice to a Unix socket, for room

static void set_up(void) {
    struct sockaddr_in address;
    CHECK_EQ(pipe(pipes), 0);
    if (tcp) {
        int listener = tcp_listen(&address, 1);
        sockets[1] = tcp_connect(&address);
        sockets[0] = accept(listener, NULL, NULL);
        CHECK(sockets[0] >= 0);
        close(listener);
    } else {
        stream_pair(sockets);
    }
}

static void tear_down(void) {
    for (int i = 0; i < 2; i++) {
        close(pipes[i]);
        close(sockets[i]);
    }
}

// From a socket that has nothing.
static void from_socket(void) {
    fin_shared ssize_t n = 0;
    char c[4] = "";
    set_up();
    fin_finish {
        fin_async { n = fin_splice(sockets[0], NULL, pipes[1], NULL, 100, 0); };
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        CHECK_EQ(fin_write(pipes[1], "ab", 2), 2);
        CHECK_EQ(fin_read(pipes[0], c, 2), 2);
        CHECK(strcmp(c, "ab") == 0);
        CHECK_EQ(n, 0);
        CHECK_EQ(fin_write(sockets[1], "c", 1), 1);
    }
    CHECK_EQ(n, 1);
    CHECK_EQ(fin_read(pipes[0], c, 2), 1);
    CHECK_EQ(c[0], 'c');
    tear_down();
}

static size_t fill_socket(void) {
    static const char zeros[65536];
    size_t full = 0;
    ssize_t n;
    for (int i = 0; i < 3; i++) { // what the kernel has moved on makes room, on TCP
        while ((n = send(sockets[1], zeros, sizeof zeros, MSG_DONTWAIT)) > 0)
            full += (size_t)n;
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
    }
    return full;
}

// To a socket that has no room, with much.
static void to_socket(void) {
    static char much[32768], got[65536];
    fin_shared ssize_t n = 0;
    set_up();
    size_t full = fill_socket(), rest = 0;
    memset(much, 1, sizeof much);
    CHECK_EQ(fin_write_all(pipes[1], much, sizeof much, NULL), 0);
    fin_finish {
        fin_async {
            for (ssize_t moved = 0; n < (ssize_t)sizeof much + 2; n += moved)
                CHECK((moved = fin_splice(pipes[0], NULL, sockets[1], NULL, 1000000, 0)) > 0);
        };
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        CHECK_EQ(fin_write(pipes[1], "ab", 2), 2);
        CHECK(n < (ssize_t)sizeof much || tcp || !waits); // TCP acknowledges late
        for (size_t i = 0; i < full + sizeof much; i += rest) {
            CHECK((ssize_t)(rest = (size_t)fin_recv(sockets[0], got, sizeof got, 0)) > 0);
            for (size_t k = 0; k < rest && i + k < full + sizeof much; k++)
                CHECK_EQ(got[k], i + k >= full);
            if (i + rest == full + sizeof much + 2)
                CHECK(memcmp(got + rest - 2, "ab", 2) == 0);
        }
    }
    CHECK_EQ(n, (ssize_t)sizeof much + 2);
    tear_down();
}

// To one whose peer sends no more: it is not asked again and again.
static void to_half_closed(void) {
    struct fin_stats before, after;
    fin_shared ssize_t n = 0;
    set_up();
    CHECK_EQ(shutdown(sockets[0], SHUT_WR), 0);
    fill_socket();
    CHECK_EQ(fin_write(pipes[1], "ab", 2), 2);
    fin_finish {
        fin_async {
            while ((n = fin_splice(pipes[0], NULL, sockets[1], NULL, 2, 0)) == 1)
                ;
        };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_stats(&before);
        CHECK_EQ(fin_sleep(20 * FIN_MS), 0);
        fin_stats(&after);
        CHECK(after.switches - before.switches <= 50);
        fin_cancel();
    }
    CHECK(n == -ECANCELED || (n == 2 && (tcp || !waits)));
    tear_down();
}

int main(void) {
    waits = splices_wait_for_room();
    for (int i = 0; i < 2; i++) {
        tcp = i == 1;
        from_socket();
        to_socket();
        to_half_closed();
    }
    return 0;
}
