// SPDX-License-Identifier: BSD-2-Clause
#define _GNU_SOURCE
#include "workloads.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fin.h>

#include "bench.h"

static int few(int n) { return bench_options.quick ? n / 4 : n; }

static void must(bool so, const char *what) {
    if (!so) {
        perror(what);
        exit(1);
    }
}

// ---- quotes: a quote every 5 ms to each of 400 clients

enum { CLIENTS = 400, QUOTES = 200, EVERY = 5 };

struct subscriber {
    struct fin_on on;
    uint64_t due;
    int fd;
    char request;
};

static struct fin_acceptor *acceptor;
static struct fin_on accepting;
static struct sockaddr_in address;
static struct fin_sem clients_done = FIN_SEM_INIT(0);

static void sent(void *state, int result) {
    struct subscriber *s = *(struct subscriber **)state;
    if (result <= 0) {
        close(s->fd);
        free(s);
        fin_cont_end();
    }
    s->due += EVERY * FIN_MS;
    fin_send_at_on(&s->on, s->due, s->fd, &s->due, sizeof s->due, 0, sent, &s, sizeof s);
}

static void subscribed(void *state, int received) {
    struct subscriber *s = *(struct subscriber **)state;
    s->due = fin_now();
    sent(&s, received);
}

static void welcome(void *state, int result) {
    struct subscriber *s = *(struct subscriber **)state;
    (void)result;
    fin_recv_on(&s->on, s->fd, &s->request, 1, 0, subscribed, &s, sizeof s);
}

static void accepted(void *state, int fd) {
    if (fd < 0)
        fin_cont_end();
    struct subscriber *s = malloc(sizeof *s);
    must(s != NULL, "malloc");
    s->fd = fd;
    must(fin_async_cont_beside(welcome, &s, sizeof s) != NULL, "a client");
    fin_acceptor_next_on(acceptor, &accepting, accepted, state, 0);
}

static void begin_accepting(void *state, int result) {
    (void)result;
    fin_acceptor_next_on(acceptor, &accepting, accepted, state, 0);
}

static void client(void *unused) {
    (void)unused;
    uint64_t quote;
    int fd = socket(AF_INET, SOCK_STREAM, 0), n = few(QUOTES);
    struct linger reset = {.l_onoff = 1};
    must(fd >= 0 && fin_connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    must(fin_send(fd, "?", 1, 0) == 1, "send");
    while (n-- > 0)
        must(fin_recv_all(fd, &quote, sizeof quote, 0, NULL) == 0, "recv");
    close(fd);
}

static void clients(void *unused) {
    fin_finish {
        for (int i = 0; i < CLIENTS; i++)
            fin_async_call(client, unused);
    }
    fin_sem_post(&clients_done);
}

void quote_server(void *unused) {
    struct fin_thread_handle t;
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    must(fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, CLIENTS) == 0, "listen");
    getsockname(fd, (struct sockaddr *)&address, &size);
    must(fin_acceptor_open(&acceptor, fd, SOCK_CLOEXEC) == 0, "acceptor");
    fin_finish {
        fin_async_cont(begin_accepting, NULL, 0);
        must(fin_thread_start(&t, clients, unused) == 0, "thread");
        fin_sem_wait_nc(&clients_done);
        fin_cancel();
    }
    fin_thread_join_nc(&t);
    fin_acceptor_close(acceptor);
    close(fd);
}

// ---- a tree of files

enum { DIRECTORIES = 8, FILES = 64, FILE_SIZE = 48 * 1024, PIECE = 8 * 1024 };

struct file {
    struct fin_on on;
    int dir, fd;
    char name[16], piece[PIECE];
};
static uint64_t sum;

static void read_on(void *state, int n) {
    struct file *f = *(struct file **)state;
    for (int i = 0; i < n; i++)
        sum += (unsigned char)f->piece[i];
    if (n <= 0) {
        close(f->fd);
        free(f);
        fin_cont_end();
    }
    fin_read_on(&f->on, f->fd, f->piece, sizeof f->piece, read_on, &f, sizeof f);
}

static void opened(void *state, int fd) {
    struct file *f = *(struct file **)state;
    must(fd >= 0, f->name);
    f->fd = fd;
    fin_read_on(&f->on, f->fd, f->piece, sizeof f->piece, read_on, &f, sizeof f);
}

