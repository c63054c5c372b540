// SPDX-License-Identifier: BSD-2-Clause
// AWEs of several threads wait for connections at a few listeners, in all ways, and are cancelled and timed out at random,
// with clients that come in the same batch as the cancel, and others from a thread without Fin. Then all is calm: nobody is
// cancelled, and no client comes. At no listener may anybody wait beside a connection then; and none was lost.
// FIN_SEED=n FIN_ROUNDS=n in the environment: others, and more.
#include <fin/fixed.h>
#include <fin/on.h>
#include <fin/stream.h>
#include <fin/sync.h>
#include <fin/thread.h>

#include <poll.h>
#include <pthread.h>

#include "net.h"
#include "process.h"

enum { LISTENERS = 3, MOST = 8, THREADS = 3, CLIENTS = 4096 };
enum how { STACK, WITHOUT_STACK, ACCEPTOR, ACCEPTOR_WITHOUT_STACK, REGISTERED, WAYS };

static struct listener {
    union {
        struct sockaddr any;
        struct sockaddr_un un;
        struct sockaddr_in in;
    } name;
    socklen_t size;
    bool is_tcp;
    int fd;
    _Atomic int waiting, accepted, tried;
} listeners[LISTENERS];

static _Atomic bool calm, over;
static _Atomic int calmed, progress, client_count;
static int clients[CLIENTS], thread_count, waiter_count, calls;
static unsigned seed;
static __thread unsigned own_seed;

static unsigned chance(unsigned n) { return next_random(&own_seed) % n; }

// Of a thread.
struct side {
    struct fin_acceptor *acceptors[LISTENERS];
    int numbers[LISTENERS];
};

struct one {
    struct side *side;
    int at; // which listener
    enum how how;
    bool is_cancelled;
    struct fin_on on;
};

static void told(struct one *o, int fd) {
    listeners[o->at].waiting--;
    progress++;
    if (fd >= 0) {
        close(fd);
        listeners[o->at].accepted++;
    } else {
        CHECK(fd == -ECANCELED && (o->is_cancelled || over));
    }
}

static void ended(void *one, int fd) {
    told(*(struct one **)one, fd);
    fin_cont_end();
}

static void begins(void *one, int r) {
    struct one *o = *(struct one **)one;
    listeners[o->at].waiting++;
    r = o->how == WITHOUT_STACK ? fin_accept_on(&o->on, listeners[o->at].fd, 0, ended, &o, sizeof o)
                                : fin_acceptor_next_on(o->side->acceptors[o->at], &o->on, ended, &o, sizeof o);
    CHECK_EQ(r, 0);
}

static void accepts(void *one) {
    struct one *o = one;
    if (o->how == WITHOUT_STACK || o->how == ACCEPTOR_WITHOUT_STACK) {
        fin_finish {
            CHECK(fin_async_cont(begins, &o, sizeof o) != NULL);
        }
        return;
    }
    listeners[o->at].waiting++;
    told(o, o->how == ACCEPTOR ? fin_acceptor_next(o->side->acceptors[o->at])
                               : fin_accept(o->how == STACK ? listeners[o->at].fd : o->side->numbers[o->at], NULL, NULL));
}

static void pause_here(void) {
    unsigned n = chance(8);
    if (n == 0)
        fin_sleep_nc(chance(200) * FIN_US);
    for (; n > 4; n--)
        fin_yield();
}

