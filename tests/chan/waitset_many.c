// SPDX-License-Identifier: BSD-2-Clause
// Thousands of channels in a set, of which one at a time, or all, have a message: an event costs a number of looks at rings
// and system calls that does not grow with the set. FIN_CHANNELS says how many.
#include "chan.h"

#include <sys/resource.h>
#include <time.h>

static struct fin_waitset *w;
static struct fin_chan **from, **to;
static unsigned many, rounds, handled;

static void handle(void *chan) {
    unsigned number;
    CHECK_EQ(fin_chan_try_recv(*(struct fin_chan **)chan, &number, sizeof number), sizeof number);
    CHECK_EQ(number, (struct fin_chan **)chan - to);
    handled++;
}

static void dispatch(unsigned events) {
    for (unsigned before = handled; handled < before + events;)
        CHECK_EQ(fin_waitset_dispatch(w), 0);
}

static void serve(void *unused) {
    (void)unused;
    while (fin_waitset_dispatch(w) == 0) {
    }
}

static void send_to(unsigned i) { CHECK_EQ(fin_chan_send(from[i], &i, sizeof i), 0); }

static void open_all(enum kind kind, unsigned channels) {
    from = calloc(channels, sizeof *from);
    to = calloc(channels, sizeof *to);
    CHECK_EQ(fin_waitset_new(&w), 0);
    for (unsigned i = 0; i < channels; i++) {
        open_kind(kind, 4096, 0);
        from[i] = a;
        to[i] = b;
        CHECK_EQ(fin_waitset_add(w, b, handle, &to[i]), 0);
    }
}

static void close_all(unsigned channels) {
    for (unsigned i = 0; i < channels; i++) {
        CHECK_EQ(fin_chan_close(from[i]), 0);
        CHECK_EQ(fin_chan_close(to[i]), 0);
    }
    fin_waitset_close(w);
    free(from);
    free(to);
}

static double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// One event at a time, to a set that sleeps; the least of several batches, since a batch may be disturbed.
static double each_wakes(unsigned channels) {
    double least = 1e18;
    unsigned seed = 1;
    fin_finish_as(all) {
        fin_async_call(serve, NULL);
        for (int batch = 0; batch < 8; batch++) {
            double begin = cpu_now();
            for (unsigned i = 0; i < rounds / 8; i++) {
                unsigned before = handled;
                send_to(next_random(&seed) % channels);
                while (handled == before)
                    CHECK_EQ(fin_sleep(1), 0);
            }
            double spent = (cpu_now() - begin) / (rounds / 8);
            least = spent < least ? spent : least;
        }
        fin_cancel_as(all);
    }
    return least;
}

static double cost(enum kind kind, unsigned channels) {
    open_all(kind, channels);
    for (int i = 0; i < 3; i++) { // all at once: polled, and later idle
        for (unsigned n = 0; n < channels; n++)
            send_to((n * 7919 + (unsigned)i) % channels);
        dispatch(channels);
        CHECK_EQ(fin_waitset_dispatch_nonblock(w), -EAGAIN);
    }
    double ns = each_wakes(channels);
    close_all(channels);
    return ns;
}

int main(void) {
    const char *asked = getenv("FIN_CHANNELS");
    struct rlimit l;
    CHECK(getrlimit(RLIMIT_NOFILE, &l) == 0);
    l.rlim_cur = l.rlim_max;
    setrlimit(RLIMIT_NOFILE, &l);
    many = asked ? (unsigned)atoi(asked) : few(1500);
    rounds = few(1600);
    for (enum kind kind = LOCAL; kind <= SOCKET; kind++) {
        unsigned most = kind == SOCKET ? (unsigned)(l.rlim_cur - 64) / 4 : many; // four descriptors each
        most = kind == SOCKET && most > 5000 ? 5000 : most;                      // and ten mappings
        unsigned channels = many < most ? many : most;
        double one = cost(kind, 8), all = cost(kind, channels);
        fprintf(stderr, "an event among 8 channels: %.0f ns, among %u: %.0f ns\n", one, channels, all);
        CHECK(channels < 500 || getenv("FIN_FEW") || all < one * (channels / 8.0) / 8);
    }
    return 0;
}
