// SPDX-License-Identifier: BSD-2-Clause
// Connecting to one of several addresses: in which order and when attempts begin, that one is returned and all others have
// ended, what is said where none gets through, and races of cancel against connections. No descriptor is left.
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sys/resource.h>

#include "net.h"

#define LONG (1000 * FIN_S)

enum { MOST = 8 };

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
};

struct list {
    struct addrinfo info[MOST];
    union address address[MOST];
    int count;
};

static void add(struct list *l, const void *address, socklen_t size, int type) {
    struct addrinfo *a = &l->info[l->count];
    memcpy(&l->address[l->count], address, size);
    *a = (struct addrinfo){.ai_family = l->address[l->count].any.sa_family, .ai_socktype = type, .ai_addrlen = size,
                           .ai_addr = &l->address[l->count].any};
    if (l->count++)
        a[-1].ai_next = a;
}

static void add_in(struct list *l, const struct sockaddr_in *a) { add(l, a, sizeof *a, SOCK_STREAM); }

// Nobody listens there.
static void add_refusing(struct list *l) {
    struct sockaddr_in a;
    close(tcp_listen(&a, -1));
    add_in(l, &a);
}

static void add_unix_refusing(struct list *l) {
    static const struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "/no/such/socket"};
    add(l, &a, sizeof a, SOCK_STREAM);
}

// No socket is of that family.
static void add_out_of_reach(struct list *l) {
    static const struct sockaddr_un a = {.sun_family = AF_MAX + 1};
    add(l, &a, sizeof a, SOCK_STREAM);
}

static int listen_in(struct list *l) {
    struct sockaddr_in a;
    int fd = tcp_listen(&a, 8);
    CHECK_EQ(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    add_in(l, &a);
    return fd;
}

static int listen_unix(struct list *l) {
    struct sockaddr_un a;
    socklen_t size;
    int fd = unix_listen(&a, &size, 8);
    CHECK_EQ(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    add(l, &a, size, SOCK_STREAM);
    return fd;
}

// How many connections have come, which are closed, and how many bytes by them.
static int came(int listener, int *bytes) {
    char c;
    int n = 0;
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; n++) {
        while (recv(fd, &c, 1, 0) > 0)
            ++*bytes;
        close(fd);
    }
    return n;
}

// It is connected to that one, and is closed on exec.
static void is_to(int fd, const struct addrinfo *to) {
    union address a;
    socklen_t size = sizeof a;
    CHECK(fd >= 0);
    CHECK_EQ(getpeername(fd, &a.any, &size), 0);
    CHECK_EQ(memcmp(&a, to->ai_addr, to->ai_addrlen), 0);
    CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
}

static int unused; // bytes

static FIN_BLOCKING void in_order(void) {
    struct list l = {.count = 0};
    add_refusing(&l);
    int first = listen_in(&l), second = listen_in(&l);
    is_to(fin_connect_any(l.info, LONG), &l.info[1]);
    is_to(fin_connect_any(&l.info[2], LONG), &l.info[2]);
    CHECK(came(first, &unused) == 1 && came(second, &unused) == 1);
    close(first);
    close(second);
}

static FIN_BLOCKING void families_take_turns(void) {
    struct list l = {.count = 0};
    add_refusing(&l);
    int first = listen_in(&l), second = listen_unix(&l);
    is_to(fin_connect_any(l.info, LONG), &l.info[2]);
    CHECK(came(first, &unused) == 0 && came(second, &unused) == 1);
    close(first);
    close(second);
}

// What is of no stream is passed over; and one that is last of its family, and first.
static FIN_BLOCKING void families_mixed(void) {
    struct list l = {.count = 0};
    struct sockaddr_in a;
    int bound = tcp_listen(&a, -1);
    add(&l, &a, sizeof a, SOCK_DGRAM);
    CHECK_EQ(fin_connect_any(l.info, LONG), -EINVAL);
    CHECK_EQ(fin_connect_any(NULL, LONG), -EINVAL);
    add_unix_refusing(&l);
    add_refusing(&l);
    add_unix_refusing(&l);
    add_out_of_reach(&l);
    int first = listen_in(&l), second = listen_unix(&l);
    is_to(fin_connect_any(l.info, LONG), &l.info[6]);
    CHECK(came(first, &unused) == 0 && came(second, &unused) == 1);
    close(second);
    is_to(fin_connect_any(l.info, LONG), &l.info[5]);
    close(first);
    close(bound);
}

static FIN_BLOCKING void none_gets_through(void) {
    struct list l = {.count = 0};
    add_out_of_reach(&l);
    add_refusing(&l);
    add_unix_refusing(&l);
    CHECK_EQ(fin_connect_any(&l.info[2], LONG), -ENOENT);
    CHECK_EQ(fin_connect_any(&l.info[1], LONG), -ECONNREFUSED); // the first to fail
    CHECK_EQ(fin_connect_any(l.info, LONG), -ECONNREFUSED);
    struct sockaddr_in group = {.sin_family = AF_INET, .sin_port = htons(9)};
    inet_pton(AF_INET, "224.0.0.1", &group.sin_addr); // nobody connects to that
    l.info[0].ai_next = NULL;
    CHECK_EQ(fin_connect_any(l.info, LONG), -EAFNOSUPPORT);
    add_in(&l, &group);
    l.info[0].ai_next = &l.info[3];
    CHECK_EQ(fin_connect_any(l.info, LONG), -EAFNOSUPPORT);
    l.info[2].ai_next = l.info;
    CHECK_EQ(fin_connect_any(&l.info[2], LONG), -ENOENT);
}

// One that leads nowhere holds up the others for the delay, and has ended afterwards.
static FIN_BLOCKING void one_leads_nowhere(void) {
    struct full_listener full;
    struct list l = {.count = 0};
    listen_and_fill(&full);
    add_in(&l, &full.address);
    add_in(&l, &full.address);
    int listener = listen_in(&l);
    is_to(fin_connect_any(l.info, FIN_MS), &l.info[2]);
    uint64_t begin = fin_now();
    fin_timeout(5 * FIN_MS) {
        CHECK_EQ(fin_connect_any(l.info, LONG), -ECANCELED); // the next one is not due
    }
    CHECK(fin_now() - begin >= 5 * FIN_MS);
    CHECK_EQ(came(listener, &unused), 1);
    close(listener);
    close_filled(&full);
}

static FIN_BLOCKING void cancelled_before(void) {
    struct list l = {.count = 0};
    int listener = listen_in(&l);
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_connect_any(l.info, LONG), -ECANCELED);
        CHECK_EQ(came(listener, &unused), 0);
        is_to(fin_connect_any_nc(l.info, LONG), l.info);
    }
    CHECK_EQ(came(listener, &unused), 1);
    close(listener);
}

