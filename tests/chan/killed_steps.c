// SPDX-License-Identifier: BSD-2-Clause
// A process is stopped after each of its instructions while it sends messages in each way: the other one finds a message as
// a whole or not at all, and nothing of what lay in the ring before. Others are killed right before and after the
// instruction by which a message comes, and while they receive, and close their end: what had been sent comes, in order,
// perhaps the message that was being sent, no other, and then the end. FIN_STEPS says how many instructions lie between two
// after which one is killed, in all that they do; otherwise these are some.
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include "chan.h"

// Of the parts of its work those with even numbers send a message, the next one receives one, and the last one closes.
enum { MESSAGES = 10, MOST = 1500, CLOSING = 2 * MESSAGES, PARTS };
enum way { SENT, RESERVED, WITH_FD, WITH_FD_AT_ONCE };

// Of a line, of several, and of so many bytes that they begin with the second line.
static const struct {
    unsigned short size;
    enum way way;
} messages[MESSAGES] = {{24, RESERVED}, {MOST, SENT}, {300, WITH_FD},  {0, SENT},    {100, RESERVED},
                        {56, SENT},     {57, SENT},   {200, RESERVED}, {1024, SENT}, {40, WITH_FD_AT_ONCE}};

static unsigned char text[MESSAGES][MOST]; // made beforehand: those are no instructions to stop at

static bool with_fd(unsigned i) { return messages[i].way >= WITH_FD; }

// ---- the same where it is known what lies in the ring (src/chan/ump.h)

enum { LAP = 8192, OLD = 1984, OLDS = 4 }; // bytes; these messages are a lap

// What a lap leaves behind: 8 bytes that say that a message of 8 bytes has come in the next one.
static void fill_old(uint64_t *p) {
    for (unsigned i = 0; i < OLD / 8; i++)
        p[i] = (uint64_t)8 << 32 | 2 << 8 | 1;
}

// No byte is as one of those, or of fresh memory.
static void fill_new(unsigned char *p, size_t size, unsigned number) {
    for (size_t i = 0; i < size; i++)
        p[i] = (unsigned char)(9 + (number * 31 + i * 7) % 247);
}

static void send_lap(void) {
    uint64_t p[OLD / 8];
    fill_old(p);
    for (unsigned i = 0; i < OLDS; i++)
        CHECK_EQ(fin_chan_send(b, p, OLD), 0);
}

static void receive_lap(void) {
    unsigned char p[OLD];
    for (unsigned i = 0; i < OLDS; i++)
        CHECK_EQ(fin_chan_recv(a, p, OLD), OLD);
}

// ----

static void send_one(struct fin_chan *c, unsigned i) {
    const unsigned char *p = text[i];
    size_t size = messages[i].size;
    void *room;
    switch (messages[i].way) {
    case SENT:
        CHECK_EQ(fin_chan_send(c, p, size), 0);
        break;
    case RESERVED: // for 100 bytes so much that they have to move
        CHECK_EQ(fin_chan_reserve(c, size == 100 ? MOST : size, &room), 0);
        memcpy(room, p, size);
        CHECK_EQ(fin_chan_commit(c, size), 0);
        break;
    case WITH_FD:
        CHECK_EQ(fin_chan_send_fds(c, p, size, &(int){0}, 1), 0);
        break;
    case WITH_FD_AT_ONCE:
        CHECK_EQ(fin_chan_try_send_fds(c, p, size, &(int){0}, 1), 0);
        break;
    }
}

static void receive_one(struct fin_chan *c, unsigned i) {
    unsigned char p[MOST];
    const void *bytes;
    if (i % 2) {
        CHECK_EQ(fin_chan_peek(c, &bytes), messages[i].size);
        CHECK(memcmp(bytes, text[i], messages[i].size) == 0);
        CHECK_EQ(fin_chan_release(c), 0);
    } else {
        CHECK_EQ(fin_chan_recv(c, p, sizeof p), messages[i].size);
        CHECK(memcmp(p, text[i], messages[i].size) == 0);
    }
}

static void works(void *unused) {
    (void)unused;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(77);
    raise(SIGSTOP);
    CHECK_EQ(fin_chan_take(&b, sockets[1], 0), 0);
    send_lap();
    for (unsigned part = 0; part < PARTS; part++) {
        raise(SIGSTOP);
        if (part == CLOSING)
            CHECK_EQ(fin_chan_close(b), 0);
        else if (part % 2)
            receive_one(b, part / 2);
        else
            send_one(b, part / 2);
    }
    raise(SIGSTOP);
}

static void wait_for_stop(pid_t pid) {
    int status;
    CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        SKIP("ptrace is denied, or is not there");
    CHECK(WIFSTOPPED(status));
}

// It stands before its first part, and what it will receive is there.
static pid_t start(void) {
    pid_t pid = child(works, NULL);
    wait_for_stop(pid);
    CHECK_EQ(ptrace(PTRACE_CONT, pid, NULL, 0), 0);
    CHECK_EQ(fin_chan_offer(&a, sockets[0], &(struct fin_chan_options){LAP, 0}), 0);
    receive_lap();
    for (unsigned i = 0; i < MESSAGES; i++)
        send_one(a, i);
    wait_for_stop(pid);
    return pid;
}

