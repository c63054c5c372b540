// SPDX-License-Identifier: BSD-2-Clause
// A process is killed, and the other one, in whose ring is room for thousands of messages, only sends: where it has received
// the news, or rings for the dead one, who slept, it is told by the next send. So are those that reply, and who has slept
// meanwhile. Who only tries to send is told soon after the ring is full.
#include "chan.h"

static int pipes[2];

static void says_that_it_is_ready(void) { CHECK_EQ(write(pipes[1], "", 1), 1); }

static void computes(void *unused) {
    (void)unused;
    struct fin_chan *c;
    if (fin_chan_take(&c, sockets[1], 0) == 0)
        says_that_it_is_ready();
    for (;;) {
    }
}

// By epoll: a ring keeps what was waited for in it open until some time after the process has gone.
static void sleeps(void *unused) {
    (void)unused;
    struct fin_chan *c;
    char word[8];
    setenv("FIN_IO", "epoll", 1);
    if (fin_chan_take(&c, sockets[1], 0) == 0)
        says_that_it_is_ready();
    while (fin_chan_recv(c, word, sizeof word) >= 0) {
    }
}

static void calls(void *unused) {
    (void)unused;
    struct fin_chan *c;
    struct fin_rpc *r;
    uint32_t id;
    if (fin_chan_take(&c, sockets[1], 0) == 0 && fin_rpc_open(&r, c, FIN_RPC_CLIENT) == 0)
        for (int i = 0; i < 10; i++)
            fin_rpc_send(r, "", 0, &id);
    says_that_it_is_ready();
    for (;;) {
    }
}

static void open_to(void (*victim)(void *), unsigned flags, int *pid) {
    char byte;
    CHECK_EQ(pipe(pipes), 0);
    *pid = child(victim, NULL);
    CHECK_EQ(fin_chan_offer(&a, sockets[0], &(struct fin_chan_options){1 << 20, flags}), 0);
    CHECK_EQ(read(pipes[0], &byte, 1), 1);
    close(pipes[0]);
    close(pipes[1]);
}

// It has nothing to do any more but to wait for messages.
static bool is_asleep(int pid) {
    char path[40], text[200] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    CHECK(f && fgets(text, sizeof text, f));
    fclose(f);
    return strstr(text, ") S ") != NULL;
}

static void kill_it(int pid) {
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static void hears(void *unused) {
    char word[8];
    (void)unused;
    CHECK_EQ(fin_chan_try_recv(a, word, sizeof word), -ECONNRESET);
}

static void is_told(int how) {
    char word[8];
    struct fin_waitset *set;
    if (how == 0) {
        CHECK_EQ(fin_chan_recv(a, word, sizeof word), -ECONNRESET);
    } else if (how == 1) {
        int r;
        while ((r = (int)fin_chan_try_recv(a, word, sizeof word)) == -EAGAIN) {
        }
        CHECK_EQ(r, -ECONNRESET);
    } else {
        CHECK_EQ(fin_waitset_new(&set), 0);
        CHECK_EQ(fin_waitset_add(set, a, hears, NULL), 0);
        CHECK_EQ(fin_waitset_dispatch(set), 0);
        fin_waitset_remove(set, a);
        fin_waitset_close(set);
    }
}

static void sends_fail(void) {
    CHECK_EQ(fin_chan_send(a, "x", 1), -EPIPE);
    CHECK_EQ(fin_chan_try_send(a, "x", 1), -EPIPE);
    CHECK_EQ(fin_chan_send_fds(a, "x", 1, NULL, 0), -EPIPE);
}

static void has_received_the_news(int how, unsigned flags) {
    int pid;
    open_to(computes, flags, &pid);
    CHECK_EQ(fin_chan_send(a, "x", 1), 0);
    kill_it(pid);
    is_told(how);
    sends_fail();
    CHECK_EQ(fin_chan_close(a), 0);
}

static void rings(unsigned flags) {
    int pid;
    open_to(sleeps, flags, &pid);
    while (!is_asleep(pid))
        CHECK_EQ(fin_sleep(FIN_MS), 0);
    kill_it(pid);
    sends_fail();
    CHECK_EQ(fin_chan_close(a), 0);
}

enum { IN_A_LINE, IN_SEVERAL, IN_PLACE, BY_A_TRY, WITHOUT_STACK, WAYS };

static int sent;

static void has_sent(void *unused, int r) {
    (void)unused;
    sent = r;
    fin_cont_end();
}

static FIN_BLOCKING void sends_without_stack(void *unused) {
    static struct fin_chan_on on;
    (void)unused;
    fin_chan_send_on(a, "x", 1, &on, has_sent, NULL, 0);
}

static FIN_BLOCKING int send_so(int way) {
    static const char text[200];
    void *room;
    int r;
    if (way == IN_A_LINE)
        return fin_chan_send(a, "x", 1);
    if (way == IN_SEVERAL)
        return fin_chan_send(a, text, sizeof text);
    if (way == BY_A_TRY)
        return fin_chan_try_send(a, "x", 1);
    if (way == WITHOUT_STACK) {
        fin_finish { fin_async_call(sends_without_stack, NULL); }
        return sent;
    }
    r = fin_chan_reserve(a, 8, &room);
    return r == 0 ? fin_chan_commit(a, 8) : r;
}

static bool over;

static FIN_BLOCKING void never_waits(void *unused) {
    (void)unused;
    while (!over)
        fin_yield();
}

static FIN_BLOCKING void sleeps_and_sends(int way, int pid) {
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(fin_sleep(10 * FIN_MS), 0);
        CHECK_EQ(send_so(way), 0);
    }
    kill_it(pid);
    CHECK_EQ(fin_sleep(10 * FIN_MS), 0);
    CHECK_EQ(send_so(way), -EPIPE);
    sends_fail();
    over = true;
}

