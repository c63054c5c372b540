// SPDX-License-Identifier: BSD-2-Clause
// For trace.py: two processes that are traced, with a channel between them.
#include <fin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { MESSAGES = 20 };

static struct fin_awe *waits;

static void waits_for_another(void *arg) {
    (void)arg;
    fin_suspend(&waits);
}

static void wakes_it(void *arg) {
    (void)arg;
    fin_set_name("the waker");
    fin_yield();
    CHECK_EQ(fin_schedule(waits), 0);
    fin_trace_mark("woke it");
    fin_trace_mark("\xc3\xa4\xc3\xa4\xc3\xa4\xff\xed\xa0\x80\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"); // cut in one
}

static void receives(void *arg) {
    int n;
    for (int i = 0; i < MESSAGES; i++) {
        CHECK_EQ((int)fin_chan_recv(arg, &n, sizeof n), (int)sizeof n);
        CHECK_EQ(n, i);
    }
}

static void waits_for_message(void *arg) {
    int n;
    const void *bytes;
    CHECK_EQ((int)fin_chan_recv(arg, &n, sizeof n), (int)sizeof n);
    CHECK_EQ((int)fin_chan_peek(arg, &bytes), (int)sizeof n);
    CHECK_EQ(fin_chan_release(arg), 0);
}

// Between AWEs of one thread: one that waits for what is sent, one in place.
static void within_thread(void) {
    struct fin_chan *a, *b;
    void *room;
    int n = 1;
    CHECK_EQ(fin_chan_pair(&a, &b, &(struct fin_chan_options){.flags = FIN_CHAN_LOCAL}), 0);
    fin_finish {
        fin_async_call(waits_for_message, b);
        CHECK_EQ(fin_chan_send(a, &n, sizeof n), 0);
        CHECK_EQ(fin_chan_reserve(a, sizeof n, &room), 0);
        memcpy(room, &n, sizeof n);
        CHECK_EQ(fin_chan_commit(a, sizeof n), 0);
    }
    fin_chan_close(a);
    fin_chan_close(b);
}

// These two close it.
static void answers(struct fin_chan *c) {
    struct fin_rpc *r;
    uint32_t id;
    int n;
    CHECK_EQ(fin_rpc_open(&r, c, 0), 0);
    CHECK_EQ((int)fin_rpc_accept(r, &n, sizeof n, &id), (int)sizeof n);
    CHECK_EQ(fin_rpc_reply(r, id, &n, sizeof n), 0);
    CHECK_EQ(fin_rpc_close(r), 0);
}

static void asks(struct fin_chan *c) {
    struct fin_rpc *r;
    int n = 2;
    CHECK_EQ(fin_rpc_open(&r, c, FIN_RPC_CLIENT), 0);
    CHECK_EQ((int)fin_rpc_call(r, &n, sizeof n, &n, sizeof n), (int)sizeof n);
    CHECK_EQ(fin_rpc_close(r), 0);
}

static int server(const char *name) {
    struct fin_chan_listener *l;
    struct fin_chan *c = NULL;
    CHECK_EQ(fin_chan_listen(&l, name, NULL), 0);
    fin_finish_as(all) {
        fin_async_call(waits_for_another, NULL);
        fin_async_call(wakes_it, NULL);
        CHECK_EQ(fin_chan_accept(l, &c), 0);
        fin_async_call(receives, c);
        fin_sleep(1000000);
        fin_finish_as(inner) { fin_cancel_as(inner); }
    }
    answers(c);
    within_thread();
    fin_chan_listener_close(l);
    return 0;
}

static int client(const char *name) {
    struct fin_chan *c;
    int r;
    while ((r = fin_chan_connect(&c, name, 0)) == -ECONNREFUSED || r == -ENOENT)
        fin_sleep(1000000);
    CHECK_EQ(r, 0);
    for (int i = 0; i < MESSAGES; i++) {
        CHECK_EQ(fin_chan_send(c, &i, sizeof i), 0);
        fin_sleep(100000);
    }
    asks(c);
    return 0;
}

