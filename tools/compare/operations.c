// SPDX-License-Identifier: BSD-2-Clause
// One operation N times: operations OPERATION N. compare.py counts its instructions with one library and another.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fin.h>

static long count;
static struct fin_sem ping, pong;
static struct fin_chan *near, *far;
static struct fin_rpc *caller, *server;
static int data;

static void nothing(void *arg) { (void)arg; }

static FIN_BLOCKING void yields(void *arg) {
    (void)arg;
    fin_yield();
}

static FIN_BLOCKING void yields_always(void *arg) {
    (void)arg;
    for (long i = 0; i < count; i++)
        fin_yield();
}

static FIN_BLOCKING void posts_back(void *arg) {
    (void)arg;
    for (long i = 0; i < count; i++) {
        fin_sem_wait(&ping);
        fin_sem_post(&pong);
    }
}

static FIN_BLOCKING void echoes(void *arg) {
    (void)arg;
    for (long i = 0; i < count; i++) {
        fin_chan_recv(far, &data, sizeof data);
        fin_chan_send(far, &data, sizeof data);
    }
}

static FIN_BLOCKING void serves(void *arg) {
    uint32_t id;
    (void)arg;
    for (long i = 0; i < count; i++) {
        fin_rpc_accept(server, &data, sizeof data, &id);
        fin_rpc_reply(server, id, &data, sizeof data);
    }
}

static void again(void *state, int result) {
    long n = *(long *)state - 1;
    if (n <= 0 || result != 0)
        fin_cont_end();
    fin_yield_on(again, &n, sizeof n);
}

static void pair(unsigned flags) {
    struct fin_chan_options o = {.flags = flags};
    if (fin_chan_pair(&near, &far, &o) != 0)
        exit(1);
}

static FIN_BLOCKING void async_lazy(void) {
    fin_finish {
        for (long i = 0; i < count; i++)
            fin_async_call(nothing, NULL);
    }
}

static FIN_BLOCKING void async_eager(void) {
    fin_finish {
        for (long i = 0; i < count; i++)
            fin_async_eager_call(nothing, NULL);
    }
}

static FIN_BLOCKING void async_yield(void) {
    for (long i = 0; i < count; i++)
        fin_finish {
            fin_async_call(yields, NULL);
        }
}

static FIN_BLOCKING void yield(void) {
    fin_finish {
        fin_async_call(yields_always, NULL);
        yields_always(NULL);
    }
}

static FIN_BLOCKING void yield_on(void) {
    fin_finish {
        fin_async_cont(again, &count, sizeof count);
        fin_async_cont(again, &count, sizeof count);
    }
}

static FIN_BLOCKING void semaphores(void) {
    fin_sem_init(&ping, 0);
    fin_sem_init(&pong, 0);
    fin_finish {
        fin_async_call(posts_back, NULL);
        for (long i = 0; i < count; i++) {
            fin_sem_post(&ping);
            fin_sem_wait(&pong);
        }
    }
}

static FIN_BLOCKING void round_trip(void) {
    pair(FIN_CHAN_LOCAL);
    fin_finish {
        fin_async_call(echoes, NULL);
        for (long i = 0; i < count; i++) {
            fin_chan_send(near, &data, sizeof data);
            fin_chan_recv(near, &data, sizeof data);
        }
    }
}

static FIN_BLOCKING void ring(void) {
    pair(0);
    for (long i = 0; i < count; i++) {
        fin_chan_send(near, &data, sizeof data);
        fin_chan_recv(far, &data, sizeof data);
    }
}

static FIN_BLOCKING void call(void) {
    pair(FIN_CHAN_LOCAL);
    if (fin_rpc_open(&caller, near, FIN_RPC_CLIENT) != 0 || fin_rpc_open(&server, far, 0) != 0)
        exit(1);
    fin_finish {
        fin_async_call(serves, NULL);
        for (long i = 0; i < count; i++)
            fin_rpc_call(caller, &data, sizeof data, &data, sizeof data);
    }
}

static FIN_BLOCKING void pipe_there(void) { // through epoll: callgrind knows no io_uring
    int fd[2];
    if (pipe(fd) != 0)
        exit(1);
    for (long i = 0; i < count; i++) {
        fin_write(fd[1], &data, sizeof data);
        fin_read(fd[0], &data, sizeof data);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} operations[] = {
    {"async", async_lazy},
    {"async, eager", async_eager},
    {"finish, async, yield", async_yield},
    {"two yields", yield},
    {"two yields, no stacks", yield_on},
    {"semaphore, there and back", semaphores},
    {"message, there and back", round_trip},
    {"message through the ring", ring},
    {"call", call},
    {"write and read a pipe", pipe_there},
};

FIN_BLOCKING int main(int argc, char **argv) {
    if (argc == 3)
        count = atol(argv[2]);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (argc == 1)
            puts(operations[i].name);
        else if (strcmp(argv[1], operations[i].name) == 0)
            return operations[i].run(), 0;
    return argc != 1;
}
