// SPDX-License-Identifier: BSD-2-Clause
// Looking up a name on several servers at once: the running example of the paper on AC (Harris and others, "AC: Composable
// Asynchronous IO for Native Languages", section 2). Begin reading here.
//
//   lookup_one           plain sequential code: sends a question, waits for the answer
//   lookup_all           asks every server and compares the answers                          (figure 2)
//   lookup_first         takes the first answer and stops waiting for the others             (figure 3)
//   lookup_with_timeout  puts a limit of time around lookup_first, which knows nothing of it (figure 4)
//
// FIN_BLOCKING marks the functions that may block: while they wait, other work of the thread runs.
//
// main starts five servers, each a process of its own that is asked over a Unix socket: one is slow, one accepts questions
// and never answers, one is killed on the way. With --short all delays are small: that is the test.
#include <errno.h>
#include <stddef.h>
#include <sys/un.h>

#include <fin.h>

#include "door.h"
#include "example.h"

struct question {
    uint32_t id;
    char name[60];
};

struct answer {
    uint32_t id; // of the question
    uint32_t address;
};

// Our end of the connection to a name server; for one lookup at a time.
struct channel {
    const char *server;
    int fd;
    uint32_t questions;    // asked so far: the last id
    uint32_t late_answers; // to questions that nobody waits for any more
};

// Asks one server. Returns 0 and *address; -ECANCELED; or another negative errno where the server is gone.
//
// Cancellation is exact: either the lookup is done or *address is untouched. What fin_send and fin_recv guarantee for
// themselves, lookup_one adds for the conversation: a lookup that is cancelled after its question left may still be answered
// later, so answers carry the id of their question, and the next lookup passes over one that is not its own.
static FIN_BLOCKING int lookup_one(struct channel *c, const char *name, uint32_t *address) {
    struct question question = {.id = ++c->questions};
    snprintf(question.name, sizeof question.name, "%s", name);
    ssize_t n = fin_send(c->fd, &question, sizeof question, 0);
    if (n < 0)
        return (int)n;
    for (;;) {
        struct answer answer;
        n = fin_recv(c->fd, &answer, sizeof answer, 0);
        if (n <= 0)
            return n < 0 ? (int)n : -ECONNRESET;
        if (answer.id == question.id) {
            *address = answer.address;
            return 0;
        }
        c->late_answers++;
    }
}

// Asks all servers at the same time. Returns how many answered, or -EBADMSG where two answers differ.
// The body of fin_async runs at once; when it blocks, the loop goes on to the next server. fin_finish waits for all of them.
// All runs in one thread, so the bodies share the variables of the function without locks. (fin_shared says so to Clang.)
static FIN_BLOCKING int lookup_all(struct channel *cs[], int nc, const char *name, uint32_t *address) {
    fin_shared int answers = 0;
    fin_shared uint32_t first_address = 0;
    fin_shared bool differ = false;
    fin_finish {
        for (int i = 0; i < nc; i++) {
            fin_async {
                if (lookup_one(cs[i], name, address) == 0) {
                    if (answers++ == 0)
                        first_address = *address;
                    else if (*address != first_address)
                        differ = true;
                }
            };
        }
    }
    return differ ? -EBADMSG : answers;
}

// Asks all servers and returns as soon as one has answered. fin_cancel_as makes the lookups that still wait return
// -ECANCELED; the finish block ends when they have. Returns 0, or a negative errno where no server answered.
static FIN_BLOCKING int lookup_first(struct channel *cs[], int nc, const char *name, uint32_t *address) {
    fin_shared int result = -EINVAL;
    fin_finish_as(queries) {
        for (int i = 0; i < nc; i++) {
            fin_async {
                int outcome = lookup_one(cs[i], name, address);
                if (result != 0)
                    result = outcome;
                if (outcome == 0)
                    fin_cancel_as(queries);
            };
        }
    }
    return result;
}

// Whichever ends first, the lookup or the sleep, cancels the other. The result is that of the lookup in either case:
// -ECANCELED says that the time was over, or that our own caller cancelled us.
static FIN_BLOCKING int lookup_with_timeout(struct channel *cs[], int nc, const char *name, uint32_t *address, uint64_t ns) {
    fin_shared int result = -ECANCELED;
    fin_finish_as(timeout) {
        fin_async {
            result = lookup_first(cs, nc, name, address);
            fin_cancel_as(timeout);
        };
        fin_async {
            fin_sleep(ns);
            fin_cancel_as(timeout);
        };
    }
    return result;
}

// ---- the servers

enum { NEAR, FAR, SLOW, DEAD, KILLED, SERVERS };

struct server {
    const char *name;
    uint64_t delay; // in ns; NEVER: it reads the questions and leaves it at that
    int listener;
    pid_t process;
};
static const uint64_t NEVER = UINT64_MAX;

// The address that every server knows for a name: made up from it.
static uint32_t address_of(const char *name) {
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return 10u << 24 | (hash & 0xffffff);
}

// Each question is answered after the server's delay; the next is read meanwhile.
static FIN_BLOCKING void serve_client(int fd, void *server) {
    uint64_t delay = ((struct server *)server)->delay;
    struct question question;
    fin_finish {
        while (fin_recv(fd, &question, sizeof question, 0) == sizeof question) {
            if (delay == NEVER)
                continue;
            question.name[sizeof question.name - 1] = 0; // whoever asks
            fin_async {
                struct answer answer = {question.id, address_of(question.name)};
                fin_sleep(delay);
                fin_send(fd, &answer, sizeof answer, 0);
            };
        }
    }
    fin_close(fd);
}

