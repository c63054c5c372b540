// SPDX-License-Identifier: BSD-2-Clause
// A thread has one channel of c-ares, whose sockets are in one epoll. Of the AWEs that wait for answers one is the driver:
// it polls the epoll and lets c-ares work, until its own answer is there or it is cancelled; then it makes another one the
// driver. So no work outlives the calls, and no AWE exists that nobody asked for.
//
// c-ares cannot take back a single query. A cancelled one is abandoned: its answer is dropped when it comes, at the latest
// when nobody waits any more.
//
// Where a server's TCP connection breaks, c-ares 1.18 fails whatever that server was asked, also by UDP, and has no other
// server to go on with where there is one only. So who fails that way, and was not the only one, asks again, on a channel
// where it is.
#define _GNU_SOURCE
#include <fin/resolve.h>

#include <ares.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <fin/cancel.h>
#include <fin/io.h>
#include <fin/sync.h>

#include "forks.h"
#include "resolve/answer.h"

struct queries { // in the order in which they came
    struct query *first, *last;
};

struct resolver {
    ares_channel channel;
    int epoll;
    unsigned process; // whose it is, by `forks`: the child of a fork has its parent's sockets
    struct queries asked, answered; // those whose callers wait, and of these the ones that need not any more
    struct query *driver;
    struct fin_finish_block *wait; // of the driver
    uint64_t until;                // so long at most
    bool looked;                   // whether a query that has begun since is due before that
    int unwatched; // why a socket is not in the epoll, while queries may wait for it; or 0
    unsigned begun, under_way;  // queries: ever; now, also abandoned ones
    unsigned timeout_ms, tries; // as configured
    struct resolver *alone;     // those of the thread that one look-up has to itself
    struct resolver *next, **at;
};

struct query {
    struct query *next, *prev; // of those that are asked or answered
    struct fin_sem turn;      // posted when it is done or made the driver
    struct resolver *by;
    unsigned number;
    bool done, abandoned;
    bool company; // others were under way meanwhile
    int status;
    struct ares_addrinfo *found;
};

static __thread struct resolver *mine;
static pthread_key_t key;
static unsigned forks; // from the first process to this one

// Of a fork: nothing is to be taken out of its epoll, read from its sockets, or closed, as their numbers may be other files'
// by now. Its AWEs, which the child has copies of, wait there until they are cancelled, as for other I/O of the parent.
static bool is_parents(const struct resolver *r) { return r->process != forks; }

static bool in_use(const struct resolver *r) { return r->asked.first || r->answered.first || r->alone; }

static void join(struct queries *all, struct query *q) {
    q->prev = all->last;
    q->next = NULL;
    *(q->prev ? &q->prev->next : &all->first) = q;
    all->last = q;
}

static void part(struct queries *all, struct query *q) {
    *(q->prev ? &q->prev->next : &all->first) = q->next;
    *(q->next ? &q->next->prev : &all->last) = q->prev;
}

static void drop(struct query *q) {
    if (q->found)
        ares_freeaddrinfo(q->found);
    free(q);
}

static void answered(void *query, int status, int timeouts, struct ares_addrinfo *found) {
    struct query *q = query;
    (void)timeouts;
    q->by->under_way--;
    q->found = found;
    if (q->abandoned) {
        drop(q);
        return;
    }
    q->done = true;
    part(&q->by->asked, q);
    join(&q->by->answered, q);
    q->company |= q->by->begun != q->number;
    q->status = status;
    fin_sem_post(&q->turn);
}

static void watch(void *resolver, ares_socket_t fd, int in, int out) {
    struct resolver *r = resolver;
    if (is_parents(r))
        return;
    struct epoll_event e = {.events = (in ? EPOLLIN : 0u) | (out ? EPOLLOUT : 0u), .data.fd = fd};
    if (!in && !out)
        epoll_ctl(r->epoll, EPOLL_CTL_DEL, fd, NULL);
    else if (epoll_ctl(r->epoll, EPOLL_CTL_MOD, fd, &e) != 0)
        if (errno != ENOENT || epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &e) != 0)
            r->unwatched = -errno;
}

