// SPDX-License-Identifier: BSD-2-Clause
// The stock-quote server of the paper (ac 5.3, figure 12): every client that has subscribed gets one quote a second.
//
// The first page of this file is the paper's server: a loop that accepts, and for each client an async whose body reads like
// a program with one client. A client then costs a page, most of the time to wait for the next second. So what runs, unless
// --stacks asks for the first, is the second server below: the same with continuations, some 400 bytes a client. It runs in
// a process of its own, in one thread. The rest is the measurement: this process is all the clients, counts what they get,
// and asks the system for the server's CPU time and memory.
//
//   quotes [--clients 10000] [--seconds 10] [--stacks] [--short]
//   quotes --serve PORT [--stacks]     the server alone; QUOTE_EVERY=4 in the environment: a quote every four seconds
#include <arpa/inet.h>
#include <errno.h>
#include <time.h>

#include <fin.h>

#include "door.h"
#include "example.h"
#include "server.h"

// ---- the server

static uint64_t period; // from quote to quote
static const uint64_t slack = FIN_MS; // for which a quote may wait for others, to leave together with them

static FIN_BLOCKING void serve_client(int fd) {
    uint32_t price;
    if (fin_recv(fd, &price, sizeof price, 0) == sizeof price) {
        struct quote quote = {.due = fin_now(), .price = price};
        while (fin_send(fd, &quote, sizeof quote, 0) == sizeof quote) {
            next_quote(&quote, period);
            fin_sleep_until(quote.due);
        }
    }
    fin_close(fd);
}

static FIN_BLOCKING void serve(void *listener) {
    fin_timer_slack(slack);
    fin_finish {
        for (;;) {
            int fd = fin_accept(*(int *)listener, NULL, NULL);
            if (fd == -ECONNABORTED) // who came has gone again
                continue;
            EXPECT(fd >= 0);
            fin_async_eager { serve_client(fd); }; // eager: it always waits for the subscription
        }
    }
}

// ---- the same server with continuations: what it needs between two waits is in the client's object, and a client waits
// without a stack

struct subscriber {
    struct fin_on on;
    struct quote quote;
    uint32_t price;
    int fd;
};

static void hang_up(struct subscriber *s) {
    close(s->fd);
    free(s);
    fin_cont_end();
}

static void sent(void *state, int n) {
    struct subscriber *s = *(struct subscriber **)state;
    if (n != sizeof s->quote)
        hang_up(s);
    next_quote(&s->quote, period);
    fin_send_at_on(&s->on, s->quote.due, s->fd, &s->quote, sizeof s->quote, 0, sent, &s, sizeof s);
}

static void subscribed(void *state, int received) {
    struct subscriber *s = *(struct subscriber **)state;
    if (received != sizeof s->price)
        hang_up(s);
    s->quote = (struct quote){.due = fin_now(), .price = s->price};
    fin_send_on(&s->on, s->fd, &s->quote, sizeof s->quote, 0, sent, &s, sizeof s);
}

static void welcome(int fd, void *unused) {
    struct subscriber *s = malloc(sizeof *s);
    (void)unused;
    EXPECT(s);
    s->fd = fd;
    int refused = fin_recv_on(&s->on, fd, &s->price, sizeof s->price, 0, subscribed, &s, sizeof s);
    subscribed(&s, refused); // otherwise it does not return
}

static FIN_BLOCKING void serve_without_stacks(void *listener) {
    struct door door = {.listener = *(int *)listener, .serve = welcome}, *d = &door;
    fin_timer_slack(slack);
    fin_finish {
        EXPECT(fin_async_cont(keep_door, &d, sizeof d));
    }
}

// ---- the clients

enum { BATCH = 256, PER_ADDRESS = 8000 };

struct client {
    int fd;
    uint32_t quotes;
    int error;
};

struct load {
    struct sockaddr_in address;
    pid_t server;
    long memory; // the most that the server used, in KiB
    struct client *clients;
    uint32_t *late; // of each quote that came, in microseconds
    int count, quotes, failed;
    uint32_t arrived;
};

