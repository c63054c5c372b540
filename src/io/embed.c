// SPDX-License-Identifier: BSD-2-Clause
// The thread sleeps in a loop that is not ours, which waits for the epoll that the thread would sleep in itself. There is a
// timer in that, for the first time that is due. (A ring's descriptor would not do. On Linux 6.18 it tells nobody of work
// that is deferred until the thread enters the kernel, nor does an eventfd of the ring's where it is another eventfd that
// has become ready; and without deferred work the loop's own epoll_wait(2) is interrupted.)
#include <fin/embed.h>

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <fin/time.h>

#include "io/io.h"

enum { TURN = FIN_MS }; // for which it runs at most before the loop has its turn

static const uint64_t never = UINT64_MAX;

static int set(int timer, uint64_t when) {
    struct itimerspec t = {{0, 0}, {(time_t)(when / FIN_S), (long)(when % FIN_S)}};
    return timerfd_settime(timer, TFD_TIMER_ABSTIME, &t, NULL) == 0 ? 0 : -errno;
}

void fin_embed_end(struct io *io) {
    if (io->embed.timer >= 0)
        close(io->embed.timer);
    io->embed.timer = -1;
}

static int begin(struct io *io) {
    struct epoll_event e = {.events = EPOLLIN};
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    int error = timer < 0 ? -errno : set(timer, 0); // which may be denied by itself
    e.data.fd = timer;
    if (error == 0 && epoll_ctl(io->fd, EPOLL_CTL_ADD, timer, &e) != 0)
        error = -errno;
    if (error == 0)
        io->embed = (struct embed){timer, never};
    else if (timer >= 0)
        close(timer);
    return error;
}

static int of_thread(struct io **io) {
    int error = fin_io_begin_epoll(io);
    return error || (*io)->embed.timer >= 0 ? error : begin(*io);
}

int fin_embed_fd(void) {
    struct io *io;
    int error = of_thread(&io);
    return error ? error : io->fd;
}

void fin_embed_timed(struct io *io) {
    uint64_t times;
    ssize_t n = read(io->embed.timer, &times, sizeof times);
    if (n == sizeof times)
        io->embed.due = never;
}

// One that goes off too early wakes the loop in vain, once; that costs less than to set it each time that a limit of time
// was not needed.
static void wake_at(struct embed *e, uint64_t when) {
    if (e->due <= when)
        return;
    int error = set(e->timer, when);
    if (error != 0)
        fin_host_die_of("another's loop cannot be woken, as timerfd_settime(2) fails", -error, "");
    e->due = when;
}

static uint64_t first_due(const struct io *io) {
    const struct fin_timer *first = fin_timers_first(io);
    return !first ? never : first->due > never - io->slack ? never : first->due + io->slack;
}

int fin_embed_run(void) {
    uint64_t begun = fin_now();
    for (;;) {
        struct io *io;
        fin_wake_outside(fin_here());
        fin_yield();
        int error = of_thread(&io); // another in the child of a fork: by who ran
        if (error != 0)
            return error;
        bool sleeps = fin_sleep_outside(io->rt);
        if (sleeps || fin_now() - begun >= TURN) {
            wake_at(&io->embed, sleeps ? first_due(io) : 1);
            return 0;
        }
    }
}
