// SPDX-License-Identifier: BSD-2-Clause
// Look-ups by chance, by AWEs of several threads, of names that servers answer in all ways or not at all, and which are
// cancelled at random; the threads' settings are changed, or are to be, meanwhile, and threads fork. Each look-up says what
// its name has, and only that. In some bursts nothing is cancelled, and c-ares would wait for long before it asked again:
// who is not told of an answer is late.
// FIN_SEED=n FIN_ROUNDS=n in the environment: others, and more.
#define _GNU_SOURCE
#include <poll.h>

#include "attempts.h"
#include "dns.h"

// Of the thread sanitizer see tests/io/everything.c.
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) {
#define OF(call) "race:interceptor_" #call "\n"
    return OF(close) OF(connect) OF(epoll) OF(eventfd) OF(fcntl) OF(open) OF(read) OF(recv) OF(send) OF(socket) OF(write);
}

enum { SERVERS = 3, TEXT = 200, LONG_MS = 10000, DEAD_MS = 300, SHORT_MS = 15 };

struct name {
    char kind, text[TEXT]; // the kind: as dns.h has them, or '1': a number; 'h': of /etc/hosts
    unsigned labels, port;
    bool canonical;
    struct addrinfo hints, *found;
};

static struct dns servers[SERVERS];
static unsigned server_count;
static bool calm[BURSTS], hasty[BURSTS]; // hasty: servers are given little time, and may be late for it
static bool with_dead, with_resets, with_silent, with_forks;
static char list[300];
static struct fin_event here;
static unsigned burst_now;
static __thread unsigned barriers, asking; // asking: look-ups of the thread in progress
static __thread int me;

static bool try_act(struct act *a) {
    if (!calm[burst_now])
        return attempt(a);
    a->cancels = a->was_cancelled = false;
    attempt_calmly(a);
    HOLDS_OF(a, a->result != -ECANCELED);
    return true;
}

static void rest_here(void) {
    if (!calm[burst_now])
        pause_here();
    for (unsigned n = chance(4); n && calm[burst_now]; n--)
        fin_yield();
}

// ---- a name

static void make_name(struct name *n) {
    static const char kinds[] = "aaaabbnftllg1hsr";
    memset(n, 0, sizeof *n);
    n->kind = kinds[chance(with_resets ? 16 : 15)];
    if (n->kind == 's' && !with_silent)
        n->kind = 'a';
    n->port = chance(2) ? 1 + chance(60000) : 0;
    n->hints.ai_family = n->kind == 'b' ? (int[]){AF_UNSPEC, AF_INET, AF_INET6}[chance(3)] : AF_INET;
    n->hints.ai_socktype = chance(3) ? SOCK_STREAM : 0;
    n->canonical = chance(3) == 0;
    n->hints.ai_flags = n->canonical ? AI_CANONNAME : 0;
    n->labels = 1 + chance(30);
    if (n->kind == '1')
        strcpy(n->text, "192.0.2.7");
    else if (n->kind == 'h')
        strcpy(n->text, "localhost");
    else
        for (unsigned i = 0; i < n->labels; i++)
            snprintf(n->text + strlen(n->text), TEXT - strlen(n->text), "%c%u.", n->kind, chance(1000));
}

static ssize_t run_look_up(struct act *a) {
    struct name *n = a->object;
    char port[8];
    snprintf(port, sizeof port, "%u", n->port);
    asking++;
    ssize_t r = !a->cancels && a->how % 2
                    ? fin_getaddrinfo_nc(n->text, n->port ? port : NULL, &n->hints, &n->found)
                    : fin_getaddrinfo(n->text, n->port ? port : NULL, &n->hints, &n->found);
    asking--;
    return r;
}

static bool may_say(const struct name *n, ssize_t r) {
    if ((hasty[burst_now] || with_dead) && r == -ETIMEDOUT)
        return n->kind != '1' && n->kind != 'h';
    if (with_resets && r == -ECONNREFUSED) // c-ares asks again whatever was asked there, by UDP too, and that twice
        return n->kind != '1' && n->kind != 'h';
    switch (n->kind) {
    case 'n': return r == -ENOENT;
    case 'f': return r == -EREMOTEIO || r == -ECONNREFUSED;
    case 'g':
    case 'r': return r == -EPROTO || r == -EREMOTEIO || r == -ECONNREFUSED || r == -ETIMEDOUT;
    case 's': return r == -ETIMEDOUT;
    default: return false;
    }
}

