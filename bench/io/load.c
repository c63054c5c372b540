// SPDX-License-Identifier: BSD-2-Clause
// usage: fin-load quotes|http|echo PORT PROCESS...
//
// The processes are the server's: their CPU time is read when a measurement begins and when it ends. Commands on standard
// input, one answer each:
//   grow N         as many clients; "connected N lost N errno N" when they are there and have begun; errno: of the first
//                  that was lost, 0 if the server ended its connection
//   measure MS     "seconds S cpu S done N late N median US p99 US worst US connected N"
// It ends with its input.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../../examples/server.h"
#include "load.h"

enum { EVENTS = 1024, COMMANDS = -1 };

uint64_t load_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// CPU time of the server's processes, with all their threads.
static uint64_t server_cpu(const struct load *l) {
    uint64_t sum = 0;
    for (int i = 0; i < MOST_PROCESSES && l->processes[i]; i++) {
        clockid_t clock;
        struct timespec t;
        int error = clock_getcpuclockid(l->processes[i], &clock);
        if (error || clock_gettime(clock, &t) != 0) { // nobody is to take it for one that took no time
            fprintf(stderr, "fin-load: CPU time of process %d: %s\n", l->processes[i], strerror(error ? error : errno));
            exit(1);
        }
        sum += (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    }
    return sum;
}

// Buckets of microseconds: 16 to each power of two.
static unsigned bucket_of(uint64_t us) {
    if (us < 16)
        return (unsigned)us;
    unsigned power = 63 - (unsigned)__builtin_clzll(us);
    unsigned b = (power - 3) * 16 + (unsigned)(us >> (power - 4) & 15);
    return b < BUCKETS ? b : BUCKETS - 1;
}

static uint64_t us_of(unsigned bucket) { return bucket < 16 ? bucket : (uint64_t)(16 + bucket % 16) << (bucket / 16 - 1); }

void load_done(struct load *l, uint64_t took_ns, bool late) {
    if (!l->window.open)
        return;
    l->window.done++;
    l->window.late += late;
    l->window.histogram[bucket_of(took_ns / 1000)]++;
}

static uint64_t quantile(const struct window *w, double part) {
    uint64_t before = 0;
    unsigned last = 0;
    for (unsigned b = 0; b < BUCKETS; b++) {
        if (!w->histogram[b])
            continue;
        before += w->histogram[last = b];
        if ((double)before >= part * (double)w->done)
            break;
    }
    return us_of(last);
}

static void measure(struct load *l, long ms) {
    l->window = (struct window){.open = true, .begin = load_now(), .cpu = server_cpu(l)};
    l->window.end = l->window.begin + (uint64_t)ms * 1000000u;
}

static void report(struct load *l, uint64_t now) {
    struct window *w = &l->window;
    w->open = false;
    printf("seconds %.6f cpu %.6f done %llu late %llu median %llu p99 %llu worst %llu connected %d\n",
           (double)(now - w->begin) / 1e9, (double)(server_cpu(l) - w->cpu) / 1e9, (unsigned long long)w->done,
           (unsigned long long)w->late, (unsigned long long)quantile(w, 0.5), (unsigned long long)quantile(w, 0.99),
           (unsigned long long)quantile(w, 1), l->connected);
}

static void grow(struct load *l, int count) {
    if (count > l->wanted) {
        struct client *clients = realloc(l->clients, (size_t)count * sizeof *clients);
        if (!clients) {
            perror("fin-load");
            exit(1);
        }
        l->clients = clients;
        l->wanted = count;
    }
    l->growing = true;
}

static bool command(struct load *l) {
    char line[64], what[16];
    long number;
    if (!fgets(line, sizeof line, stdin))
        return false;
    if (sscanf(line, "%15s %ld", what, &number) != 2)
        return true;
    if (strcmp(what, "grow") == 0)
        grow(l, (int)number);
    else if (strcmp(what, "measure") == 0)
        measure(l, number);
    return true;
}

static bool handle(struct load *l, const struct epoll_event *e) {
    if (e->data.u32 == (uint32_t)COMMANDS)
        return command(l);
    struct client *c = &l->clients[e->data.u32];
    if (c->fd < 0)
        return true;
    if (!c->connected)
        load_connected(l, c);
    else
        l->kind->ready(l, c);
    return true;
}

// Until all clients that were asked for have begun, or have failed.
static void go_on_growing(struct load *l) {
    if (!l->growing)
        return;
    load_connect_more(l);
    if (l->settled == l->wanted && l->grown < l->wanted) {
        l->kind->grown(l, l->grown);
        l->grown = l->wanted;
    }
    if (l->grown == l->wanted && l->subscribed == l->wanted) {
        l->growing = false;
        printf("connected %d lost %d errno %d\n", l->connected, l->lost, l->error);
    }
}

static int timeout(const struct load *l, uint64_t tick, uint64_t now) {
    uint64_t next = l->window.open && l->window.end < tick ? l->window.end : tick;
    return next == UINT64_MAX ? -1 : next <= now ? 0 : (int)((next - now + 999999) / 1000000);
}

static void run(struct load *l) {
    static struct epoll_event events[EVENTS];
    for (;;) {
        go_on_growing(l);
        uint64_t now = load_now(), next = l->kind->tick(l, now);
        if (l->window.open && now >= l->window.end)
            report(l, now);
        int n = epoll_wait(l->epoll, events, EVENTS, timeout(l, l->growing ? now + 1000000 : next, now));
        if (n < 0 && errno != EINTR) {
            perror("fin-load: epoll_wait");
            exit(1);
        }
        for (int i = 0; i < n; i++)
            if (!handle(l, &events[i]))
                return;
    }
}

int main(int argc, char **argv) {
    static const struct kind *const kinds[] = {&load_quotes, &load_http, &load_echo};
    static struct load l;
    for (size_t i = 0; argc > 2 && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(argv[1], kinds[i]->name) == 0)
            l.kind = kinds[i];
    if (!l.kind) {
        fprintf(stderr, "usage: %s quotes|http|echo PORT PROCESS...\n", argv[0]);
        return 2;
    }
    l.server = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)atoi(argv[2]))};
    for (int i = 3; i < argc && i - 3 < MOST_PROCESSES; i++)
        l.processes[i - 3] = atoi(argv[i]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    setvbuf(stdin, NULL, _IONBF, 0);
    raise_descriptors(1000000);
    l.epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event commands = {.events = EPOLLIN, .data.u32 = (uint32_t)COMMANDS};
    if (l.epoll < 0 || epoll_ctl(l.epoll, EPOLL_CTL_ADD, STDIN_FILENO, &commands) != 0) {
        perror("fin-load: epoll");
        return 1;
    }
    if (l.kind->begin(&l) != 0)
        return 1;
    run(&l);
    return 0;
}
