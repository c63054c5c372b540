// SPDX-License-Identifier: BSD-2-Clause
// Names: answers that are there, that are not, that come later or never; several at a time. The memory of c-ares is ours.
#define _GNU_SOURCE
#include <ares.h>
#include <poll.h>
#include <sys/prctl.h>

#include "dns.h"
#include "fault.h"

const int threads = 0;

static struct dns dns;

static void *get(size_t n) { return malloc(n); }
static void *resize(void *p, size_t n) { return realloc(p, n); }
static void give_back(void *p) {
    if (p)
        free(p);
}

// The server is a process of its own, in which nothing fails.
static void begin(void) {
    CHECK_EQ(ares_library_init_mem(ARES_LIB_INIT_ALL, get, give_back, resize), ARES_SUCCESS);
    dns_open(&dns);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dns_serve(&dns);
        _exit(0);
    }
}
void (*const prepare)(void) = begin;

// A query whose packet could not be sent, or whose socket is not watched, comes to its time limit.
static bool asked(int r) { return fine(r == -ETIMEDOUT && spoiled() ? -ECANCELED : r); }

static void look_up(const char *name, int expected) {
    struct addrinfo *a = NULL;
    int r = fin_getaddrinfo(name, NULL, &v4, &a);
    asked(r == expected ? 0 : r);
    CHECK((a != NULL) == (r == 0));
    fin_freeaddrinfo(a);
}

static void found(void *name) { look_up(name, 0); }
static void not_found(void *name) { look_up(name, -ENOENT); }
static void reset(void *name) { look_up(name, -ECONNREFUSED); }

static void never(void *name) {
    struct addrinfo *a = NULL;
    int r = fin_getaddrinfo(name, NULL, &v4, &a);
    CHECK(r < 0);
    asked(r == -ECANCELED ? 0 : r);
}

// To the server, which has a port for TCP, too. One family is enough.
static void connects(void *unused) {
    (void)unused;
    int fd = fin_connect_host("k.test.", strchr(dns.servers, ':') + 1);
    asked(fd < 0 ? fd : 0);
    if (fd >= 0)
        close(fd);
}

void scenario(void) {
    if (!fine(fin_resolve_configure(&(struct fin_resolve_config){dns.servers, 1000, 1})))
        return;
    found("a.test");
    fin_finish {
        fin_async_eager_call(found, "b.test");
        fin_async_eager_call(not_found, "n.test");
        fin_async_eager_call(found, "t.test");
    }
    fin_finish { // the first one asks again, by itself
        fin_async_eager_call(found, "l.test.");
        fin_async_eager_call(reset, "r.test.");
    }
    connects(NULL);
    fin_timeout(5 * FIN_MS) {
        fin_async_eager_call(never, "s.test");
    }
}