static void aborts(void *arg) {
    (void)arg;
    fin_set_name("the aborter");
    fin_yield();
    abort();
}

// Its trace is written all the same.
static int crash(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 77;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return 77;
#endif
#endif
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    fin_finish {
        fin_async_call(aborts, NULL);
    }
    return 0;
}

static void answers_twice(void *arg) {
    int n;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ((int)fin_chan_recv(arg, &n, sizeof n), (int)sizeof n);
        CHECK_EQ(fin_chan_send(arg, &n, sizeof n), 0);
    }
}

static void receives_two(void *arg) {
    int n;
    for (int i = 0; i < 2; i++)
        CHECK_EQ((int)fin_chan_recv(arg, &n, sizeof n), (int)sizeof n);
}

static void reads(void *arg) {
    char byte;
    CHECK_EQ((int)fin_read(*(int *)arg, &byte, 1), 1);
}

// The system lets two go on; of channels that are older than the trace, one of them waited in, there are eight messages.
static int begins_late(const char *file) {
    struct fin_chan *end[4];
    int ends[2], n = 1;
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(fin_chan_pair(&end[0], &end[1], &(struct fin_chan_options){.flags = FIN_CHAN_LOCAL}), 0);
    CHECK_EQ(fin_chan_pair(&end[2], &end[3], NULL), 0);
    fin_finish {
        fin_async_call(answers_twice, end[1]);
        CHECK_EQ(fin_chan_send(end[0], &n, sizeof n), 0); // this one is older, too
        CHECK_EQ((int)fin_chan_recv(end[0], &n, sizeof n), (int)sizeof n);
        CHECK_EQ(fin_trace_start(file), 0);
        CHECK_EQ((int)fin_chan_send_recv(end[0], &n, sizeof n, &n, sizeof n), (int)sizeof n);
        fin_async_call(receives_two, end[3]);
        CHECK_EQ(fin_chan_send(end[2], &n, sizeof n), 0);
        CHECK_EQ(fin_chan_send(end[2], &n, sizeof n), 0);
        fin_async_call(answers_twice, end[3]);
        CHECK_EQ((int)fin_chan_send_recv(end[2], &n, sizeof n, &n, sizeof n), (int)sizeof n);
        CHECK_EQ((int)fin_chan_send_recv(end[2], &n, sizeof n, &n, sizeof n), (int)sizeof n);
        fin_async_call(reads, &ends[0]);
        fin_sleep(1000000);
        CHECK_EQ((int)write(ends[1], "x", 1), 1);
    }
    CHECK_EQ(fin_trace_stop(), 0);
    for (int i = 0; i < 4; i++)
        fin_chan_close(end[i]);
    return 0;
}

// A channel is the first that the process has of Fin: four messages between the AWEs of a thread.
static int begins_with_a_channel(void) {
    struct fin_chan *end[2];
    int n = 1;
    CHECK_EQ(fin_chan_pair(&end[0], &end[1], NULL), 0);
    fin_finish {
        fin_async_call(answers_twice, end[1]);
        for (int i = 0; i < 2; i++)
            CHECK_EQ((int)fin_chan_send_recv(end[0], &n, sizeof n, &n, sizeof n), (int)sizeof n);
    }
    for (int i = 0; i < 2; i++)
        CHECK_EQ(fin_chan_close(end[i]), 0);
    return 0;
}

int main(int argc, char **argv) {
    char name[64];
    if (argc > 1 && strcmp(argv[1], "channel") == 0)
        return begins_with_a_channel();
    if (argc > 2 && strcmp(argv[1], "late") == 0)
        return begins_late(argv[2]);
    if (argc > 1 && strcmp(argv[1], "crash") == 0)
        return crash();
    if (argc > 1)
        return client(argv[1]);
    snprintf(name, sizeof name, "fin-trace-%d", (int)getpid());
    fin_finish {} // the trace begins, and this process makes the file
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl(argv[0], argv[0], name, (char *)NULL);
        _exit(1);
    }
    CHECK_EQ(server(name), 0);
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(fin_trace_stop(), 0);
    CHECK_EQ(fin_trace_stop(), -EINVAL);
    return 0;
}