// The driver leaves: the one who waits longest is next.
static void leave(struct resolver *r, struct query *q) {
    part(q->done ? &r->answered : &r->asked, q);
    if (r->driver != q)
        return;
    r->driver = r->asked.first;
    if (r->driver)
        fin_sem_post(&r->driver->turn);
}

static void dispose(struct resolver *r) {
    for (struct query *q = r->asked.first; q; q = q->next) // a thread that ends in the middle
        q->abandoned = true;
    for (struct query *q = r->answered.first, *next; q; q = next) {
        next = q->next;
        drop(q);
    }
    ares_destroy(r->channel);
    close(r->epoll);
    free(r);
}

static void dispose_all(struct resolver *r) {
    if (is_parents(r))
        return; // who waits there may still be cancelled; and its numbers may be others' by now
    for (struct resolver *next, *alone = r->alone; alone; alone = next) {
        next = alone->next;
        dispose(alone);
    }
    dispose(r);
}

static void end(void *resolver) {
    mine = NULL;
    dispose_all(resolver);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// The child of a fork has not the thread that may have had the lock.
static void forget_parent(void) {
    pthread_mutex_init(&lock, NULL);
    forks++;
    if (mine && !in_use(mine)) { // while the numbers of its descriptors are these
        pthread_setspecific(key, NULL);
        dispose(mine);
        mine = NULL;
    }
}

// What fails may not fail later.
static int prepare(void) {
    static bool watched, made;
    int error = fin_watch_forks(&watched, forget_parent);
    if (error)
        return error;
    pthread_mutex_lock(&lock);
    if (!made)
        error = fin_resolve_error_(ares_library_init(ARES_LIB_INIT_ALL));
    if (!made && error == 0) {
        error = -pthread_key_create(&key, end);
        made = error == 0;
        if (!made)
            ares_library_cleanup();
    }
    pthread_mutex_unlock(&lock);
    return error;
}

// c-ares has ints, negative ones go round at once; it doubles the time with each try, and multiplies the tries.
static int at_most(unsigned n, int most) { return n < (unsigned)most ? (int)n : most; }

// c-ares would go on without /etc/resolv.conf, or /etc/hosts, where it cannot open it for a lack of descriptors.
static int has_descriptors(void) {
    int fd = open("/", O_PATH | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd < 0 && (errno == EMFILE || errno == ENFILE) ? -errno : 0;
}

// Is it what a filter answers? The kernel may, too.
static bool is_denial(int error) { return error == -EPERM || error == -EACCES || error == -ENOSYS; }

#define DENIED(call) ((call) < 0 && is_denial(-errno))

// Of what c-ares does with sockets it says only that nobody answers. A filter sees a call before the kernel sees that there
// is no such descriptor.
static int denied_socket(void) {
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return is_denial(-errno) ? -errno : 0;
    close(fd);
    bool denied = DENIED(connect(-1, NULL, 0)) || DENIED(send(-1, NULL, 0, 0)) || DENIED(writev(-1, NULL, 0)) ||
                  DENIED(recvfrom(-1, NULL, 0, 0, NULL, NULL)) || DENIED(fcntl(-1, F_GETFL)) ||
                  DENIED(setsockopt(-1, SOL_SOCKET, SO_RCVBUF, NULL, 0));
    return denied ? -errno : 0;
}

static int begin_epoll(struct resolver *r) {
    struct epoll_event none;
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    return r->epoll < 0 || (epoll_wait(r->epoll, &none, 1, 0) < 0 && errno != EINTR) ? -errno : 0;
}

static int begin_channel(struct resolver *r) {
    int mask = ARES_OPT_SOCK_STATE_CB;
    struct ares_options o = {.sock_state_cb = watch, .sock_state_cb_data = r};
    r->process = forks;
    int error = begin_epoll(r);
    if (r->timeout_ms) {
        o.timeout = at_most(r->timeout_ms, INT_MAX);
        mask |= ARES_OPT_TIMEOUTMS;
    }
    if (r->tries) {
        o.tries = at_most(r->tries, 30);
        mask |= ARES_OPT_TRIES;
    }
    if (error == 0)
        error = has_descriptors();
    return error ? error : fin_resolve_error_(ares_init_options(&r->channel, &o, mask));
}

static void fail(struct resolver *r) { // that has not begun
    if (r->channel)
        ares_destroy(r->channel);
    if (r->epoll >= 0)
        close(r->epoll);
    free(r);
}

// The thread's first one, or one in place of another, which stays where this fails.
static int begin(const struct fin_resolve_config *c) {
    struct resolver *before = mine;
    int error = c && c->servers && !fin_resolve_are_servers_(c->servers) ? -EINVAL : prepare();
    struct resolver *r = error ? NULL : calloc(1, sizeof *r);
    if (!r)
        return error ? error : -ENOMEM;
    r->timeout_ms = c ? c->timeout_ms : 0;
    r->tries = c ? c->tries : 0;
    error = begin_channel(r);
    if (error == 0 && c && c->servers) {
        int status = ares_set_servers_ports_csv(r->channel, c->servers);
        error = status == ARES_SUCCESS ? 0 : status == ARES_ENOMEM ? -ENOMEM : -EINVAL;
    }
    if (error == 0)
        error = -pthread_setspecific(key, r);
    if (error) {
        fail(r);
        return error;
    }
    mine = r;
    if (before)
        dispose_all(before);
    return 0;
}

int fin_resolve_configure(const struct fin_resolve_config *config) {
    return mine && in_use(mine) && !is_parents(mine) ? -EBUSY : begin(config);
}

// When c-ares has something to do, whatever comes. It rounds down to a millisecond, and within the last one would be asked
// again and again.
static uint64_t due(const struct resolver *r) {
    struct timeval room, *t = ares_timeout(r->channel, NULL, &room);
    return fin_now() + (t ? (uint64_t)t->tv_sec * FIN_S + (uint64_t)t->tv_usec * FIN_US + FIN_MS : FIN_S);
}

// The time of a query that has begun may be over before that of those which the driver knew of when it went to sleep. (What
// is due at the same time may seem to be due up to a millisecond earlier.) Those that begin after the first are due after
// it, and c-ares looks at all queries to say what is due.
static void tell_driver(struct resolver *r) {
    if (!r->wait || r->looked)
        return;
    r->looked = true;
    if (due(r) + 2 * FIN_MS < r->until)
        fin_cancel_block(r->wait);
}

// Waits until a socket is ready or a time-out of c-ares is over, and lets it work.
static FIN_BLOCKING int drive(struct resolver *r) {
    int n = 0;
    if (r->unwatched)
        return r->unwatched;
    r->until = due(r);
    r->looked = false;
    fin_deadline(r->until) {
        r->wait = fin_this_block();
        n = fin_poll(r->epoll, POLLIN);
        r->wait = NULL;
    }
    if (n < 0 && (n != -ECANCELED || fin_cancelled()))
        return n;
    if (is_parents(r)) // since this one was made to go on
        return 0;
    struct epoll_event e[16];
    n = epoll_wait(r->epoll, e, 16, 0);
    if (n < 0 && is_denial(-errno))
        return -errno;
    if (n <= 0)
        ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    for (int i = 0; i < n; i++)
        ares_process_fd(r->channel, e[i].events & ~(uint32_t)EPOLLOUT ? e[i].data.fd : ARES_SOCKET_BAD,
                        e[i].events & ~(uint32_t)EPOLLIN ? e[i].data.fd : ARES_SOCKET_BAD);
    return 0;
}

static FIN_BLOCKING int await(struct resolver *r, struct query *q) {
    int error = 0;
    while (!q->done && error == 0) {
        if (!r->driver)
            r->driver = q;
        error = r->driver == q && !is_parents(r) ? drive(r) : fin_sem_wait(&q->turn);
    }
    leave(r, q);
    return q->done ? 0 : error;
}

static FIN_BLOCKING int look_up(struct resolver *r, const char *host, const struct wanted *w, struct addrinfo **out,
                                bool *company) {
    const struct ares_addrinfo_hints hints = {.ai_flags = w->named ? ARES_AI_CANONNAME : 0, .ai_family = w->family};
    struct query *q = calloc(1, sizeof *q);
    if (!q)
        return -ENOMEM;
    fin_sem_init(&q->turn, 0);
    join(&r->asked, q);
    q->by = r;
    q->number = ++r->begun;
    q->company = r->under_way++ > 0;
    if (!q->company)
        r->unwatched = 0; // that socket is closed by now
    ares_getaddrinfo(r->channel, host, NULL, &hints, answered, q);
    if (!q->done)
        tell_driver(r);
    int error = await(r, q);
    bool done = q->done;
    q->abandoned = !done;
    if (!r->asked.first && r->under_way && !is_parents(r)) // nobody waits: all that is left is abandoned
        ares_cancel(r->channel);
    if (!done)
        return error;
    error = fin_resolve_error_(q->status);
    if (error == 0)
        error = fin_resolve_answer_(q->found, w, out);
    *company = q->company;
    drop(q);
    return error;
}

// A resolver of the same servers, for one look-up.
static int begin_alone(struct resolver **out) {
    struct resolver *r = calloc(1, sizeof *r);
    struct ares_addr_port_node *servers = NULL;
    if (!r)
        return -ENOMEM;
    r->timeout_ms = mine->timeout_ms;
    r->tries = mine->tries;
    int error = begin_channel(r);
    if (error == 0)
        error = fin_resolve_error_(ares_get_servers_ports(mine->channel, &servers));
    if (error == 0 && servers)
        error = fin_resolve_error_(ares_set_servers_ports(r->channel, servers));
    ares_free_data(servers);
    if (error) {
        fail(r);
        return error;
    }
    r->next = mine->alone;
    r->at = &mine->alone;
    if (r->next)
        r->next->at = &r->next;
    mine->alone = r;
    *out = r;
    return 0;
}

static FIN_BLOCKING int look_up_alone(const char *host, const struct wanted *w, struct addrinfo **out) {
    struct resolver *r;
    bool company;
    int error = begin_alone(&r);
    if (error)
        return error;
    error = look_up(r, host, w, out, &company);
    *r->at = r->next;
    if (r->next)
        r->next->at = r->at;
    if (!is_parents(r))
        dispose(r);
    return error;
}

// Without a descriptor c-ares has no socket, and says that nobody answers there; and libc has no /etc/services,
// and no socket to ask for the number of an interface.
static int for_lack_of_descriptors(int error) {
    bool maybe = error == -ECONNREFUSED || error == -ESRCH || error == -EINVAL;
    int lack = maybe ? has_descriptors() : 0;
    if (lack == 0 && error == -ECONNREFUSED)
        lack = denied_socket();
    return lack ? lack : error;
}

static FIN_BLOCKING int ask(const char *host, const struct wanted *w, struct addrinfo **out) {
    bool company = false;
    int error = mine && !is_parents(mine) ? has_descriptors() : begin(NULL);
    if (error)
        return error;
    error = look_up(mine, host, w, out, &company);
    if (error == -ECONNREFUSED && company)
        error = look_up_alone(host, w, out);
    return for_lack_of_descriptors(error);
}

int fin_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out) {
    struct wanted w;
    if (!host || !*host)
        return -EINVAL;
    int error = fin_resolve_wanted_(&w, service, hints);
    if (error)
        return for_lack_of_descriptors(error);
    if (fin_cancelled())
        return -ECANCELED;
    error = fin_resolve_number_(&w, host, out);
    if (error != -ENOENT)
        return error;
    if (w.flags & AI_NUMERICHOST || strchr(host, ':')) // which no name has; servers would be asked all the same
        return for_lack_of_descriptors(-EINVAL);
    return ask(host, &w, out);
}

int fin_getaddrinfo_nc(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out) {
    int error = 0;
    fin_finish_nc {
        error = fin_getaddrinfo(host, service, hints, out);
    }
    return error;
}
