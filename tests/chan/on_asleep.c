// SPDX-License-Identifier: BSD-2-Clause
// A wait with a continuation for what another process sends (here both ends are of one thread): who hears the bell receives
// in its place; a bell for nothing, or one too many, harms nothing; while others of the thread have something to do it looks
// for some turns before it sleeps; and a cancel ends it wherever it is.
#include "asleep.h"

enum { SIZE = 8, TURNS = 10, MANY = 200 };

static int sender; // the end of the socket where the bell is rung

static void open_far(void) {
    int fd[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd), 0);
    CHECK((sender = dup(fd[0])) >= 0);
    CHECK_EQ(fin_chan_offer(&a, fd[0], NULL), 0);
    CHECK_EQ(fin_chan_take(&b, fd[1], 0), 0); // who takes is told by this socket
    fin_stats_clear();
}

static void close_far(void) {
    close(sender);
    CHECK_EQ(fin_chan_close(b), 0);
}

static void ring(int times) {
    while (times--)
        CHECK_EQ(send(sender, "", 1, 0), 1);
}

static void say(void) { CHECK_EQ(fin_chan_send(a, "message", SIZE), 0); }

static void heard(void) {
    CHECK_EQ(result, SIZE);
    CHECK(memcmp(buffer, "message", SIZE) == 0);
    memset(buffer, 0, SIZE);
}

static void recognized(void) {
    fin_finish {
        START();
        until_asleep(1);
        say();
    }
    heard();
    CHECK_EQ(waits(FIN_FOR_MESSAGE).recognized, 1);
}

static void for_nothing(void) {
    fin_stats_clear();
    fin_finish {
        START();
        until_asleep(1);
        *(long *)fin_cont_state(receiver) = 2; // which it keeps when it looks again
        ring(1);
        until_asleep(2);
        CHECK_EQ(*(long *)fin_cont_state(receiver), 2);
        ring(3);
        say();
    }
    heard();
    CHECK_EQ(mark, 2);
    fin_finish {
        START();
        until_asleep(3); // what it had not heard yet may wake it
        say();
    }
    heard();
}

static void looks(int turns, bool sleeps) {
    fin_stats_clear();
    fin_finish {
        START();
        for (int i = 0; i < turns; i++)
            fin_yield();
        CHECK_EQ(waits(FIN_FOR_MESSAGE).with_continuation, sleeps);
        CHECK(waits(FIN_FOR_LOOK).with_continuation > 0);
        say();
    }
    heard();
}

static void cancelled(bool asleep) {
    fin_stats_clear();
    fin_finish {
        START();
        if (asleep)
            until_asleep(1);
        for (int i = 0; i < TURNS; i++)
            fin_yield();
        fin_cancel();
    }
    CHECK_EQ(result, -ECANCELED);
    CHECK_EQ(waits(FIN_FOR_MESSAGE).recognized, 0);
    say();
    fin_finish {
        START();
    }
    heard();
}

static void ends(void) {
    fin_stats_clear();
    fin_finish {
        START();
        until_asleep(1);
        CHECK_EQ(fin_chan_close(a), 0);
        CHECK_EQ(shutdown(sender, SHUT_RDWR), 0);
    }
    CHECK_EQ(result, -ESHUTDOWN);
}

int main(void) {
    alarm(60);
    open_far();
    recognized();
    for_nothing();
    looks(TURNS, false);
    looks(MANY, true);
    cancelled(true);
    cancelled(false);
    ends();
    close_far();
    return 0;
}
