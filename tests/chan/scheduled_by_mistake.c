// SPDX-License-Identifier: BSD-2-Clause
// The address of an AWE that is over, where others wait for the library by now, as frames and stacks are used again: to
// schedule it, or to yield to it, is an error, and ends no wait, neither in I/O, for time, for an object, for a message nor
// for the thread pool. From the same thread and from another.
#include <sys/socket.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"
#include "process.h"

static struct fin_sem sem;
static struct fin_chan *here, *there;
static int ends[2], gate[2];
static unsigned waits, over;

static void receives(void) {
    char c;
    CHECK_EQ(fin_recv(ends[0], &c, 1, 0), -ECANCELED);
}
static void receives_message(void) {
    char c[64];
    struct iovec v = {c, sizeof c};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    CHECK_EQ(fin_recvmsg(ends[0], &m, 0), -ECANCELED);
}
static void sleeps(void) { CHECK_EQ(fin_sleep(3600 * FIN_S), -ECANCELED); }
static void waits_for_object(void) { CHECK_EQ(fin_sem_wait(&sem), -ECANCELED); }
static void waits_for_channel(void) {
    char c;
    CHECK_EQ(fin_chan_recv(here, &c, 1), -ECANCELED);
}
static bool begun;
static void passes_gate(void *unused) {
    char c;
    (void)unused;
    __atomic_store_n(&begun, true, __ATOMIC_RELEASE);
    CHECK_EQ(read(gate[0], &c, 1), 1);
}
static void offloads(void) { CHECK_EQ(fin_offload(passes_gate, NULL), 0); }

static void (*const all[])(void) = {receives, receives_message, sleeps, waits_for_object, waits_for_channel, offloads};
enum { WAYS = sizeof all / sizeof *all };

enum { DEPTH = 3072, LINE = 64 };
static char *frame[WAYS];

static void begins(void *way) {
    char here_about = 0;
    frame[(uintptr_t)way] = &here_about;
    waits++;
    all[(uintptr_t)way]();
    over++;
}

// Each place below that frame where an AWE may lie: on a line.
static void mistakes(void *unused) {
    (void)unused;
    for (unsigned way = 0; way < WAYS; way++)
        for (unsigned below = 0; below < DEPTH; below += LINE) {
            struct fin_awe *a = (struct fin_awe *)(((uintptr_t)frame[way] - below) & ~(uintptr_t)(LINE - 1));
            CHECK(fin_schedule(a) < 0);
            CHECK(fin_schedule_front(a) < 0);
            CHECK(fin_yield_to(a) < 0);
        }
}

// A wait for a message looks for a while first, between turns of others; so does who yields, and to let that run is no
// mistake. Once the thread has slept, all wait.
static void all_wait(void) {
    struct fin_stats before, now;
    fin_stats(&before);
    do {
        CHECK_EQ(fin_sleep_nc(FIN_MS), 0);
        fin_stats(&now);
    } while (now.slept == before.slept || !__atomic_load_n(&begun, __ATOMIC_ACQUIRE));
    CHECK_EQ(waits, WAYS);
}

int main(void) {
    struct fin_thread_handle other;
    if (ON_ASAN || ON_TSAN || on_valgrind())
        SKIP("who reads what is no object is for the tool to report");
    fin_sem_init(&sem, 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    CHECK_EQ(pipe(gate), 0);
    CHECK_EQ(fin_chan_pair(&here, &there, NULL), 0);
    fin_finish_as(outer) {
        for (uintptr_t way = 0; way < WAYS; way++)
            fin_async_eager_call(begins, (void *)way); // each on a stack of its own
        all_wait();
        mistakes(NULL);
        CHECK_EQ(fin_thread_start(&other, mistakes, NULL), 0);
        fin_thread_join_nc(&other);
        CHECK_EQ(fin_sleep_nc(FIN_MS), 0);
        CHECK_EQ(over, 0);
        CHECK_EQ(write(gate[1], "g", 1), 1);
        fin_cancel_as(outer);
    }
    CHECK_EQ(over, WAYS);
    fin_chan_close(here);
    fin_chan_close(there);
    return 0;
}