// An instruction, or a part. True: the part has ended.
static bool go_on(pid_t pid, int how) {
    int status;
    CHECK_EQ(ptrace(how, pid, NULL, 0), 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFSTOPPED(status));
    if (WSTOPSIG(status) == SIGSTOP)
        return true;
    CHECK_EQ(WSTOPSIG(status), SIGTRAP);
    return false;
}

static void go_to(pid_t pid, unsigned part) {
    for (unsigned i = 0; i < part; i++)
        CHECK(go_on(pid, PTRACE_CONT));
}

static void end(pid_t pid) {
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static void is_message(unsigned i, const unsigned char *p, ssize_t n, const int *fd, unsigned count) {
    CHECK(i < MESSAGES);
    CHECK_EQ(n, messages[i].size);
    CHECK(memcmp(p, text[i], (size_t)n) == 0);
    CHECK_EQ(count, with_fd(i));
    if (count)
        close(*fd);
}

static bool has_come(unsigned i) {
    unsigned char p[MOST];
    unsigned count = 1;
    int fd;
    ssize_t n = fin_chan_try_recv_fds(a, p, sizeof p, &fd, &count);
    if (n == -EAGAIN)
        return false;
    is_message(i, p, n, &fd, count);
    return true;
}

static unsigned came_after[MESSAGES]; // so many instructions of its part

static void look_after_each(void) {
    pid_t pid = start();
    for (unsigned i = 0; i < MESSAGES; i++) {
        unsigned steps = 0;
        CHECK(!has_come(i));
        for (bool ended = false; !ended;) {
            ended = go_on(pid, PTRACE_SINGLESTEP);
            steps++;
            if (!came_after[i] && has_come(i))
                came_after[i] = steps;
            CHECK(!came_after[i] || !has_come(i + 1));
        }
        CHECK(came_after[i] > 0);
        CHECK(go_on(pid, PTRACE_CONT));
    }
    end(pid);
    CHECK_EQ(fin_chan_close(a), 0);
}

static unsigned receive_all(bool closing) {
    unsigned char p[MOST];
    unsigned received = 0, count;
    ssize_t n;
    int fd;
    while (count = 1, (n = fin_chan_recv_fds(a, p, sizeof p, &fd, &count)) >= 0)
        is_message(received++, p, n, &fd, count);
    CHECK(n == -ECONNRESET || (closing && n == -ESHUTDOWN));
    return received;
}

// After so many instructions of that part. False: it has no more.
static bool kill_in(unsigned part, unsigned steps) {
    pid_t pid = start();
    bool ended = false, sends = part % 2 == 0 && part != CLOSING;
    go_to(pid, part);
    for (unsigned i = 0; i < steps && !ended; i++)
        ended = go_on(pid, PTRACE_SINGLESTEP);
    end(pid);
    unsigned received = receive_all(part == CLOSING), sent = (part + 1) / 2;
    CHECK(received == sent || (sends && received == sent + 1));
    if (sends && ended)
        CHECK_EQ(received, sent + 1);
    CHECK_EQ(fin_chan_close(a), 0);
    return !ended;
}

static void kill_at_each(unsigned stride, unsigned *seed) {
    for (unsigned part = 0; part < PARTS; part++) {
        unsigned kills = 0;
        while (kill_in(part, kills * stride + next_random(seed) % stride))
            kills++;
        fprintf(stderr, "part %u: %u\n", part, kills);
    }
}

// What is asked of the kernel may take some instructions more or less than when they were counted.
static void kill_at_some(unsigned *seed) {
    for (unsigned i = 0; i < MESSAGES; i++) {
        if (getenv("FIN_FEW") && i % 4 != 1)
            continue;
        kill_in(2 * i, came_after[i] - 1);
        kill_in(2 * i, came_after[i] + next_random(seed) % 4);
        kill_in(2 * i + 1, next_random(seed) % 200);
    }
    kill_in(CLOSING, next_random(seed) % 500);
}

// So that a child has all functions linked: where a first call has to find its function, it has hundreds of instructions
// more than later ones, and a number that was counted there means another place here.
static void use_all(void) {
    open_kind(SOCKET, 0, 0);
    for (unsigned i = 0; i < MESSAGES; i++) {
        send_one(a, i);
        receive_one(b, i);
    }
    close_both();
}

int main(void) {
    const char *asked = getenv("FIN_STEPS");
    unsigned seed = 11;
    alarm(asked ? 0 : 55);
    if (on_valgrind())
        SKIP("ptrace under valgrind");
    if (ON_TSAN)
        SKIP("TSan has ten instructions for one, and one thread is nothing for it");
    for (unsigned i = 0; i < MESSAGES; i++)
        fill_new(text[i], messages[i].size, i);
    use_all();
    int open = settled_descriptors();
    look_after_each();
    if (asked)
        kill_at_each((unsigned)atoi(asked), &seed);
    else
        kill_at_some(&seed);
    until_open_descriptors(open);
    return 0;
}
