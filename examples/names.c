// SPDX-License-Identifier: BSD-2-Clause
// The name service of the paper on AC (figures 1 to 4), over channels: as examples/lookup.c, which says more about each
// figure, but with calls (fin/rpc.h) to servers that are found by name (fin_chan_listen, fin_chan_connect).
//
// main starts four servers, each a process: one is slow, one never answers, one is killed on the way. With --short all
// delays are small: that is the test.
#include "peer.h"

typedef char name[40]; // fits into one line of a channel

enum { SERVERS = 4, NEAR = 0, SLOW, DEAD, KILLED };
#define NEVER UINT64_MAX

// ---- the client

// Asks one server. Returns 0 and *address; -ECANCELED; or another negative errno where the server is gone. (figure 1, as it
// is with AC: a call. The answer to a lookup that was cancelled meets nobody.)
static FIN_BLOCKING int lookup(struct fin_rpc *server, const char *what, uint32_t *address) {
    name question = {0};
    memcpy(question, what, strnlen(what, sizeof question - 1));
    ssize_t n = fin_rpc_call(server, question, sizeof question, address, sizeof *address);
    return n == sizeof *address ? 0 : n < 0 ? (int)n : -EPROTO;
}

// Asks all servers at once; returns how many say the same as the first that answered. (figure 2)
static FIN_BLOCKING int lookup_all(struct fin_rpc *servers[], int count, const char *what, uint32_t *address) {
    fin_shared int same = 0;
    fin_finish {
        for (int i = 0; i < count; i++) {
            fin_async {
                uint32_t answer;
                if (lookup(servers[i], what, &answer) == 0) {
                    if (same == 0)
                        *address = answer;
                    same += answer == *address;
                }
            };
        }
    }
    return same;
}

// Takes the first answer. (figure 3)
static FIN_BLOCKING int lookup_first(struct fin_rpc *servers[], int count, const char *what, uint32_t *address) {
    fin_shared int result = fin_cancelled() ? -ECANCELED : -ENOENT;
    fin_finish_as(all) {
        for (int i = 0; i < count; i++) {
            fin_async {
                uint32_t answer;
                int r = lookup(servers[i], what, &answer);
                if (r == 0 && result != 0) {
                    *address = answer;
                    result = 0;
                    fin_cancel_as(all);
                } else if (result != 0) {
                    result = r;
                }
            };
        }
    }
    return result;
}

// With a limit of time, which lookup_first knows nothing of. (figure 4)
static FIN_BLOCKING int lookup_with_timeout(struct fin_rpc *servers[], int count, const char *what, uint32_t *address,
                                            uint64_t ns) {
    int result = -ECANCELED;
    fin_timeout(ns) {
        result = lookup_first(servers, count, what, address);
    }
    return result;
}

// ---- the servers

struct server {
    const char *name;
    uint64_t delay;
    pid_t process;
};

static uint32_t address_of(const char *what) {
    uint32_t hash = 2166136261u;
    for (; *what; what++)
        hash = (hash ^ (unsigned char)*what) * 16777619u;
    return hash;
}

// Whoever asks: what does not end as a name does gets an empty answer.
static FIN_BLOCKING void answer(struct fin_rpc *client, uint32_t id, void *question, size_t size, void *server) {
    struct server *s = server;
    const char *what = question;
    bool is_name = size > 0 && what[size - 1] == 0;
    uint32_t address = is_name ? address_of(what) : 0;
    if (s->delay != NEVER && fin_sleep(s->delay) == 0)
        fin_rpc_reply(client, id, &address, is_name ? sizeof address : 0);
}

static void address_name(char *text, size_t size, const char *server, pid_t program) {
    snprintf(text, size, "@fin-names-%d-%s", (int)program, server);
}

// Clients are waited for, and their requests, without a stack; each request has one while it is answered.
struct door {
    struct fin_chan_on on;
    struct fin_chan_listener *listener;
    struct fin_chan *client;
    struct server *server;
};

// However a client ends, or what it gets wrong: that concerns nobody else.
static void client_ends(void *state, int why) {
    struct peer_service *s = *(struct peer_service **)state;
    (void)why;
    EXPECT(fin_rpc_close(s->rpc) == 0);
    free(s);
    fin_cont_end();
}

static void serve_client(void *state, int result) {
    struct peer_service *s = *(struct peer_service **)state;
    (void)result;
    fin_rpc_serve_on(s->rpc, s->fn, s->arg, &s->on, client_ends, &s, sizeof s);
}

static void accepted(void *state, int result) {
    struct door *d = *(struct door **)state;
    EXPECT(result == 0);
    struct peer_service *p = peer_service(d->client, answer, d->server);
    EXPECT(fin_async_cont_beside(serve_client, &p, sizeof p));
    fin_chan_accept_on(d->listener, &d->client, &d->on, accepted, &d, sizeof d);
}

static void open_door(void *state, int result) {
    struct door *d = *(struct door **)state;
    (void)result;
    fin_chan_accept_on(d->listener, &d->client, &d->on, accepted, &d, sizeof d);
}