static void connects(struct listener *l, bool by_fin) {
    int i = client_count++, fd = socket(l->is_tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
    CHECK(i < CLIENTS && fd >= 0);
    l->tried++;
    CHECK_EQ(by_fin ? fin_connect_nc(fd, &l->name.any, l->size) : connect(fd, &l->name.any, l->size), 0);
    clients[i] = fd;
    progress++;
}

static void connects_once(void *listener) { connects(listener, true); }

static void accepts_until_cancelled(struct one *o) {
    if (chance(2)) {
        fin_timeout(chance(300) * FIN_US) {
            accepts(o);
        }
        return;
    }
    fin_finish {
        fin_async_call(accepts, o);
        pause_here();
        if (chance(4))
            fin_sleep_nc(chance(100) * FIN_US);
        fin_cancel();
        for (unsigned n = chance(2) ? chance(5) : 0; n; n--)
            fin_async_call(connects_once, &listeners[o->at]);
    }
}

static void waits(void *one) {
    struct one *o = one;
    bool goes_on = true;
    while (goes_on && !over) {
        o->at = (int)chance(LISTENERS);
        o->how = (enum how)chance(WAYS);
        o->is_cancelled = !calm && chance(3) < 2;
        if (o->is_cancelled)
            accepts_until_cancelled(o);
        else
            accepts(o);
        goes_on = !calm && (o->is_cancelled || chance(2));
    }
}

static void connects_often(void *unused) {
    (void)unused;
    for (int i = 0; i < calls; i++) {
        pause_here();
        connects(&listeners[chance(LISTENERS)], chance(2));
    }
}

static void thread(void *number) {
    struct side side;
    struct one ones[MOST] = {0};
    own_seed = seed * 31 + (unsigned)(uintptr_t)number * 977 + 1;
    for (int i = 0; i < LISTENERS; i++) {
        CHECK_EQ(fin_acceptor_open(&side.acceptors[i], listeners[i].fd, 0), 0);
        side.numbers[i] = fin_file_register(listeners[i].fd);
        CHECK(side.numbers[i] >= 0);
    }
    fin_finish {
        for (int i = 0; i < waiter_count; i++) {
            ones[i].side = &side;
            fin_async_call(waits, &ones[i]);
        }
        fin_async_call(connects_often, NULL);
        fin_async_call(connects_often, NULL);
        while (!calm)
            fin_sleep_nc(50 * FIN_US);
        fin_sleep_nc(FIN_MS);
        calmed++;
        while (!over)
            fin_sleep_nc(300 * FIN_US);
        fin_cancel();
    }
    for (int i = 0; i < LISTENERS; i++) {
        listeners[i].accepted += fin_acceptor_close(side.acceptors[i]);
        CHECK_EQ(fin_file_unregister(side.numbers[i]), 0);
    }
}

static void *connects_without_fin(void *unused) {
    own_seed = seed * 5 + 3;
    for (int i = 0; i < 2 * calls; i++) {
        for (volatile unsigned n = chance(20000); n; n--) { // a sleep would be longer
        }
        connects(&listeners[chance(LISTENERS)], false);
    }
    return unused;
}

static bool is_ready(const struct listener *l) { return poll(&(struct pollfd){.fd = l->fd, .events = POLLIN}, 1, 0) > 0; }

static void open_listeners(void) {
    for (struct listener *l = listeners; l < listeners + LISTENERS; l++) {
        memset(l, 0, sizeof *l);
        l->is_tcp = chance(2);
        l->size = sizeof l->name.in;
        l->fd = l->is_tcp ? tcp_listen(&l->name.in, 500) : unix_listen(&l->name.un, &l->size, 500);
    }
}

// An acceptor may have taken what nobody asks it for: that is counted when it closes.
static void nobody_waits_beside_a_connection(void) {
    for (int quiet = 0, last = -1; quiet < 3; quiet = last == progress ? quiet + 1 : 0) {
        last = progress;
        usleep(3000);
    }
    for (struct listener *l = listeners; l < listeners + LISTENERS; l++)
        for (int i = 0; l->waiting > 0 && is_ready(l); i++) {
            if (i == 10000)
                fprintf(stderr, "FIN_SEED=%u: %d wait beside a connection\n", seed, l->waiting);
            CHECK(i < 10000);
            usleep(1000);
        }
}

static void close_listeners(void) {
    for (struct listener *l = listeners; l < listeners + LISTENERS; l++) {
        for (; is_ready(l); l->accepted++)
            close(accept(l->fd, NULL, NULL));
        CHECK_EQ((int)l->accepted, (int)l->tried);
        close(l->fd);
    }
    for (int i = 0; i < client_count; i++)
        close(clients[i]);
}

static void one_round(void) {
    struct fin_thread_handle h[THREADS];
    pthread_t other;
    own_seed = seed * 2654435761u;
    thread_count = 1 + (int)chance(THREADS);
    waiter_count = 2 + (int)chance(MOST - 2);
    calls = 3 + (int)chance(15);
    client_count = calmed = 0;
    calm = over = false;
    open_listeners();
    for (int i = 0; i < thread_count; i++)
        CHECK_EQ(fin_thread_start(&h[i], thread, (void *)(uintptr_t)i), 0);
    CHECK_EQ(pthread_create(&other, NULL, connects_without_fin, NULL), 0);
    usleep(500 + chance(3000));
    calm = true;
    CHECK_EQ(pthread_join(other, NULL), 0);
    while (calmed < thread_count)
        usleep(100);
    nobody_waits_beside_a_connection();
    over = true;
    for (int i = 0; i < thread_count; i++)
        fin_thread_join_nc(&h[i]);
    close_listeners();
}

int main(void) {
    const char *first = getenv("FIN_SEED"), *many = getenv("FIN_ROUNDS");
    int rounds = many ? atoi(many) : getenv("FIN_FEW") || on_valgrind() ? 3 : 40;
    seed = first ? (unsigned)atoi(first) : 1;
    for (int i = 0; i < rounds; i++, seed++)
        one_round();
    return 0;
}
