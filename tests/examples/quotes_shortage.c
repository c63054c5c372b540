// SPDX-License-Identifier: BSD-2-Clause
// The servers of examples/quotes.c, with more clients than descriptors: all are served, the last when the first have gone.
#define main quotes_main
#include "../../examples/quotes.c"
#undef main

enum { FEW = 24, MANY = 3 * FEW };

static void limit_descriptors(void) {
    struct rlimit few;
    EXPECT(getrlimit(RLIMIT_NOFILE, &few) == 0);
    few.rlim_cur = FEW;
    EXPECT(setrlimit(RLIMIT_NOFILE, &few) == 0);
}

static FIN_BLOCKING void serve_few(void *listener) {
    limit_descriptors();
    serve(listener);
}

static FIN_BLOCKING void serve_few_without_stacks(void *listener) {
    limit_descriptors();
    serve_without_stacks(listener);
}

static int connected(const struct sockaddr_in *address) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT(fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) == 0);
    return fd;
}

static void ask_and_go(int fd) {
    uint32_t price = 10000;
    struct quote quote;
    EXPECT(send(fd, &price, sizeof price, MSG_NOSIGNAL) == sizeof price);
    EXPECT(recv(fd, &quote, sizeof quote, MSG_WAITALL) == sizeof quote && quote.price == price);
    close(fd);
}

static void check(void (*server)(void *)) {
    struct sockaddr_in address = {0};
    int listener = listen_somewhere(&address), fds[MANY];
    pid_t pid = start_process(server, &listener);
    EXPECT(pid > 0);
    close(listener);
    for (int i = 0; i < MANY; i++)
        fds[i] = connected(&address);
    for (int i = 0; i < MANY; i++)
        ask_and_go(fds[i]);
    kill(pid, SIGKILL);
    EXPECT(waitpid(pid, NULL, 0) == pid);
}

int main(void) {
    period = FIN_MS;
    check(serve_few);
    check(serve_few_without_stacks);
    return 0;
}
