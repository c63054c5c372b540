// SPDX-License-Identifier: BSD-2-Clause
// A service by fin/rpc_on.h: each client has a channel of its own, whose other end has an accept loop, or a dispatch loop.
// One call in four is answered from a file. All of them in one thread, or the servers in a process of their own.
#define _GNU_SOURCE
#include "workloads.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fin.h>

#include "rows.h"

enum { CALLERS = 64, CALLS = 2000, FAR = 16, RECORD = 512, RECORDS = 4096, FROM_DISK = 4 };

static int file = -1;
static long calls;

struct end {
    struct fin_rpc_on on;
    struct fin_on disk;
    struct fin_rpc *rpc;
    uint32_t id;
    long in, out;
    int left;
    char record[RECORD];
};

static struct end callers[CALLERS], servers[CALLERS];

static off_t place_of(long n) { return (off_t)(n * 2654435761u % RECORDS) * RECORD; }

static int begin_file(void) {
    char path[] = "/tmp/fin-service-XXXXXX", record[RECORD];
    int fd = mkstemp(path);
    if (fd < 0 || unlink(path) != 0)
        bench_failed("no file", path, 0, errno);
    for (int i = 0; i < RECORDS; i++) {
        memset(record, i, sizeof record);
        BENCH_GOT(write(fd, record, sizeof record) == sizeof record);
    }
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return fd;
}

// ---- an accept loop

static void accepted(void *state, int n);

static void answer(struct end *s) {
    s->out = s->in + 1;
    fin_rpc_reply(s->rpc, s->id, &s->out, sizeof s->out);
    fin_rpc_accept_on(s->rpc, &s->in, sizeof s->in, &s->id, &s->on, accepted, &s, sizeof s);
}

static void has_read(void *state, int n) {
    if (n < 0)
        fin_cont_end();
    answer(*(struct end **)state);
}

static void accepted(void *state, int n) {
    struct end *s = *(struct end **)state;
    if (n < 0)
        fin_cont_end();
    if (++calls % FROM_DISK == 0)
        fin_pread_on(&s->disk, file, s->record, sizeof s->record, place_of(s->in), has_read, &s, sizeof s);
    answer(s);
}

static void begin_accepting(void *state, int result) {
    struct end *s = *(struct end **)state;
    (void)result;
    fin_rpc_accept_on(s->rpc, &s->in, sizeof s->in, &s->id, &s->on, accepted, &s, sizeof s);
}

// ---- a dispatch loop: a request that has to wait goes to an AWE without a stack

struct job {
    struct fin_on disk;
    struct fin_rpc *rpc;
    uint32_t id;
    long out;
    char record[RECORD];
};

static void has_record(void *state, int n) {
    struct job *j = *(struct job **)state;
    if (n >= 0)
        fin_rpc_reply(j->rpc, j->id, &j->out, sizeof j->out);
    free(j);
    fin_cont_end();
}

static void begin_job(void *state, int result) {
    struct job *j = *(struct job **)state;
    (void)result;
    fin_pread_on(&j->disk, file, j->record, sizeof j->record, place_of(j->out), has_record, &j, sizeof j);
}

static void handle(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *unused) {
    long out = *(long *)request + 1;
    (void)unused;
    if (++calls % FROM_DISK != 0) {
        fin_rpc_reply(r, id, &out, size);
        return;
    }
    struct job *j = malloc(sizeof *j);
    BENCH_GOT(j);
    *j = (struct job){.rpc = r, .id = id, .out = out};
    BENCH_MUST(fin_async_cont_beside(begin_job, &j, sizeof j) != NULL);
}

static void served(void *state, int result) {
    (void)state;
    (void)result;
    fin_cont_end();
}

static void begin_serving(void *state, int result) {
    struct end *s = *(struct end **)state;
    (void)result;
    fin_rpc_serve_on(s->rpc, handle, NULL, &s->on, served, &s, sizeof s);
}

// In a finish block.
#define BEGIN_SERVERS(n)                                                                                                    \
    for (int i = 0; i < (n); i++) {                                                                                         \
        struct end *s = &servers[i];                                                                                        \
        BENCH_MUST(fin_async_cont(i % 2 ? begin_serving : begin_accepting, &s, sizeof s) != NULL);                          \
    }

// ---- clients

static void call(void *state, int n) {
    struct end *c = *(struct end **)state;
    BENCH_MUST(n >= 0 && (n == 0 || c->in == c->out + 1));
    if (c->left-- == 0)
        fin_cont_end();
    c->out = c->left;
    fin_rpc_call_on(c->rpc, &c->out, sizeof c->out, &c->in, sizeof c->in, &c->on, call, &c, sizeof c);
}

static void call_all(int n) {
    fin_finish {
        for (int i = 0; i < n; i++) {
            struct end *c = &callers[i];
            c->left = few(CALLS);
            BENCH_MUST(fin_async_cont(call, &c, sizeof c) != NULL);
        }
    }
}

// ---- in a thread

void rpc_service(void *unused) {
    (void)unused;
    file = begin_file();
    fin_finish {
        for (int i = 0; i < CALLERS; i++) {
            struct fin_chan_options o = {0, FIN_CHAN_LOCAL};
            struct fin_chan *a, *b;
            BENCH_DID(fin_chan_pair(&a, &b, &o));
            BENCH_DID(fin_rpc_open(&callers[i].rpc, a, FIN_RPC_CLIENT));
            BENCH_DID(fin_rpc_open(&servers[i].rpc, b, 0));
        }
        BEGIN_SERVERS(CALLERS)
        call_all(CALLERS);
        fin_cancel();
    }
    for (int i = 0; i < CALLERS; i++) {
        fin_rpc_close(callers[i].rpc);
        fin_rpc_close(servers[i].rpc);
    }
    close(file);
}

// ---- between processes

static int sockets[FAR][2], counted[2];
static pid_t server;

static void serve_far(void) {
    struct fin_stats stats;
    struct fin_chan *c;
    file = begin_file();
    for (int i = 0; i < FAR; i++) {
        BENCH_DID(fin_chan_take(&c, sockets[i][1], 0));
        BENCH_DID(fin_rpc_open(&servers[i].rpc, c, 0));
    }
    fin_stats_clear();
    fin_finish {
        BEGIN_SERVERS(FAR)
    }
    fin_stats(&stats);
    BENCH_GOT(write(counted[1], &stats, sizeof stats) == sizeof stats);
}

void service_begin(void) {
    BENCH_SYS(pipe(counted));
    for (int i = 0; i < FAR; i++)
        BENCH_SYS(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets[i]));
    server = (pid_t)BENCH_SYS(fork());
    for (int i = 0; i < FAR; i++)
        close(sockets[i][server != 0]);
    close(counted[server == 0 ? 0 : 1]);
    if (server == 0) {
        serve_far();
        _exit(0);
    }
}

void rpc_clients(void *unused) {
    struct fin_chan *c;
    (void)unused;
    for (int i = 0; i < FAR; i++) {
        BENCH_DID(fin_chan_offer(&c, sockets[i][0], NULL));
        BENCH_DID(fin_rpc_open(&callers[i].rpc, c, FIN_RPC_CLIENT));
    }
    call_all(FAR);
    for (int i = 0; i < FAR; i++)
        fin_rpc_close(callers[i].rpc);
}

void rpc_server(struct fin_stats *out) {
    BENCH_GOT(read(counted[0], out, sizeof *out) == sizeof *out);
    BENCH_SYS(waitpid(server, NULL, 0));
}
