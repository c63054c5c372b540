// SPDX-License-Identifier: BSD-2-Clause
// Three wait for connections at one listener. The second is cancelled, and told of two that come then; the first has taken
// another one by the time that it is to look for more: the third gets its own all the same. And that a thread has no I/O, as
// it can have no descriptor, is no concern of who tells others.
#include <fin/thread.h>

#include <sys/resource.h>

#include "accepts.h"

static int accepted;
static struct fin_acceptor *acceptor;

static void took(int fd) {
    if (fd == -ECANCELED)
        return;
    CHECK(fd >= 0);
    close(fd);
    accepted++;
}

static void takes(void *unused) {
    (void)unused;
    took(fin_acceptor_next(acceptor));
}

static void wait_in_kernel(void) { CHECK_EQ(fin_sleep_nc(FIN_MS / 2), 0); }

static void three(bool with_acceptor) {
    accepted = 0;
    fin_event_init(&comes);
    CHECK_EQ(fin_acceptor_open(&acceptor, listener, 0), 0);
    fin_finish {
        if (with_acceptor)
            fin_async_call(takes, NULL);
        else
            fin_async_call(accepts, NULL);
        wait_in_kernel();
        fin_async_call(is_cancelled, NULL);
        wait_in_kernel();
        fin_async_call(accepts, NULL);
        wait_in_kernel();
        fin_event_advance(&comes, 1);
    }
    int kept = fin_acceptor_close(acceptor);
    CHECK(accepted + kept == CLIENTS || (accepted == CLIENTS - 1 && kept == 0)); // epoll: the cancelled one has none
    close_clients();
}

static void has_none(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(1), -EMFILE);
}

static void without_descriptors(void) {
    struct fin_thread_handle thread;
    struct rlimit all, none;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &all), 0);
    none = all;
    none.rlim_cur = 3;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK_EQ(fin_thread_start(&thread, has_none, NULL), 0);
    fin_thread_join_nc(&thread);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &all), 0);
}

int main(void) {
    for (is_tcp = false;; is_tcp = true) {
        listen_here();
        three(false);
        if (!is_tcp) { // with TCP the acceptor may take all, for later
            without_descriptors();
            three(true);
        }
        close(listener);
        if (is_tcp)
            return 0;
    }
}
