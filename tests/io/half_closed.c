// SPDX-License-Identifier: BSD-2-Clause
// Whatever sends to a peer that has said that it sends no more, and has no room now, waits until there is room, and does not
// ask again and again meanwhile: a ring's wait for readiness ends at once there.
#define _GNU_SOURCE
#include <fin/stats.h>
#include <poll.h>
#include <sys/resource.h>

#include "senders.h"

static bool tcp;

static void connect_both(void) {
    int pair[2];
    if (tcp) {
        struct sockaddr_in address;
        int small = 8192, listener = tcp_listen(&address, -1);
        CHECK_EQ(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0); // which does not grow then
        CHECK_EQ(listen(listener, 1), 0);
        out = tcp_connect(&address);
        in = accept(listener, NULL, NULL);
        CHECK(in >= 0);
        CHECK_EQ(setsockopt(out, SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
        close(listener);
    } else {
        stream_pair(pair);
        in = pair[0];
        out = pair[1];
    }
    CHECK((registered = fin_file_register(out)) >= 0);
    CHECK_EQ(shutdown(in, SHUT_WR), 0);
}

static void close_both(void) {
    CHECK_EQ(fin_file_unregister(registered), 0);
    close(in);
    close(out);
}

// What the kernel has moved on makes room, on TCP.
static long fill(void) {
    static const char zeros[4096];
    long sum = 0;
    for (int i = 0; i < 3; i++) {
        ssize_t n;
        for (size_t size = sizeof zeros; size > 0; size = size > 1 ? 1 : 0)
            while ((n = send(out, zeros, size, MSG_DONTWAIT)) > 0)
                sum += n;
        CHECK_EQ(fin_sleep(tcp ? FIN_MS : 0), 0);
    }
    return sum;
}

static void drain(long full) {
    static char got[1 << 20];
    CHECK(full + 4 <= (long)sizeof got);
    CHECK_EQ(fin_recv_all(in, got, (size_t)full + 4, 0, NULL), 0);
    for (long i = 0; i < full; i++)
        CHECK_EQ(got[i], 0);
    CHECK(memcmp(got + full, text, 4) == 0);
}

// Who waits does not ask again and again.
static void let_it_wait(const char *name) {
    struct fin_stats before, after;
    CHECK_EQ(fin_sleep(FIN_MS), 0);
    fin_stats(&before);
    CHECK_EQ(fin_sleep(20 * FIN_MS), 0);
    fin_stats(&after);
    unsigned long switches = after.switches - before.switches, requests = after.requests - before.requests;
    if (switches > 50 || requests > 50)
        fprintf(stderr, "%s, flags %d, TCP %d: %lu switches, %lu requests\n", name, flags, tcp, switches, requests);
    CHECK(switches <= 50 && requests <= 50);
}

// TCP acknowledges late what it has: then there is room after all.
static bool is_waiting(long result) {
    CHECK(result == 0 || tcp);
    return result == 0;
}

static bool has_waited(const struct way *w) {
    fin_shared long sent = 0;
    bool waited = false;
    connect_both();
    long full = fill();
    fin_finish {
        fin_async { sent = w->send(); };
        let_it_wait(w->name);
        waited = is_waiting(sent);
        drain(full);
    }
    CHECK_EQ(sent, 4);
    close_both();
    return waited;
}

static void try_it(const struct way *w) {
    for (int tries = 0; !has_waited(w); tries++)
        CHECK(tries < 100);
}

// It needs a descriptor for that. Without one it waits all the same.
static void without_descriptors(void) {
    struct rlimit usual, none;
    fin_shared long sent = 0, cancelled = 0;
    tcp = false;
    flags = 0;
    connect_both();
    long full = fill();
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none = usual;
    CHECK((none.rlim_cur = (rlim_t)dup(0)) < usual.rlim_cur);
    close((int)none.rlim_cur);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    fin_finish {
        fin_async { sent = sends(); };
        fin_finish {
            fin_async { cancelled = sends(); };
            CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
            fin_cancel();
        }
        drain(full);
    }
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
    CHECK_EQ(sent, 4);
    CHECK_EQ(cancelled, -ECANCELED);
    close_both();
}

static FIN_BLOCKING long polls(void) { return fin_poll(out, POLLOUT); }
static FIN_BLOCKING long polls_registered(void) { return fin_poll(registered, POLLOUT); }

static void has_polled(void *on, int n) {
    *(*(struct on **)on)->result = n;
    fin_cont_end();
}

static void polls_without_stack(void *on, int n) {
    struct on *o = *(struct on **)on;
    has_polled(&o, fin_poll_on(&o->on, out, POLLOUT, has_polled, &o, sizeof o));
    (void)n;
}

static FIN_BLOCKING long polls_on(void) {
    long result = 0;
    struct on on = {.result = &result}, *o = &on;
    fin_finish {
        CHECK(fin_async_cont(polls_without_stack, &o, sizeof o));
    }
    return result;
}

static void make_room(void) {
    static char got[65536];
    while (fin_recv(in, got, sizeof got, MSG_DONTWAIT) > 0)
        ;
}

// Who asks for room hears of room, and not of that end; or is cancelled.
static bool has_heard(long (*wait)(void), bool cancelled) {
    fin_shared long n = 0;
    bool waited = false;
    connect_both();
    fill();
    fin_finish {
        fin_async { n = wait(); };
        let_it_wait("poll");
        waited = is_waiting(n);
        if (cancelled)
            fin_cancel();
        else
            make_room();
    }
    if (!tcp || n < 0)
        CHECK_EQ(n, cancelled ? -ECANCELED : POLLOUT);
    if (!cancelled)
        CHECK_EQ(fin_poll(out, POLLOUT | POLLRDHUP), POLLOUT | POLLRDHUP);
    close_both();
    return waited;
}

static void readiness(long (*wait)(void), bool cancelled) {
    for (int tries = 0; !has_heard(wait, cancelled); tries++)
        CHECK(tries < 100);
}

static void cancelled(const struct way *w) {
    fin_shared long sent = 0;
    connect_both();
    fill();
    fin_finish {
        fin_async { sent = w->send(); };
        CHECK_EQ(fin_sleep(2 * FIN_MS), 0);
        fin_cancel();
    }
    CHECK_EQ(sent, -ECANCELED);
    close_both();
}

int main(void) {
    CHECK_EQ(fin_sleep(1), 0);
    tcp = false;
    try_all(try_it);
    int descriptors = open_descriptors();
    try_all(cancelled);
    CHECK_EQ(open_descriptors(), descriptors);
    for (int i = 0; i < 4; i++) {
        tcp = i % 2;
        readiness(polls, i / 2);
        readiness(polls_registered, i / 2);
        readiness(polls_on, i / 2);
    }
    try_all(try_it);
    without_descriptors();
    CHECK_EQ(open_descriptors(), descriptors);
    return 0;
}