static void look_at_address(const struct act *a, const struct name *n, const struct addrinfo *i, unsigned number) {
    const struct sockaddr_in *in = (const struct sockaddr_in *)i->ai_addr;
    HOLDS_OF(a, n->hints.ai_family == AF_UNSPEC || i->ai_family == n->hints.ai_family);
    HOLDS_OF(a, n->hints.ai_socktype == 0 || i->ai_socktype == n->hints.ai_socktype);
    HOLDS_OF(a, ntohs(in->sin_port) == n->port); // at the same place in both families
    if (i->ai_family == AF_INET6)
        return;
    uint32_t address = ntohl(in->sin_addr.s_addr), last = n->kind == '1' ? 7 : n->kind == 't' ? address & 255 : n->labels;
    HOLDS_OF(a, address == (n->kind == 'h' ? 0x7f000001u : 0xc0000200u + last));
    HOLDS_OF(a, number > 0 || !n->canonical || i->ai_canonname);
}

static void look_at_answer(const struct act *a, const struct name *n) {
    unsigned kinds = n->hints.ai_socktype ? 1 : 3, count = 0, expected = n->kind == 't' ? 40 : 1;
    for (const struct addrinfo *i = n->found; i; i = i->ai_next)
        look_at_address(a, n, i, count++);
    bool both = n->kind == 'b' && n->hints.ai_family == AF_UNSPEC;
    if (both && (count != kinds || !(hasty[burst_now] || with_dead || with_resets))) // or one question had no answer in time
        expected = 2;
    HOLDS_OF(a, count == kinds * expected || (n->kind == 'h' && count > 0));
}

static void looks_up(void *unused) {
    struct name n;
    struct addrinfo untouched;
    struct act *a = new_act("look-up", &n);
    (void)unused;
    make_name(&n);
    a->name = n.text;
    if (n.kind == 's' && !hasty[burst_now] && calm[burst_now])
        return;
    a->run = run_look_up;
    a->how = chance(4);
    unsigned times = 0;
    bool anything;
    do {
        n.found = &untouched;
        if (n.kind == 's' && !hasty[burst_now]) { // else it takes long
            a->cancels = true;
            fin_timeout(some_time()) {
                a->result = run_look_up(a);
            }
            anything = false;
        } else {
            anything = try_act(a);
        }
        HOLDS_OF(a, a->result == 0 || n.found == &untouched);
    } while (!anything && ++times < 20);
    if (!anything)
        return;
    HOLDS_OF(a, a->result == 0 ? !strchr("nfgrs", n.kind) : may_say(&n, a->result));
    if (a->result == 0) {
        look_at_answer(a, &n);
        fin_freeaddrinfo(n.found);
    }
}

// ---- settings

static int configure(void) {
    bool quick = hasty[burst_now];
    unsigned ms = quick ? SHORT_MS : with_dead ? DEAD_MS : LONG_MS;
    unsigned tries = with_resets || quick ? 2 : with_dead ? 3 : 1 + chance(3);
    return fin_resolve_configure(&(struct fin_resolve_config){list, ms, tries});
}

static void configures(void *unused) {
    (void)unused;
    for (unsigned n = chance(4); n; n--) {
        rest_here();
        bool busy = asking > 0;
        int r = chance(4) ? configure() : fin_resolve_configure(&(struct fin_resolve_config){"nobody", 0, 0});
        HOLDS(r == (busy ? -EBUSY : 0) || r == -EINVAL);
    }
}

// ---- forks, by a thread of its own

static void goes_on_in_child(void) {
    struct addrinfo *found = NULL;
    HOLDS(configure() == 0);
    HOLDS(hasty[burst_now] || fin_getaddrinfo("a.b.c.", NULL, &v4, &found) == 0);
    fin_freeaddrinfo(found);
    fin_timeout(FIN_MS) {
        int r = fin_getaddrinfo("silent.", NULL, &v4, &found);
        HOLDS(r == -ECANCELED || (r == -ETIMEDOUT && hasty[burst_now]));
    }
}

static void is_left_waiting(void *result) {
    struct addrinfo *found;
    *(int *)result = fin_getaddrinfo("silent.", NULL, &v4, &found);
}

static void forks(void *unused) {
    int status, results[3] = {1, 1, 1};
    bool child = false;
    (void)unused;
    own_seed = seed * 31 + burst_now;
    HOLDS(fin_resolve_configure(&(struct fin_resolve_config){list, LONG_MS, 3}) == 0);
    fin_finish {
        for (unsigned n = chance(4); n; n--)
            fin_async_call(is_left_waiting, &results[n - 1]);
        for (unsigned n = chance(4); n; n--)
            fin_yield();
        pid_t pid = fork();
        HOLDS(pid >= 0);
        child = pid == 0;
        if (child) {
            alarm(20);
            goes_on_in_child();
        } else {
            HOLDS(waitpid(pid, &status, 0) == pid && status == 0);
        }
        fin_cancel();
    }
    for (int i = 0; i < 3; i++)
        HOLDS(results[i] == 1 || results[i] == -ECANCELED);
    if (child)
        _exit(0);
}

