// SPDX-License-Identifier: BSD-2-Clause
// A server without descriptors that simply goes on: it lets others run, who make room again, and the client, which has
// waited in line, is served. In a cancelled block neither accepting nor connecting says anything else than that.
#include "chan.h"

#include <sys/resource.h>

enum { MANY = 1000 };

static struct fin_chan_listener *l;
static struct rlimit before;
static char name[64];

static void allow(rlim_t n) {
    struct rlimit r = {.rlim_cur = n, .rlim_max = before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
}

static void allow_no_more(void) {
    int next = dup(0);
    CHECK(next >= 0);
    close(next);
    allow((rlim_t)next);
}

static void accepts(void *unused) {
    struct fin_chan *c;
    int r = -EMFILE, tries = 0;
    (void)unused;
    while (r == -EMFILE && tries++ < MANY) // as servers do
        r = fin_chan_accept(l, &c);
    CHECK_EQ(r, 0);
    CHECK_EQ(fin_chan_close(c), 0);
}

static void goes_on(void) {
    allow_no_more();
    fin_finish {
        fin_async_call(accepts, NULL);
        allow(before.rlim_cur);
        struct fin_chan *c;
        CHECK_EQ(fin_chan_connect(&c, name, 0), 0);
        CHECK_EQ(fin_chan_close(c), 0);
    }
}

static int accept_forever(void) {
    struct fin_chan *c;
    int r = -EMFILE;
    for (int tries = 0; r == -EMFILE && tries < MANY; tries++)
        r = fin_chan_accept(l, &c);
    return r;
}

static void cancelled(void) {
    struct fin_chan *c;
    allow_no_more();
    fin_timeout(10 * FIN_MS) {
        CHECK_EQ(accept_forever(), -ECANCELED);
    }
    CHECK(fin_timed_out());
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_chan_accept(l, &c), -ECANCELED);
        CHECK_EQ(fin_chan_connect(&c, name, 0), -ECANCELED);
    }
    CHECK_EQ(fin_chan_accept_nc(l, &c), -EMFILE);
    CHECK_EQ(fin_chan_connect_nc(&c, name, 0), -EMFILE);
    allow(before.rlim_cur);
}

int main(void) {
    alarm(60);
    if (on_valgrind())
        SKIP("valgrind keeps the limit of descriptors to itself");
    snprintf(name, sizeof name, "@accept_descriptors-%d", (int)getpid());
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    CHECK_EQ(fin_sleep(1), 0);
    CHECK_EQ(fin_chan_listen(&l, name, NULL), 0);
    goes_on();
    cancelled();
    fin_chan_listener_close(l);
    return 0;
}