// The clients' addresses are spread: one address has fewer ports than some would need.
static FIN_BLOCKING void connect_client(struct load *load, int i) {
    struct client *c = &load->clients[i];
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (uint32_t)i / PER_ADDRESS)};
    struct linger reset = {.l_onoff = 1}; // closing leaves nothing in TIME_WAIT: the ports are free for the next run
    int later = 1;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0) {
        c->error = -errno;
        return;
    }
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &later, sizeof later);
    if (bind(c->fd, (struct sockaddr *)&own, sizeof own) != 0)
        c->error = -errno;
    else
        c->error = fin_connect(c->fd, (struct sockaddr *)&load->address, sizeof load->address);
}

// A batch at a time: the server's queue of new connections is limited.
static FIN_BLOCKING void connect_all(struct load *load) {
    for (int begin = 0; begin < load->count; begin += BATCH) {
        fin_finish {
            for (int i = begin; i < load->count && i < begin + BATCH; i++) {
                fin_async { connect_client(load, i); };
            }
        }
        show_progress("connecting", (uint64_t)begin, (uint64_t)load->count);
    }
    show_progress("connecting", 1, 1);
    for (int i = 0; i < load->count; i++)
        load->failed += load->clients[i].error != 0;
}

// Subscribes, and reads as many quotes as it is due.
static FIN_BLOCKING void run_client(struct load *load, struct client *c, uint64_t start) {
    uint32_t price = 10000;
    if (fin_sleep_until(start) != 0 || fin_send(c->fd, &price, sizeof price, 0) != sizeof price)
        return;
    for (int k = 0; k < load->quotes; k++) {
        struct quote quote;
        if (fin_recv(c->fd, &quote, sizeof quote, MSG_WAITALL) != sizeof quote || quote.number != c->quotes)
            return;
        c->quotes++;
        load->late[load->arrived++] = (uint32_t)((fin_now() - quote.due) / 1000);
    }
}

// Memory and page tables of a process, in KiB.
static long memory(pid_t process) {
    char path[64], line[256];
    long sum = 0, n;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %ld", &n) == 1 || sscanf(line, "VmPTE: %ld", &n) == 1)
            sum += n;
    if (f)
        fclose(f);
    return sum;
}

// All clients, their seconds spread evenly over the first. Nobody waits for ever: what has not come long after it was due is
// not delivered.
static FIN_BLOCKING void trade(struct load *load) {
    uint64_t start = fin_now(), total = (uint64_t)load->count * (uint64_t)load->quotes;
    fin_timeout((uint64_t) load->quotes *period + 20 * FIN_S) {
        for (int i = 0; i < load->count; i++) {
            fin_async_eager {
                struct client *c = &load->clients[i];
                run_client(load, c, start + period * (uint64_t)i / (uint64_t)load->count);
                close(c->fd);
            };
        }
        fin_async {
            while (load->arrived < total && fin_sleep(period / 10) == 0) {
                long now = memory(load->server);
                load->memory = now > load->memory ? now : load->memory;
                show_progress("quotes", load->arrived, total);
            }
        };
    }
    show_progress("quotes", 1, 1);
}

// ---- the measurement

// CPU time of another process, in nanoseconds.
static uint64_t cpu_time(pid_t process) {
    clockid_t clock;
    struct timespec t = {0};
    EXPECT(clock_getcpuclockid(process, &clock) == 0 && clock_gettime(clock, &t) == 0);
    return (uint64_t)t.tv_sec * FIN_S + (uint64_t)t.tv_nsec;
}

// Each client is a descriptor here and one in the server. Returns how many clients the limit allows.
static int allowed_clients(int wanted) {
    rlim_t allowed = raise_descriptors((rlim_t)wanted + 64);
    EXPECT(allowed > 128);
    if (allowed >= (rlim_t)wanted + 64)
        return wanted;
    printf("  the limit of open files (%lu, ulimit -Hn) allows fewer than %d clients\n", (unsigned long)allowed, wanted);
    return (int)allowed - 64;
}

static int listen_somewhere(struct sockaddr_in *address) {
    int fd = listen_on(address);
    EXPECT(fd >= 0);
    return fd;
}

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double late_ms(const struct load *load, double part) {
    return load->late[(size_t)(part * (load->arrived - 1))] / 1e3;
}