static FIN_BLOCKING void serve(void *server) {
    struct door door = {.server = server}, *d = &door;
    char text[64];
    address_name(text, sizeof text, door.server->name, getppid());
    EXPECT(fin_chan_listen(&door.listener, text, NULL) == 0);
    fin_finish {
        EXPECT(fin_async_cont(open_door, &d, sizeof d));
    }
}

// The server may not listen yet.
static FIN_BLOCKING struct fin_rpc *connect_to(const struct server *s) {
    struct fin_chan *c;
    struct fin_rpc *r;
    char text[64];
    int error;
    address_name(text, sizeof text, s->name, getpid());
    while ((error = fin_chan_connect(&c, text, 0)) == -ECONNREFUSED)
        EXPECT(fin_sleep(FIN_MS) == 0);
    EXPECT(error == 0 && fin_rpc_open(&r, c, FIN_RPC_CLIENT) == 0);
    return r;
}

// ---- the demonstration

static uint64_t started;

static void begin(const char *figure, const char *what) {
    printf("  %-9s %-48s ", figure, what);
    fflush(stdout);
    started = fin_now();
}

static void end(const char *outcome) { printf("%-24s %9.3f ms\n", outcome, (double)(fin_now() - started) / 1e6); }

static FIN_BLOCKING void figures(struct fin_rpc **r, uint64_t ms) {
    uint32_t address = 0;
    begin("figure 1", "lookup: killed, which is quick as long as it lives");
    EXPECT(lookup(r[KILLED], "www.example", &address) == 0 && address == address_of("www.example"));
    end("answered");

    begin("figure 2", "lookup_all: near, slow, killed");
    EXPECT(lookup_all((struct fin_rpc *[]){r[NEAR], r[SLOW], r[KILLED]}, 3, "ftp.example", &address) == 3);
    EXPECT(address == address_of("ftp.example"));
    end("all three say the same");

    begin("figure 3", "lookup_first: dead, slow, near");
    EXPECT(lookup_first((struct fin_rpc *[]){r[DEAD], r[SLOW], r[NEAR]}, 3, "mail.example", &address) == 0);
    EXPECT(address == address_of("mail.example"));
    end("the first answer");

    begin("figure 4", "lookup_with_timeout: dead");
    EXPECT(lookup_with_timeout(&r[DEAD], 1, "mail.example", &address, 50 * ms) == -ECANCELED);
    end("TIMEOUT, cancelled");

    begin("figure 4", "lookup_with_timeout: dead, slow, near");
    struct fin_rpc *three[] = {r[DEAD], r[SLOW], r[NEAR]};
    EXPECT(lookup_with_timeout(three, 3, "news.example", &address, 10 * FIN_S) == 0);
    end("in time");
}

static FIN_BLOCKING void one_is_killed(struct fin_rpc **r, pid_t to_kill, uint64_t ms) {
    uint32_t address = 0;
    begin("", "lookup_all, with one that is killed meanwhile");
    fin_finish {
        fin_async {
            EXPECT(fin_sleep(ms) == 0);
            kill(to_kill, SIGKILL);
        };
        uint32_t ignored;
        while (lookup(r[KILLED], "www.example", &ignored) == 0) {
        }
        EXPECT(lookup_all((struct fin_rpc *[]){r[KILLED], r[NEAR]}, 2, "www.example", &address) == 1);
    }
    EXPECT(address == address_of("www.example"));
    end("one answer, one error");
}

FIN_BLOCKING int main(int argc, char **argv) {
    only_options(argc, argv, 1, OPTIONS("--short"));
    uint64_t ms = has_option(argc, argv, "--short") ? FIN_MS / 10 : FIN_MS;
    struct server servers[SERVERS] = {{.name = "near", .delay = 2 * ms},
                                      {.name = "slow", .delay = 200 * ms},
                                      {.name = "dead", .delay = NEVER},
                                      {.name = "killed", .delay = 0}};
    struct fin_rpc *r[SERVERS];
    uint32_t address = 0;
    for (int i = 0; i < SERVERS; i++)
        servers[i].process = start_process(serve, &servers[i]);
    for (int i = 0; i < SERVERS; i++)
        r[i] = connect_to(&servers[i]);
    printf("servers: near (answers after %g ms), slow (%g), dead (never), killed (is shot on the way)\n", 2e-6 * (double)ms,
           200e-6 * (double)ms);

    figures(r, ms);
    one_is_killed(r, servers[KILLED].process, ms);

    // The slow server still works on what was given up: its answers come before this one, and meet nobody.
    begin("", "lookup: slow, after two lookups given up");
    EXPECT(lookup(r[SLOW], "www.example", &address) == 0 && address == address_of("www.example"));
    end(fin_rpc_strays(r[SLOW]) == 2 ? "two late answers dropped" : "answered");
    for (int i = 0; i < SERVERS; i++) {
        EXPECT(fin_rpc_close(r[i]) == 0);
        kill(servers[i].process, SIGKILL);
        EXPECT(waitpid(servers[i].process, NULL, 0) == servers[i].process);
    }
    return 0;
}
