// SPDX-License-Identifier: BSD-2-Clause
// A process is killed after any number of its instructions, while it sends messages in each way, receives, and closes its
// end. The other one receives a whole number of the messages that it sent, in order, more the later that was, and is told.
// FIN_STEPS says how many instructions lie between two numbers that are tried; otherwise some are.
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include "chan.h"

enum { MESSAGES = 8, MOST = 1500, TIMES = 12 };

static size_t size_of(unsigned i) {
    static const unsigned short sizes[MESSAGES] = {24, MOST, 300, 0, 1023, 56, 1024, 57};
    return sizes[i];
}

static unsigned char text[MESSAGES][MOST]; // made beforehand: those are no instructions to stop at

static void send_one(struct fin_chan *c, unsigned i) {
    const unsigned char *p = text[i];
    void *room;
    if (i % 4 == 0) {
        CHECK_EQ(fin_chan_reserve(c, size_of(i) + 10, &room), 0);
        memcpy(room, p, size_of(i));
        CHECK_EQ(fin_chan_commit(c, size_of(i)), 0);
    } else if (i % 4 == 2) {
        CHECK_EQ(fin_chan_send_fds(c, p, size_of(i), &(int){0}, 1), 0);
    } else {
        CHECK_EQ(fin_chan_send(c, p, size_of(i)), 0);
    }
}

static void receive_one(struct fin_chan *c, unsigned i) {
    unsigned char p[MOST];
    const void *bytes;
    if (i % 2) {
        CHECK_EQ(fin_chan_peek(c, &bytes), size_of(i));
        CHECK(memcmp(bytes, text[i], size_of(i)) == 0);
        CHECK_EQ(fin_chan_release(c), 0);
    } else {
        CHECK_EQ(fin_chan_recv(c, p, sizeof p), size_of(i));
        CHECK(memcmp(p, text[i], size_of(i)) == 0);
    }
}

static void works(void *unused) {
    (void)unused;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CHECK_EQ(fin_chan_take(&b, sockets[1], 0), 0);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(77);
    raise(SIGSTOP);
    for (unsigned i = 0; i < MESSAGES; i++) {
        send_one(b, i);
        receive_one(b, i);
    }
    CHECK_EQ(fin_chan_close(b), 0);
    raise(SIGSTOP);
}

// Over how many instructions, of `count` at most: fewer where it has stopped by itself.
static unsigned step(pid_t pid, unsigned count) {
    for (unsigned n = 0; n < count; n++) {
        int status;
        CHECK_EQ(ptrace(PTRACE_SINGLESTEP, pid, NULL, 0), 0);
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFSTOPPED(status));
        if (WSTOPSIG(status) == SIGSTOP)
            return n;
        CHECK_EQ(WSTOPSIG(status), SIGTRAP);
    }
    return count;
}

static unsigned receive_all(void) {
    unsigned char p[MOST];
    unsigned received = 0, count;
    ssize_t n;
    int fd;
    while (count = 1, (n = fin_chan_recv_fds(a, p, sizeof p, &fd, &count)) >= 0) {
        CHECK(received < MESSAGES);
        CHECK_EQ(n, size_of(received));
        CHECK(memcmp(p, text[received], (size_t)n) == 0);
        CHECK_EQ(count, received % 4 == 2);
        if (count)
            close(fd);
        received++;
    }
    CHECK(n == -ECONNRESET || n == -ESHUTDOWN);
    return received;
}

// How many of its messages came; *steps becomes what step() says.
static unsigned killed_after(unsigned *steps) {
    int status;
    pid_t pid = child(works, NULL);
    CHECK_EQ(fin_chan_offer(&a, sockets[0], NULL), 0);
    for (unsigned i = 0; i < MESSAGES; i++)
        send_one(a, i);
    CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        SKIP("ptrace is denied, or is not there");
    CHECK(WIFSTOPPED(status));
    *steps = step(pid, *steps);
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    unsigned received = receive_all();
    CHECK_EQ(fin_chan_close(a), 0);
    return received;
}

int main(void) {
    alarm(getenv("FIN_STEPS") ? 0 : 55);
    if (on_valgrind())
        SKIP("ptrace under valgrind");
    if (ON_TSAN)
        SKIP("TSan has ten instructions for one, and one thread is nothing for it");
    for (unsigned i = 0; i < MESSAGES; i++)
        fill(text[i], size_of(i), i);
    unsigned all = UINT32_MAX, before = 0, seed = 11;
    CHECK_EQ(killed_after(&all), MESSAGES);
    int open = open_descriptors();
    const char *asked = getenv("FIN_STEPS");
    unsigned stride = asked ? (unsigned)atoi(asked) : all / few(TIMES) + 1;
    for (unsigned i = 0; i < all; i += stride) {
        unsigned steps = i + next_random(&seed) % stride, received = killed_after(&steps);
        // What it asks of the kernel may take it some instructions more or less.
        CHECK(received + 1 >= before);
        before = received;
    }
    CHECK_EQ(open_descriptors(), open);
    fprintf(stderr, "%u instructions\n", all);
    return 0;
}