// Times in nanoseconds.
static void report(const struct load *load, uint64_t connecting, uint64_t trading, uint64_t cpu, long before,
                   const struct rusage *usage) {
    printf("  I/O through %s\n", fin_io_backend());
    printf("  %d clients connected in %.2f s%s\n", load->count - load->failed, (double)connecting / 1e9,
           load->failed ? "; the others FAILED" : "");
    printf("  %u quotes delivered of %zu expected in %.2f s\n", load->arrived, (size_t)load->count * (size_t)load->quotes,
           (double)trading / 1e9);
    if (load->arrived) {
        qsort(load->late, load->arrived, sizeof *load->late, by_value);
        printf("  from due to read: median %.2f ms, 99%% %.2f ms, worst %.2f ms\n", late_ms(load, 0.5), late_ms(load, 0.99),
               late_ms(load, 1));
    }
    printf("  the server used %.2f s of CPU for them, %.1f%% of one core", (double)cpu / 1e9,
           100.0 * (double)cpu / (double)trading);
    printf(" (in all, with connecting: user %ld.%02ld s, system %ld.%02ld s)\n", (long)usage->ru_utime.tv_sec,
           (long)usage->ru_utime.tv_usec / 10000, (long)usage->ru_stime.tv_sec, (long)usage->ru_stime.tv_usec / 10000);
    printf("  its memory grew from %ld to %ld KiB: %.0f bytes a client, with page tables\n", before, load->memory,
           1024.0 * (double)(load->memory - before) / load->count);
}

FIN_BLOCKING int main(int argc, char **argv) {
    only_options(argc, argv, 1, OPTIONS("--short", "--serve=", "--stacks", "--clients=", "--seconds="));
    bool brief = has_option(argc, argv, "--short");
    struct load load = {.address.sin_port = htons((uint16_t)option_within(argc, argv, "--serve", 0, 0, UINT16_MAX)),
                        .quotes = (int)option_within(argc, argv, "--seconds", brief ? 3 : 10, 1, 1000000)};
    period = brief ? 20 * FIN_MS : quote_period();
    void (*server_body)(void *) = has_option(argc, argv, "--stacks") ? serve : serve_without_stacks;
    if (has_option(argc, argv, "--serve")) {
        raise_descriptors(1000000);
        server_body(&(int){listen_somewhere(&load.address)});
        return 1; // it had served until it was killed
    }
    load.count = allowed_clients((int)option_within(argc, argv, "--clients", brief ? 200 : 10000, 1, 10000000));
    size_t expected = (size_t)load.count * (size_t)load.quotes;
    load.clients = calloc((size_t)load.count, sizeof *load.clients);
    load.late = calloc(expected, sizeof *load.late);
    EXPECT(load.clients && load.late);

    int listener = listen_somewhere(&load.address);
    pid_t server = load.server = start_process(server_body, &listener);
    EXPECT(server > 0);
    close(listener);

    // One client first: when it has its quote, the server's runtime stands, and what follows is the cost of clients.
    struct client first = {0};
    struct load probe = {
        .address = load.address, .server = server, .clients = &first, .late = &(uint32_t){0}, .count = 1, .quotes = 1};
    connect_all(&probe);
    if (first.error != 0) {
        fprintf(stderr, "quotes: no connection over 127.0.0.1: %s\n", strerror(-first.error));
        return 1;
    }
    trade(&probe);
    EXPECT(first.quotes == 1);
    long before = memory(server);

    uint64_t t0 = fin_now();
    connect_all(&load);
    uint64_t t1 = fin_now(), cpu1 = cpu_time(server);
    trade(&load);
    uint64_t t2 = fin_now(), cpu2 = cpu_time(server);

    kill(server, SIGTERM);
    struct rusage usage;
    EXPECT(wait4(server, NULL, 0, &usage) == server);
    report(&load, t1 - t0, t2 - t1, cpu2 - cpu1, before, &usage);
    free(load.clients);
    free(load.late);
    return load.arrived == expected ? 0 : 1;
}