// It sleeps between two messages for longer than it goes without a look; so does its thread, unless `beside` runs there.
static void has_slept(int way, unsigned flags, void (*beside)(void *)) {
    int pid;
    open_to(computes, flags, &pid);
    over = false;
    fin_finish {
        if (beside)
            fin_async_call(beside, NULL);
        sleeps_and_sends(way, pid);
    }
    CHECK_EQ(fin_chan_close(a), 0);
}

// Who only tries to receive, and sleeps between.
static void tries_after_sleep(unsigned flags) {
    char word[8];
    int pid;
    open_to(computes, flags, &pid);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(fin_chan_try_recv(a, word, sizeof word), -EAGAIN);
        CHECK_EQ(fin_sleep(10 * FIN_MS), 0);
    }
    kill_it(pid);
    CHECK_EQ(fin_sleep(10 * FIN_MS), 0);
    CHECK_EQ(fin_chan_try_recv(a, word, sizeof word), -ECONNRESET);
    CHECK_EQ(fin_chan_close(a), 0);
}

// It waits for nothing, but tries again and again.
static void is_told_by_tries(int how, unsigned flags) {
    enum { TRIES = 1000 };
    int pid, r = 0;
    void *room;
    open_to(computes, flags, &pid);
    kill_it(pid);
    for (int in_vain = 0; r != -EPIPE; in_vain += r != 0) {
        CHECK(in_vain < TRIES && (r == 0 || r == -EAGAIN));
        r = how == 0 ? fin_chan_try_send(a, "x", 1) : how == 1 ? fin_chan_try_reserve(a, 5000, &room) : -EAGAIN;
        if (how == 1 && r == 0)
            CHECK_EQ(fin_chan_commit(a, 5000), 0);
        if (how == 2)
            r = fin_chan_try_send_fds(a, "x", 1, NULL, 0);
    }
    CHECK_EQ(fin_chan_close(a), 0);
}

static void replies(void) {
    struct fin_rpc *r;
    uint32_t id[10];
    int pid;
    open_to(calls, 0, &pid);
    CHECK_EQ(fin_rpc_open(&r, a, 0), 0);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(fin_rpc_accept(r, NULL, 0, &id[i]), 0);
    kill_it(pid);
    CHECK_EQ(fin_rpc_accept(r, NULL, 0, &id[0]), -ECONNRESET);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(fin_rpc_reply(r, id[i], "", 0), -EPIPE);
    CHECK_EQ(fin_rpc_close(r), 0);
}

int main(void) {
    for (int shared = 0; shared < 2; shared++) {
        for (int how = 0; how < 3; how++)
            has_received_the_news(how, shared ? FIN_CHAN_SHARED : 0);
        rings(shared ? FIN_CHAN_SHARED : 0);
        for (int way = 0; way < WAYS; way++)
            has_slept(way, shared ? FIN_CHAN_SHARED : 0, NULL);
        has_slept(IN_A_LINE, shared ? FIN_CHAN_SHARED : 0, never_waits);
        tries_after_sleep(shared ? FIN_CHAN_SHARED : 0);
        for (int how = 0; how < 3; how++)
            is_told_by_tries(how, shared ? FIN_CHAN_SHARED : 0);
    }
    replies();
    return 0;
}
