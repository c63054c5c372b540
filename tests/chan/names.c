// SPDX-License-Identifier: BSD-2-Clause
// Channels by name, in the file system and outside it: several clients, a process each; what a name can be; what is left
// behind.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "chan.h"

enum { CLIENTS = 5 };
static char folder[] = "/tmp/fin-chan-XXXXXX", path[64], abstract[64];

static void client(const char *name) {
    struct fin_chan *c;
    unsigned word = (unsigned)getpid(), answer;
    int r;
    while ((r = fin_chan_connect(&c, name, 0)) == -ECONNREFUSED || r == -ENOENT)
        CHECK_EQ(fin_sleep(FIN_MS), 0);
    CHECK_EQ(r, 0);
    CHECK_EQ(fin_chan_send(c, &word, sizeof word), 0);
    CHECK_EQ(fin_chan_recv(c, &answer, sizeof answer), sizeof answer);
    CHECK_EQ(answer, word + 1);
    CHECK_EQ(fin_chan_close(c), 0);
}

static void serve(void *chan) {
    struct fin_chan *c = chan;
    unsigned word;
    CHECK_EQ(fin_chan_recv(c, &word, sizeof word), sizeof word);
    word++;
    CHECK_EQ(fin_chan_send(c, &word, sizeof word), 0);
    CHECK_EQ(fin_chan_recv(c, &word, sizeof word), -ESHUTDOWN);
    CHECK_EQ(fin_chan_close(c), 0);
}

static void meet(const char *name) {
    struct fin_chan_listener *l, *second;
    pid_t pids[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            client(name);
            _exit(0);
        }
    }
    CHECK_EQ(fin_chan_listen(&l, name, NULL), 0);
    CHECK_EQ(fin_chan_listen(&second, name, NULL), -EADDRINUSE);
    fin_finish {
        for (int i = 0; i < CLIENTS; i++) {
            struct fin_chan *c;
            CHECK_EQ(fin_chan_accept(l, &c), 0);
            fin_async_call(serve, c);
        }
    }
    for (int i = 0; i < CLIENTS; i++)
        ended_well(pids[i]);
    fin_finish {
        fin_timeout(10 * FIN_MS) {
            struct fin_chan *c;
            CHECK_EQ(fin_chan_accept(l, &c), -ECANCELED);
        }
    }
    fin_chan_listener_close(l);
    struct fin_chan *c;
    CHECK_EQ(fin_chan_connect(&c, name, 0), name[0] == '@' ? -ECONNREFUSED : -ENOENT);
}

// What a process that died leaves is replaced; what is no socket, or has a listener of another kind, is not.
static void left_over(void) {
    struct fin_chan_listener *l;
    struct fin_chan *c;
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_EQ(fin_chan_listen(&l, path, NULL), 0);
        _exit(0);
    }
    ended_well(pid);
    struct stat s;
    CHECK_EQ(stat(path, &s), 0);
    CHECK_EQ(fin_chan_connect(&c, path, 0), -ECONNREFUSED);
    CHECK_EQ(fin_chan_listen(&l, path, NULL), 0);
    fin_chan_listener_close(l);
    CHECK_EQ(stat(path, &s), -1);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    CHECK_EQ(fin_chan_listen(&l, path, NULL), -EADDRINUSE);
    CHECK_EQ(stat(path, &s), 0);
    unlink(path);
}

// Ours was removed by somebody, and the name is another's now: it stays when we close.
static void taken_over(void) {
    struct fin_chan_listener *first, *second;
    struct stat s;
    CHECK_EQ(fin_chan_listen(&first, path, NULL), 0);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(fin_chan_listen(&second, path, NULL), 0);
    fin_chan_listener_close(first);
    CHECK_EQ(stat(path, &s), 0);
    fin_chan_listener_close(second);
    CHECK_EQ(stat(path, &s), -1);
}

// The child of a fork closes the listener: the name stays its parent's.
static void closed_by_a_child(void) {
    struct fin_chan_listener *l;
    struct stat s;
    CHECK_EQ(fin_chan_listen(&l, path, NULL), 0);
    pid_t pid = fork();
    if (pid == 0) {
        fin_chan_listener_close(l);
        _exit(0);
    }
    ended_well(pid);
    CHECK_EQ(stat(path, &s), 0);
    fin_chan_listener_close(l);
}