// The next client is waited for without a stack.
static FIN_BLOCKING void serve(void *arg) {
    struct server *s = arg;
    struct door door = {.listener = s->listener, .serve = serve_client, .with = s}, *d = &door;
    fin_finish {
        EXPECT(fin_async_cont(keep_door, &d, sizeof d));
    }
}

// A Unix socket that keeps messages apart, at an address without a file, which ends with its process.
static socklen_t server_address(struct sockaddr_un *a, const char *name, pid_t program) {
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "fin-lookup-%d-%s", (int)program, name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

// The socket listens before there is a server process, so that nobody can come too early.
static void start_server(struct server *s) {
    struct sockaddr_un address;
    socklen_t size = server_address(&address, s->name, getpid());
    s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    EXPECT(bind(s->listener, (struct sockaddr *)&address, size) == 0 && listen(s->listener, 16) == 0);
    s->process = start_process(serve, s);
    EXPECT(s->process > 0);
    close(s->listener);
}

static void stop_server(struct server *s) {
    kill(s->process, SIGKILL);
    waitpid(s->process, NULL, 0);
}

static FIN_BLOCKING void connect_to(struct channel *c, const char *server) {
    struct sockaddr_un address;
    socklen_t size = server_address(&address, server, getpid());
    *c = (struct channel){.server = server, .fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    EXPECT(fin_connect(c->fd, (struct sockaddr *)&address, size) == 0);
}

// ---- the demonstration

static uint64_t started;

static void begin(const char *figure, const char *what) {
    printf("  %-10s %-52s ", figure, what);
    fflush(stdout);
    started = fin_now();
}

static void end(const char *outcome, uint32_t address) {
    char text[64];
    if (address)
        snprintf(text, sizeof text, "%s %u.%u.%u.%u", outcome, address >> 24, address >> 16 & 255, address >> 8 & 255,
                 address & 255);
    else
        snprintf(text, sizeof text, "%s", outcome);
    printf("%-32s %8.1f ms\n", text, (double)(fin_now() - started) / 1e6);
}

FIN_BLOCKING int main(int argc, char **argv) {
    only_options(argc, argv, 1, OPTIONS("--short"));
    bool brief = has_option(argc, argv, "--short");
    uint64_t ms = brief ? FIN_MS / 10 : FIN_MS; // the unit of all delays
    struct server servers[SERVERS] = {{.name = "near", .delay = 2 * ms},
                                      {.name = "far", .delay = 30 * ms},
                                      {.name = "slow", .delay = 400 * ms},
                                      {.name = "dead", .delay = NEVER},
                                      {.name = "killed", .delay = 2 * ms}};
    struct channel channels[SERVERS], *c = channels;
    for (int i = 0; i < SERVERS; i++)
        start_server(&servers[i]);
    for (int i = 0; i < SERVERS; i++)
        connect_to(&channels[i], servers[i].name);
    printf("servers: near (answers after %g ms), far (%g), slow (%g), dead (never answers), killed (is shot on the way)\n",
           2e-6 * (double)ms, 30e-6 * (double)ms, 400e-6 * (double)ms);

    uint32_t address = 0;
    begin("figure 2", "lookup_all: near, far, slow");
    EXPECT(lookup_all((struct channel *[]){&c[NEAR], &c[FAR], &c[SLOW]}, 3, "www.example", &address) == 3);
    EXPECT(address == address_of("www.example"));
    end("all three say", address);

    struct channel *all[] = {&c[DEAD], &c[SLOW], &c[FAR], &c[NEAR]};
    begin("figure 3", "lookup_first: dead, slow, far, near");
    EXPECT(lookup_first(all, 4, "ftp.example", &address) == 0 && address == address_of("ftp.example"));
    end("first answer", address);

    address = 0;
    begin("figure 4", "lookup_with_timeout: dead, slow; too little time");
    int result = lookup_with_timeout((struct channel *[]){&c[DEAD], &c[SLOW]}, 2, "mail.example", &address, 100 * ms);
    // On a machine that stands still for long enough, both the answer and the timer may be there when it looks.
    EXPECT(result == 0 ? address == address_of("mail.example") : result == -ECANCELED && address == 0);
    end(result == 0 ? "in time after all" : "TIMEOUT, cancelled", address);

    begin("figure 4", "lookup_with_timeout: dead alone");
    EXPECT(lookup_with_timeout((struct channel *[]){&c[DEAD]}, 1, "mail.example", &address, 50 * ms) == -ECANCELED);
    end("TIMEOUT, cancelled", 0);

    begin("figure 4", "lookup_with_timeout: dead, slow, far, near");
    EXPECT(lookup_with_timeout(all, 4, "news.example", &address, 10000 * FIN_MS) == 0);
    EXPECT(address == address_of("news.example"));
    end("in time", address);

    // The slow server still works on the questions that were given up; their answers arrive before the one to this question.
    begin("exact", "lookup_one: slow, after its lookups were cancelled");
    EXPECT(lookup_one(&c[SLOW], "ntp.example", &address) == 0 && address == address_of("ntp.example"));
    end("right answer", address);
    printf("  %-10s %u late answers came, none was taken for another's\n", "", c[SLOW].late_answers);

    begin("a crash", "lookup_all: near, far, killed");
    stop_server(&servers[KILLED]);
    EXPECT(lookup_all((struct channel *[]){&c[NEAR], &c[FAR], &c[KILLED]}, 3, "www.example", &address) == 2);
    EXPECT(address == address_of("www.example"));
    end("the two left say", address);

    for (int i = 0; i < KILLED; i++)
        stop_server(&servers[i]);
    return 0;
}
