// SPDX-License-Identifier: BSD-2-Clause
// Peers come and go for as long as is asked for (seconds, as the argument): by name and by TCP, in processes that are killed
// at any moment while others talk on. Whoever is left is told; nothing is left of who is gone: no descriptor, no child, no
// memory.
#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/prctl.h>

#include "chan.h"

enum { AT_ONCE = 6, LARGE = 900, WARM = 40 };

static char name[40];
static struct fin_chan_listener *listener;
static int tcp;
static struct sockaddr_in address;
static unsigned seed = 5, peers, killed, messages;
static uint64_t bytes, until;

static void talk(struct fin_chan *c, unsigned number) {
    unsigned char p[LARGE], q[LARGE];
    for (unsigned i = 0;; i++) {
        size_t size = (number + i) % 7 ? 24 : LARGE;
        fill(p, size, i);
        if (fin_chan_send(c, p, size) != 0 || fin_chan_recv(c, q, sizeof q) != (ssize_t)size)
            return;
        CHECK(filled(q, size, i));
        if (i % 50 == number % 50)
            fin_sleep(1000 * (number % 100));
    }
}

static void stream(void) {
    char p[LARGE];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || fin_connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        return;
    memset(p, 7, sizeof p);
    while (fin_send_all(fd, p, sizeof p, 0, NULL) == 0 && fin_recv_all(fd, p, sizeof p, 0, NULL) == 0)
        fin_sleep(1000);
}

static void peer(const char *to, unsigned short port, unsigned number) {
    struct fin_chan *c;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (number % 3 == 0)
        stream();
    else if (fin_chan_connect(&c, to, 0) == 0)
        talk(c, number);
}

static void serve_chan(void *chan) {
    unsigned char p[LARGE];
    ssize_t n;
    while ((n = fin_chan_recv(chan, p, sizeof p)) >= 0 && fin_chan_send(chan, p, (size_t)n) == 0)
        messages++;
    CHECK(n >= 0 || n == -ECONNRESET || n == -ESHUTDOWN || n == -ECANCELED);
    CHECK_EQ(fin_chan_close(chan), 0);
}

static void serve_stream(void *socket) {
    int fd = (int)(intptr_t)socket;
    char p[LARGE];
    while (fin_recv_all(fd, p, sizeof p, 0, NULL) == 0 && fin_send_all(fd, p, sizeof p, 0, NULL) == 0)
        bytes += sizeof p;
    close(fd);
}

static void accept_chans(void *unused) {
    struct fin_chan *c;
    (void)unused;
    fin_finish {
        while (fin_chan_accept(listener, &c) == 0)
            fin_async_call(serve_chan, c);
    }
}

static void accept_streams(void *unused) {
    int fd;
    (void)unused;
    fin_finish {
        while ((fd = fin_accept4(tcp, NULL, NULL, SOCK_CLOEXEC)) >= 0)
            fin_async_call(serve_stream, (void *)(intptr_t)fd);
    }
}

static int start(struct fin_process *p, unsigned number) {
    char port[8], text[12];
    snprintf(port, sizeof port, "%u", ntohs(address.sin_port));
    snprintf(text, sizeof text, "%u", number);
    const char *const argv[] = {"soak", name, port, text, NULL};
    return fin_spawn(p, &(struct fin_spawn){.path = "/proc/self/exe", .argv = argv});
}

static void one_after_the_other(void *rounds) {
    struct fin_process p;
    int status;
    unsigned late = 0;
    for (unsigned i = 0; rounds ? i < *(unsigned *)rounds : fin_now() < until || !messages || !bytes; i++) {
        CHECK_EQ(start(&p, peers++), 0);
        unsigned most = fin_now() < until ? 20 : 20 + late++; // at last on slow machines, too
        CHECK_EQ(fin_sleep(next_random(&seed) % most * FIN_MS), 0);
        killed += fin_kill(&p, SIGKILL) == 0;
        CHECK_EQ(fin_wait(&p, &status), 0);
        CHECK(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    }
}

static void peers_for(void *rounds) {
    fin_finish_as(all) {
        fin_async_call(accept_chans, NULL);
        fin_async_call(accept_streams, NULL);
        fin_finish {
            for (int i = 0; i < AT_ONCE; i++)
                fin_async_call(one_after_the_other, rounds);
        }
        fin_cancel_as(all);
    }
}

int main(int argc, char **argv) {
    if (argc == 4) {
        peer(argv[1], (unsigned short)atoi(argv[2]), (unsigned)atoi(argv[3]));
        return 0;
    }
    if (on_valgrind())
        SKIP("valgrind starts its programs for longer than they live here");
    static const char *const nothing[] = {"soak", "", "0", "3", NULL}; // an address that nobody listens at
    int status = 1;
    if (fin_run(&(struct fin_spawn){.path = "/proc/self/exe", .argv = nothing}, NULL, 0, NULL, 0, &status) != 0 || status)
        SKIP("this program cannot be started as it is: under an emulator");
    unsigned warm = few(WARM) / 4 + 1;
    double seconds = argc > 1 ? atof(argv[1]) : 0.4;
    socklen_t size = sizeof address;
    snprintf(name, sizeof name, "@fin-soak-%d", (int)getpid());
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(tcp, (struct sockaddr *)&address, size), 0);
    CHECK_EQ(listen(tcp, 64), 0);
    CHECK_EQ(getsockname(tcp, (struct sockaddr *)&address, &size), 0);
    CHECK_EQ(fin_chan_listen(&listener, name, &(struct fin_chan_options){4096, 0}), 0);
    peers_for(&warm);
    int before = settled_descriptors(), maps = count_in("/proc/self/map_files");
    size_t memory = mallinfo2().uordblks;
    until = fin_now() + (uint64_t)(seconds * 1e9);
    peers_for(NULL);
    printf("%u peers, %u of them killed; %u messages, %llu bytes; %zu bytes of memory before, %zu after\n", peers, killed,
           messages, (unsigned long long)bytes, memory, mallinfo2().uordblks);
    until_open_descriptors(before);
    CHECK(count_in("/proc/self/map_files") <= maps + 8);
    CHECK(mallinfo2().uordblks <= memory + 65536);
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
    fin_chan_listener_close(listener);
    return 0;
}