// Another is about to listen, and has bound its socket.
static void at_once(void) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct fin_chan_listener *l;
    int bound[2], ends[2];
    char byte;
    strcpy(a.sun_path, path);
    CHECK_EQ(pipe(bound), 0);
    CHECK_EQ(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int lock = open(folder, O_RDONLY | O_DIRECTORY), s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        CHECK_EQ(flock(lock, LOCK_EX), 0);
        CHECK_EQ(bind(s, (struct sockaddr *)&a, sizeof a), 0);
        CHECK_EQ(write(bound[1], "", 1), 1);
        usleep(20000);
        CHECK_EQ(listen(s, 1), 0);
        close(lock);
        close(ends[1]);
        CHECK_EQ(read(ends[0], &byte, 1), 0);
        _exit(0);
    }
    CHECK_EQ(read(bound[0], &byte, 1), 1);
    CHECK_EQ(fin_chan_listen(&l, path, NULL), -EADDRINUSE);
    close(ends[1]);
    ended_well(pid);
    CHECK_EQ(fin_chan_listen(&l, path, NULL), 0); // it is left over now
    fin_chan_listener_close(l);
    for (int i = 0; i < 3; i++)
        close((int[]){bound[0], bound[1], ends[0]}[i]);
}

static struct fin_chan_listener *late;

static void listens(void *unused) {
    (void)unused;
    CHECK_EQ(fin_chan_listen(&late, path, NULL), 0);
}

// A process forks while one of its threads waits for the folder's lock: the child does not keep it.
static void forked_meanwhile(void) {
    struct fin_thread_handle t;
    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (on_valgrind() || ON_TSAN)
        return;
    CHECK_EQ(flock(lock, LOCK_EX), 0);
    CHECK_EQ(fin_thread_start(&t, listens, NULL), 0);
    usleep(20000);
    pid_t pid = fork();
    if (pid == 0) {
        close(lock);
        alarm(60);
        pause();
    }
    CHECK_EQ(flock(lock, LOCK_UN), 0);
    fin_thread_join(&t);
    CHECK_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
    close(lock);
    fin_chan_listener_close(late);
    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

// The queue of a listener is full: it is there all the same, and not waited for.
static void busy(void) {
    struct fin_chan_listener *l;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fds[10], n = 0;
    strcpy(a.sun_path, path);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(listener, (struct sockaddr *)&a, sizeof a), 0);
    CHECK_EQ(listen(listener, 1), 0);
    do {
        CHECK(n < 10);
        fds[n] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    } while (connect(fds[n++], (struct sockaddr *)&a, sizeof a) == 0);
    alarm(60);
    CHECK_EQ(fin_chan_listen(&l, path, NULL), -EADDRINUSE);
    alarm(0);
    while (n > 0)
        close(fds[--n]);
    close(listener);
    unlink(path);
}

static void bad_names(void) {
    struct fin_chan_listener *l;
    struct fin_chan *c;
    char longest[200];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    CHECK_EQ(fin_chan_listen(&l, "", NULL), -EINVAL);
    CHECK_EQ(fin_chan_listen(&l, longest, NULL), -ENAMETOOLONG);
    CHECK_EQ(fin_chan_listen(&l, "/no/such/folder/x", NULL), -ENOENT);
    CHECK_EQ(fin_chan_connect(&c, "", 0), -EINVAL);
    CHECK_EQ(fin_chan_connect(&c, longest, 0), -ENAMETOOLONG);
    CHECK_EQ(fin_chan_connect(&c, "/no/such/folder/x", 0), -ENOENT);
    CHECK_EQ(fin_chan_listen(&l, abstract, &(struct fin_chan_options){0, FIN_CHAN_LOCAL}), -EINVAL);
}

int main(void) {
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/name", folder);
    snprintf(abstract, sizeof abstract, "@%s", folder);
    meet(path);
    meet(abstract);
    left_over();
    taken_over();
    closed_by_a_child();
    at_once();
    forked_meanwhile();
    busy();
    bad_names();
    CHECK_EQ(rmdir(folder), 0);
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
    return 0;
}