static void has_fork(void *unused) {
    struct fin_thread_handle h;
    (void)unused;
    rest_here();
    HOLDS(fin_thread_start(&h, forks, NULL) == 0);
    fin_thread_join_nc(&h);
}

// ---- bursts

static void await_all(void) {
    fin_event_advance(&here, 1);
    fin_event_await_nc(&here, ++barriers * thread_count);
}

static void burst(void) {
    uint64_t begin = fin_now();
    if (chance(3) || burst_now == 0 || hasty[burst_now] != hasty[burst_now - 1])
        HOLDS(configure() == 0);
    fin_finish {
        for (unsigned n = chance(chance(3) ? 8 : 40); n; n--)
            fin_async_call(looks_up, NULL);
        if (chance(3) == 0)
            fin_async_call(configures, NULL);
        if (with_forks && chance(4) == 0)
            fin_async_call(has_fork, NULL);
    }
    HOLDS(!calm[burst_now] || with_dead || with_resets || on_valgrind() || fin_now() - begin < (LONG_MS - 2000) * FIN_MS);
    HOLDS(asking == 0 && configure() == 0);
}

static void thread(void *number) {
    me = (int)(intptr_t)number;
    barriers = asking = 0;
    own_seed = seed * 977 + (unsigned)me * 7919;
    for (unsigned n = 0; n < BURSTS; n++) {
        if (me == 0)
            burst_now = n;
        await_all();
        burst();
        await_all();
    }
}

// As many connections at once as there may be.
static void serves_more(void *dns) {
    while (!fin_cancelled())
        dns_serve_tcp(dns);
}

static void serves(void *stop) {
    fin_finish {
        for (unsigned i = 0; i < server_count; i++) {
            for (int k = 0; k < 60; k++)
                fin_async_call(serves_more, &servers[i]);
            fin_async_call(dns_serve, &servers[i]);
        }
        fin_event_await_nc(stop, 1);
        fin_cancel();
    }
}

// Of a dead one c-ares hears once: of two that have asked it at once one waits for its time, and then asks the next.
static void make_list(void) {
    // Where nobody is, and no socket of a client can be, which would take its own question for the answer.
    strcpy(list, with_dead ? "127.0.0.1:1" : "");
    for (unsigned i = 0; i < server_count; i++) {
        dns_open(&servers[i]);
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? "," : "", servers[i].servers);
    }
}

static void make_world(void) {
    own_seed = seed * 2654435761u;
    next_random(&own_seed);
    thread_count = 1 + chance(THREADS);
    server_count = 1 + chance(SERVERS);
    with_dead = chance(3) == 0;
    with_resets = !with_dead && chance(3) == 0;
    with_silent = chance(2);
    with_forks = chance(3) == 0 && !ON_ASAN && !ON_TSAN && !on_valgrind(); // which a fork among threads may stop
    fin_event_init(&here);
    for (unsigned n = 0; n < BURSTS; n++) {
        calm[n] = chance(2);
        hasty[n] = chance(4) == 0;
    }
    make_list();
}

static void one_round(void) {
    struct fin_thread_handle h[THREADS], of_servers;
    struct fin_event stop;
    make_world();
    fin_event_init(&stop);
    fin_finish {
        HOLDS(fin_thread_start(&of_servers, serves, &stop) == 0);
        for (unsigned i = 0; i < thread_count; i++) // so that all that they have ends with them
            HOLDS(fin_thread_start(&h[i], thread, (void *)(intptr_t)i) == 0);
        for (unsigned i = 0; i < thread_count; i++)
            fin_thread_join_nc(&h[i]);
        fin_event_advance(&stop, 1);
        fin_thread_join_nc(&of_servers);
    }
    free_acts();
}

static void hangs(int unused) {
    (void)unused;
    fprintf(stderr, "hangs: FIN_SEED=%u FIN_ROUNDS=1; %u threads, %d at barriers, burst %u%s%s, servers %s, resets %d, %s\n",
            seed, thread_count, (int)here.count, burst_now, calm[burst_now] ? ", calm" : "",
            hasty[burst_now] ? ", hasty" : "", list, with_resets, fin_io_backend());
    for (int i = 0; i < act_count && i < ACTS; i++)
        if (acts[i] && acts[i]->waits)
            show(acts[i]);
    abort();
}

int main(void) {
    run_rounds(4, 1, 50, one_round, hangs);
    return 0;
}
