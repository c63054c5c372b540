// SPDX-License-Identifier: BSD-2-Clause
// A thread ends in the middle of a chain and with receivers at work: nothing of it takes what comes later. In the child of a
// fork the objects of its parent are refused, and the parent's go on.
#include <fin/fixed.h>
#include <fin/linked.h>
#include <fin/stream.h>
#include <pthread.h>
#include <sys/wait.h>

#include "net.h"

static int pair[2][2];
static char lost[8];
static bool receives;

static void receive_and_stay(void *receiver) {
    void *piece;
    CHECK_EQ(fin_receiver_next(receiver, &piece), 3); // and it receives on
    receives = true;
    fin_sleep(3600 * FIN_S);
}

static void wait_in_chain(void *unused) {
    (void)unused;
    struct fin_step s[] = {fin_step_recv(pair[1][0], lost, 1, 0), fin_step_recv(pair[1][0], lost + 1, 1, 0)};
    fin_linked(s, 2);
}

static void *ends_early(void *unused) {
    struct fin_buffers *pool;
    struct fin_receiver *receiver;
    receives = false;
    CHECK_EQ(fin_buffers_open(&pool, 4, 64), 0);
    CHECK_EQ(fin_receiver_open(&receiver, pair[0][0], pool), 0);
    CHECK_EQ(write(pair[0][1], "abc", 3), 3);
    fin_finish {
        fin_async_eager { receive_and_stay(receiver); };
        fin_async_eager { wait_in_chain(NULL); };
        do
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        while (!receives);
        pthread_exit(unused);
    }
    return NULL;
}

static void thread_ends(void) {
    char back[8];
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, ends_early, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(write(pair[i][1], "def", 3), 3);
        CHECK_EQ(recv(pair[i][0], back, sizeof back, MSG_DONTWAIT), 3);
    }
    CHECK_EQ(lost[0], 0);
}

struct objects {
    struct fin_acceptor *acceptor;
    struct fin_buffers *pool;
    struct fin_receiver *receiver;
    struct fin_memory *memory;
    int file;
};

static int child(const struct objects *o) {
    void *piece;
    char c;
    CHECK_EQ(fin_acceptor_next(o->acceptor), -EXDEV);
    CHECK_EQ(fin_acceptor_close(o->acceptor), -EXDEV);
    CHECK_EQ(fin_receiver_next(o->receiver, &piece), -EXDEV);
    CHECK_EQ(fin_receiver_close(o->receiver), -EXDEV);
    CHECK_EQ(fin_buffers_recv(o->pool, pair[1][0], &piece, 0), -EXDEV);
    CHECK_EQ(fin_buffers_close(o->pool), -EXDEV);
    CHECK_EQ(fin_memory_unregister(o->memory), -EXDEV);
    CHECK_EQ(fin_recv(o->file, &c, 1, 0), -EBADF);
    CHECK_EQ(fin_sleep(1), 0);
    CHECK_EQ(fin_recv(o->file, &c, 1, 0), -EBADF);
    CHECK_EQ(fin_acceptor_next(o->acceptor), -EXDEV);
    struct fin_buffers *mine;
    CHECK_EQ(fin_buffers_open(&mine, 2, 64), 0);
    CHECK_EQ(write(pair[1][1], "m", 1), 1);
    CHECK_EQ(fin_buffers_recv(mine, pair[1][0], &piece, 0), 1);
    return 7;
}

static struct objects o;

static void take_both(void *unused) {
    (void)unused;
    void *piece;
    CHECK_EQ(fin_receiver_next(o.receiver, &piece), 2);
    CHECK_EQ(fin_buffers_put(o.pool, piece), 0);
    int peer = fin_acceptor_next(o.acceptor);
    CHECK(peer >= 0);
    close(peer);
}

static void process_forks(void) {
    struct sockaddr_in address;
    int listener = tcp_listen(&address, 2), status;
    CHECK_EQ(fin_acceptor_open(&o.acceptor, listener, 0), 0);
    CHECK_EQ(fin_buffers_open(&o.pool, 4, 64), 0);
    CHECK_EQ(fin_receiver_open(&o.receiver, pair[0][0], o.pool), 0);
    CHECK_EQ(fin_memory_register(&o.memory, lost, sizeof lost), 0);
    o.file = fin_file_register(pair[1][0]);
    CHECK(o.file > 0);
    fin_finish {
        fin_async_call(take_both, NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        pid_t pid = fork();
        if (pid == 0)
            _exit(child(&o));
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 7);
        CHECK_EQ(write(pair[0][1], "xy", 2), 2);
        close(tcp_connect(&address));
    }
    CHECK_EQ(fin_receiver_close(o.receiver), 0);
    CHECK_EQ(fin_buffers_close(o.pool), 0);
    CHECK_EQ(fin_acceptor_close(o.acceptor), 0);
    CHECK_EQ(fin_memory_unregister(o.memory), 0);
    CHECK_EQ(fin_file_unregister(o.file), 0);
    close(listener);
}

int main(void) {
    stream_pair(pair[0]);
    stream_pair(pair[1]);
    for (int i = 0; i < 20; i++)
        thread_ends();
    process_forks();
    return 0;
}
