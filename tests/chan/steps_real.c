// SPDX-License-Identifier: BSD-2-Clause
// Steps that are the processor's own transactions: another thread's message, or another process's, aborts one, is handled at
// once, and nothing of what the aborted one did is left; that process need not signal. One that can never commit, for a
// system call or for its size, runs plainly, once.
// (steps_aborted.c has the scenes that cannot be had at will.)
#include "alert.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "rtm.h"

static unsigned conflicts; // aborts by what another processor wrote or read

static inline unsigned begin(void) {
    unsigned status = fin_rtm_begin();
    conflicts += status != FIN_RTM_STARTED && status & 1 << 2;
    return status;
}
#define fin_rtm_begin begin
#include "../../src/chan/step.c"

// A step takes some ten microseconds, so that interrupts of a busy machine abort few; caches keep less for a transaction.
enum { ROUNDS = 200, MESSAGES = 100, TURNS = 10000, LARGE = 1 << 20 };

static struct fin_chan *from;
static unsigned volatile wanted;
// What steps write lies by itself: another processor's look at its line aborts, too, or at the next, which is fetched along.
static struct {
    unsigned begun, ended, seen;
    char rest[500];
} all_steps __attribute__((aligned(512)));
static unsigned char large[LARGE];

static void sends(void *unused) {
    (void)unused;
    for (unsigned i = 0;; i++) {
        while (wanted <= i && !over)
            fin_sleep(FIN_MS / 10);
        if (over)
            break;
        while (handled < i) {
        }
        for (unsigned volatile spin = i * 7919 % TURNS; spin; spin--) {
        }
        CHECK_EQ(fin_chan_send(from, &i, sizeof i), 0);
    }
}

static void step(void *unused) {
    (void)unused;
    all_steps.begun++;
    all_steps.seen = handled;
    for (unsigned volatile spin = 0; spin < TURNS; spin++) {
    }
    all_steps.ended++;
}

// One round. Was it as it is where nothing else runs? Most come in the middle of a step: those between two steps, and in
// what an interrupt had run plainly, are few. And many are conflicts, unless both threads have to share a processor; and few
// conflicts are anything but a message. (On a busy machine one may be: who sends is interrupted in between, or after it.)
static bool messages_come(void) {
    static unsigned done;
    unsigned amidst = 0, first = conflicts;
    unsigned unexplained = 0; // conflicts that no message followed in the same step
    wanted += MESSAGES;
    while (handled < wanted) {
        unsigned before = handled, already = conflicts;
        int aborts = fin_monitored_step(step, NULL);
        amidst += aborts > 0 ? handled - before : 0;
        if (conflicts - already > handled - before)
            unexplained += conflicts - already - (handled - before);
        CHECK_EQ(all_steps.begun, ++done);
        CHECK_EQ(all_steps.ended, done);
        CHECK_EQ(all_steps.seen, handled);
    }
    fprintf(stderr, "%u of %u messages came in the middle of a step, %u conflicts, %u unexplained, %u steps\n", amidst,
            MESSAGES, conflicts - first, unexplained, done);
    return amidst > MESSAGES * 3 / 4 && unexplained <= (conflicts - first) / 4 &&
           (conflicts - first > MESSAGES / 3 || sysconf(_SC_NPROCESSORS_ONLN) == 1);
}

static void calls(void *count) {
    syscall(SYS_getppid);
    ++*(unsigned *)count;
}

static void writes(void *count) {
    for (unsigned i = 0; i < LARGE; i += 64)
        large[i]++;
    ++*(unsigned *)count;
}

static void never_commit(void) {
    unsigned called = 0, written = 0;
    CHECK_EQ(fin_monitored_step(calls, &called), 3);
    CHECK_EQ(called, 1);
    CHECK_EQ(fin_monitored_step(writes, &written), 3);
    CHECK_EQ(written, 1);
    for (unsigned i = 0; i < LARGE; i += 64)
        CHECK_EQ(large[i], 1);
}

static void scenes(void) {
    for (unsigned round = 1; !messages_come(); round++)
        CHECK(round < ROUNDS);
    over = true;
}

static void beside(enum kind kind) {
    handled = wanted = conflicts = 0;
    over = false;
    open_set(kind, 1);
    from = a;
    if (kind == PAIR)
        never_commit();
    beside_sender(sends, scenes);
}

int main(void) {
    needs_signals();
    if (strstr(fin_alert_backend(), "no RTM"))
        SKIP("this processor has no transactions");
    beside(PAIR);
    beside(SOCKET);
    return 0;
}
