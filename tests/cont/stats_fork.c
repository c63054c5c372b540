// SPDX-License-Identifier: BSD-2-Clause
// With FIN_STATS=1 the child of a fork prints what it has done itself, and nothing that its parent's threads have.
#include <string.h>
#include <unistd.h>

#include <fin.h>

#include "process.h"

enum { OF_PARENT = 100, OF_CHILD = 3 };

static void yields(void *times) {
    for (int i = *(int *)times; i > 0; i--)
        fin_yield();
}

static void both_yield(int times) {
    fin_finish {
        fin_async_call(yields, &times);
        yields(&times);
    }
}

static struct fin_event forked = FIN_EVENT_INIT, begun = FIN_EVENT_INIT;

static void waits_for_the_fork(void *unused) {
    (void)unused;
    both_yield(OF_PARENT);
    fin_event_advance(&begun, 1);
    fin_event_await_nc(&forked, 1);
}

static void ends(void *unused) {
    int times = OF_PARENT;
    (void)unused;
    both_yield(times);
    fin_finish {
        fin_async_call(yields, &times);
    }
}

static void in_child(int to, bool uses_fin) {
    struct fin_stats s;
    alarm(60);
    dup2(to, 2);
    fin_stats(&s);
    CHECK_EQ(s.switches, 0);
    if (uses_fin)
        both_yield(OF_CHILD);
    exit(0);
}

static unsigned long long of_line(const char *text, const char *name) {
    const char *line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

static void forks(bool uses_fin) {
    char text[4096];
    int out[2];
    size_t size = 0;
    CHECK_EQ(pipe(out), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        in_child(out[1], uses_fin);
    close(out[1]);
    for (ssize_t n; (n = read(out[0], text + size, sizeof text - 1 - size)) > 0;)
        size += (size_t)n;
    text[size] = 0;
    close(out[0]);
    ended_well(pid);
    fprintf(stderr, "%s", text);
    CHECK(strstr(text, "fin: all"));
    CHECK_EQ(of_line(text, "fin: a turn"), uses_fin ? 2 * OF_CHILD : 0);
    CHECK_EQ(of_line(text, "fin: the end of a finish block"), 0); // its async ends first
    CHECK_EQ(of_line(text, "fin: all"), uses_fin ? 2 * OF_CHILD : 0);
}

int main(void) {
    struct fin_thread_handle t;
    skip_without_forks_of_threads();
    setenv("FIN_STATS", "1", 1);
    ends(NULL);
    CHECK_EQ(fin_thread_start(&t, ends, NULL), 0);
    fin_thread_join_nc(&t);
    CHECK_EQ(fin_thread_start(&t, waits_for_the_fork, NULL), 0);
    fin_event_await_nc(&begun, 1);
    forks(true);
    forks(false);
    fin_event_advance(&forked, 1);
    fin_thread_join_nc(&t);
    return 0;
}
