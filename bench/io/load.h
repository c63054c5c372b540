// SPDX-License-Identifier: BSD-2-Clause
// The load generator: all the clients of a server, in one thread on epoll, on another core than the server's.
#ifndef FIN_BENCH_LOAD_H
#define FIN_BENCH_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/types.h>

struct client {
    int fd;
    uint32_t number; // quotes: of the next one
    uint32_t got;    // bytes of what it is being sent
    bool connected, subscribed;
    uint64_t since; // quotes: when the first was asked for; else when the last request was
};

enum { MOST_PROCESSES = 4, BUCKETS = 1024 };

// What happens within the time that is measured.
struct window {
    bool open;
    uint64_t begin, end, cpu;
    uint64_t done, late; // late: of those done
    uint32_t histogram[BUCKETS];
};

struct load {
    const struct kind *kind;
    struct sockaddr_in server;
    pid_t processes[MOST_PROCESSES]; // of the server, whose CPU time is asked for
    int epoll, wanted, grown, begun, settled, connected, lost, error; // of the first that was lost
    bool growing; // and not yet answered
    struct client *clients;
    int subscribed; // those up to here, and when the one at `spread_from` was
    int spread_from;
    uint64_t spread_begin;
    uint32_t reply; // bytes of a reply
    struct window window;
};

// What the clients do once they are connected.
struct kind {
    const char *name;
    int (*begin)(struct load *l); // before the first client; 0, or -1, and it has said why
    void (*grown)(struct load *l, int from);
    uint64_t (*tick)(struct load *l, uint64_t now); // returns when to be called next
    void (*ready)(struct load *l, struct client *c);
};

extern const struct kind load_quotes, load_http, load_echo;

uint64_t load_now(void);
void load_done(struct load *l, uint64_t took_ns, bool late);
void load_lost(struct load *l, struct client *c, int error); // 0: the server has ended the connection

// load_connect.c
int load_socket(struct load *l, int i, bool block); // a socket of the i-th client, bound to its address
void load_connect_more(struct load *l);
void load_connected(struct load *l, struct client *c);

#endif
