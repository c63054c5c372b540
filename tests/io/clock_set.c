// SPDX-License-Identifier: BSD-2-Clause
// A timer that is cancelled when the clock is set (timerfd_create(2)) says ECANCELED to a read, once. No cancel of ours has
// to do with it: the read is not made again, and in a chain it counts as begun. (To set the clock is for root, so the ring's
// word is made that one.)
#include <fin/fixed.h>
#include <fin/linked.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

#include "on_call.h"

#include "io/uring.h"

static int fd;
static uint64_t times;
static struct iovec place = {&times, sizeof times};

CALL(reads_on, fin_read_on(&on, fd, &times, sizeof times, REST))

static void without_stack(void *unused) {
    (void)unused;
    run(reads_on);
}

static void reads(void *unused) {
    (void)unused;
    result = (int)fin_read(fd, &times, sizeof times);
}

static void reads_vectors(void *unused) {
    (void)unused;
    result = (int)fin_readv_nc(fd, &place, 1);
}

static void reads_in_chain(void *unused) {
    struct fin_step s = fin_step_read(fd, &times, sizeof times);
    (void)unused;
    CHECK_EQ(fin_linked(&s, 1), 0);
    result = (int)s.result;
}

// The kernel's word for what has just completed.
static void say_cancelled(struct io *io) {
    struct io_uring *ring = &io->uring.ring;
    for (int left = 1; left > 0;) {
        struct io_uring_cqe *c;
        CHECK(io_uring_submit_and_wait(ring, 1) >= 0);
        for (unsigned head = *ring->cq.khead; head != *ring->cq.ktail; head++) {
            c = &ring->cq.cqes[head & ring->cq.ring_mask];
            left -= c->user_data > TO_WAKE;
            c->res = c->user_data > TO_WAKE ? -ECANCELED : c->res;
        }
    }
}

static void is_told(struct io *io, void (*how)(void *)) {
    const struct itimerspec each_ms = {{0, 1000000}, {0, 1}};
    int timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC);
    int number = fin_file_register(timer);
    for (int i = 0; i < (how == without_stack ? 1 : 2); i++) { // a registered number's wait has a stack
        fd = i ? number : timer;
        result = -EINPROGRESS;
        fin_finish {
            fin_async_call(how, NULL);
            fin_yield();
            CHECK_EQ(timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &each_ms, NULL), 0);
            say_cancelled(io);
        }
        CHECK_EQ(result, -ECANCELED);
        CHECK_EQ(timerfd_settime(timer, 0, &(struct itimerspec){0}, NULL), 0);
    }
    CHECK_EQ(fin_file_unregister(number), 0);
    close(timer);
}

int main(void) {
    struct io *io;
    CHECK_EQ(fin_io_here(&io), 0);
    if (io->backend != &fin_io_uring)
        SKIP("without a ring nothing else says that word");
    is_told(io, reads);
    is_told(io, reads_vectors);
    is_told(io, without_stack);
    is_told(io, reads_in_chain);
    return 0;
}