// It waits for the last one, however much later than the delay that is through.
static FIN_BLOCKING void comes_late(void) {
    fin_shared struct list l = {.count = 0};
    struct sockaddr_un a;
    socklen_t size;
    int listener = unix_listen(&a, &size, 0), first = socket(AF_UNIX, SOCK_STREAM, 0);
    fin_shared int fd = -1;
    add(&l, &a, size, SOCK_STREAM);
    CHECK_EQ(connect(first, (struct sockaddr *)&a, size), 0); // its queue is full
    fin_finish {
        fin_async { fd = fin_connect_any(l.info, 0); };
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        CHECK_EQ(fd, -1);
        close(accept(listener, NULL, NULL));
    }
    is_to(fd, l.info);
    close(first);
    close(listener);
}

// A thread that ends in the middle of it leaves no socket behind, of those that lead nowhere or of one that is through.
static FIN_BLOCKING void connects(void *list) { fin_connect_any(list, FIN_MS); }

static void *ends_early(void *list) {
    fin_finish {
        fin_async_eager_call(connects, list);
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
        pthread_exit(NULL);
    }
    return NULL;
}

static void thread_ends(void) {
    struct full_listener full;
    struct list l = {.count = 0};
    pthread_t t;
    listen_and_fill(&full);
    add_in(&l, &full.address);
    add_in(&l, &full.address);
    int before = open_descriptors();
    CHECK_EQ(pthread_create(&t, NULL, ends_early, l.info), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    until_open_descriptors(before);
    close_filled(&full);
}

static FIN_BLOCKING void without_descriptors(void) {
    struct list l = {.count = 0};
    struct rlimit before, few;
    int listener = listen_in(&l);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){(rlim_t)listener, before.rlim_max};
    for (int fd; (fd = dup(listener)) >= 0 && fd < listener;)
        continue;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    CHECK_EQ(fin_connect_any(l.info, LONG), -EMFILE);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    close(listener);
}

// ---- races

// Whatever comes of it: one connection is the caller's, or none, and the other ends of all others have ended.
static FIN_BLOCKING int one_race(unsigned *seed) {
    struct list l = {.count = 0};
    int listener[MOST], count = 0, bytes = 0, fd = -1;
    for (unsigned i = 0, n = 1 + next_random(seed) % 5; i < n; i++) {
        unsigned what = next_random(seed) % 6;
        if (what == 0)
            add_refusing(&l);
        else if (what == 1)
            add_unix_refusing(&l);
        else
            listener[count++] = what < 4 ? listen_in(&l) : listen_unix(&l);
    }
    uint64_t delay = next_random(seed) % 3 ? next_random(seed) % (60 * FIN_US) : 0;
    fin_timeout(next_random(seed) % 2 ? next_random(seed) % (300 * FIN_US) : FIN_S) {
        fd = fin_connect_any(l.info, delay);
    }
    CHECK(fd >= 0 || fd == -ECANCELED || fd == -ECONNREFUSED || fd == -ENOENT);
    CHECK(fd >= 0 || fd == -ECANCELED || count == 0);
    if (fd >= 0) {
        CHECK_EQ(send(fd, "x", 1, 0), 1);
        close(fd);
    }
    while (count > 0) {
        came(listener[--count], &bytes);
        close(listener[count]);
    }
    CHECK_EQ(bytes, fd >= 0);
    return fd;
}

static FIN_BLOCKING void races(void) {
    unsigned seed = 7;
    int rounds = getenv("FIN_FEW") ? 300 : 5000, won = 0, cancelled = 0;
    for (int i = 0; i < rounds; i++) {
        int fd = one_race(&seed);
        won += fd >= 0;
        cancelled += fd == -ECANCELED;
    }
    CHECK(won > 0 && cancelled > 0);
}

int main(void) {
    CHECK_EQ(fin_sleep(1), 0); // the thread has what it waits with
    int before = open_descriptors();
    in_order();
    families_take_turns();
    families_mixed();
    none_gets_through();
    one_leads_nowhere();
    cancelled_before();
    comes_late();
    thread_ends();
    races();
    CHECK_EQ(open_descriptors(), before);
    without_descriptors();
    return 0;
}