static void begin_file(void *state, int result) {
    struct file *f = *(struct file **)state;
    (void)result;
    fin_openat_on(&f->on, f->dir, f->name, O_RDONLY | O_CLOEXEC, 0, opened, &f, sizeof f);
}

static void in_tree(void (*fn)(int dir)) {
    char path[] = "/tmp/fin-tree-XXXXXX", name[32];
    must(mkdtemp(path) != NULL, path);
    int top = open(path, O_RDONLY | O_DIRECTORY);
    for (int d = 0; d < DIRECTORIES; d++) {
        snprintf(name, sizeof name, "d%d", d);
        must(mkdirat(top, name, 0700) == 0, name);
        int dir = openat(top, name, O_RDONLY | O_DIRECTORY);
        for (int i = 0; i < FILES; i++) {
            snprintf(name, sizeof name, "f%d", i);
            int fd = openat(dir, name, O_WRONLY | O_CREAT, 0600);
            must(fd >= 0 && ftruncate(fd, FILE_SIZE) == 0, name);
            close(fd);
        }
        fn(dir);
        for (int i = 0; i < FILES; i++) {
            snprintf(name, sizeof name, "f%d", i);
            unlinkat(dir, name, 0);
        }
        close(dir);
        snprintf(name, sizeof name, "d%d", d);
        unlinkat(top, name, AT_REMOVEDIR);
    }
    close(top);
    rmdir(path);
}

static void directory(int dir) {
    DIR *d = fdopendir(dup(dir));
    must(d != NULL, "directory");
    fin_finish {
        for (struct dirent *e; (e = readdir(d));) {
            if (e->d_name[0] == '.')
                continue;
            struct file *f = malloc(sizeof *f);
            must(f != NULL, "malloc");
            f->dir = dir;
            snprintf(f->name, sizeof f->name, "%.15s", e->d_name);
            fin_async_cont(begin_file, &f, sizeof f);
        }
    }
    closedir(d);
}

void file_tree(void *unused) {
    (void)unused;
    in_tree(directory);
}

// ---- calls over channels: each client has one to a server AWE; one call in four waits for a disk

enum { CALLERS = 64, CALLS = 2000 };

struct end {
    struct fin_chan_on on;
    struct fin_on disk;
    struct fin_chan *chan;
    long in, out;
    int left;
};

static struct end callers[CALLERS], servers[CALLERS];
static long calls;

static void serve(void *state, int n);

static void answer(void *state, int result) {
    struct end *s = *(struct end **)state;
    if (result < 0)
        fin_cont_end();
    s->out = s->in + 1;
    fin_chan_send_recv_on(s->chan, &s->out, sizeof s->out, &s->in, sizeof s->in, &s->on, serve, &s, sizeof s);
}

static void serve(void *state, int n) {
    struct end *s = *(struct end **)state;
    if (n < 0)
        fin_cont_end();
    if (++calls % 4 == 0)
        fin_sleep_on(&s->disk, 20000, answer, &s, sizeof s);
    answer(&s, 0);
}

static void begin_serving(void *state, int result) {
    struct end *s = *(struct end **)state;
    (void)result;
    fin_chan_recv_on(s->chan, &s->in, sizeof s->in, &s->on, serve, &s, sizeof s);
}

static void call(void *state, int n) {
    struct end *c = *(struct end **)state;
    must(n >= 0, "a call");
    if (c->left-- == 0)
        fin_cont_end();
    c->out = c->left;
    fin_chan_send_recv_on(c->chan, &c->out, sizeof c->out, &c->in, sizeof c->in, &c->on, call, &c, sizeof c);
}

void rpc_service(void *unused) {
    (void)unused;
    fin_finish {
        for (int i = 0; i < CALLERS; i++) {
            struct end *c = &callers[i], *s = &servers[i];
            struct fin_chan_options o = {0, FIN_CHAN_LOCAL};
            must(fin_chan_pair(&c->chan, &s->chan, &o) == 0, "a channel");
            c->left = few(CALLS);
            fin_async_cont(begin_serving, &s, sizeof s);
        }
        fin_finish {
            for (int i = 0; i < CALLERS; i++) {
                struct end *c = &callers[i];
                fin_async_cont(call, &c, sizeof c);
            }
        }
        fin_cancel();
    }
    for (int i = 0; i < CALLERS; i++) {
        fin_chan_close(callers[i].chan);
        fin_chan_close(servers[i].chan);
    }
}
