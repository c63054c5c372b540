// SPDX-License-Identifier: BSD-2-Clause
// A fork in the midst of look-ups, whose answers have come. In the child they do not end, also when it looks up names
// itself, unless they are cancelled; the parent has its answers, whatever the child does. The fork comes at each of the
// turns between the answers and the AWE that takes them.
#include <poll.h>

#include "dns.h"

enum { WAITING = 3 };

static struct dns server;
static int ended[WAITING], numbers[WAITING] = {0, 1, 2};

static void look_up(void *number) { ended[*(int *)number] = resolve("a.test."); }

static bool none_ended(void) {
    for (int i = 0; i < WAITING; i++)
        if (ended[i] != 1)
            return false;
    return true;
}

static void answer_all(void) {
    for (int i = 0; i < WAITING; i++) {
        struct dns_reply r = {.d = &server};
        socklen_t size = sizeof r.to;
        r.n = (int)recvfrom(server.udp, r.p, 512, 0, (struct sockaddr *)&r.to, &size);
        CHECK(r.n > 0);
        dns_reply(&r);
    }
}

static void looks_up_itself(void) {
    struct dns other;
    dns_open(&other);
    fin_finish {
        fin_async_call(dns_serve, &other);
        use_server(&other, 2000, 2);
        CHECK_EQ(resolve("a.test."), 0);
        use_server(&other, 2000, 2); // nothing of its own is in progress
        CHECK_EQ(resolve("late.test."), 0);
        fin_cancel();
    }
    CHECK(none_ended());
}

// In the child: which has to cancel, in the block around this.
static bool is_child(bool looks) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child) {
        ended_well(child);
        return false;
    }
    alarm(60);
    if (looks)
        looks_up_itself();
    return true;
}

static void end_child(bool looks) {
    for (int i = 0; i < WAITING; i++)
        CHECK_EQ(ended[i], -ECANCELED);
    if (looks)
        CHECK_EQ(fin_resolve_configure(NULL), 0);
    execl("/bin/true", "true", NULL); // no search for leaks: what was its parent's is not given back
    _exit(1);
}

// Returns false once the turns are so many that the answers have been taken.
static bool round_of(int turns, bool looks) {
    static bool child, taken;
    child = taken = false;
    use_server(&server, 5000, 1);
    for (int i = 0; i < WAITING; i++)
        ended[i] = 1;
    fin_finish {
        for (int i = 0; i < WAITING; i++)
            fin_async_call(look_up, &numbers[i]);
        answer_all();
        for (int i = 0; i < turns; i++)
            fin_yield();
        taken = !none_ended();
        if (!taken && is_child(looks)) {
            child = true;
            fin_cancel();
        }
    }
    if (child)
        end_child(looks);
    for (int i = 0; i < WAITING; i++)
        CHECK_EQ(ended[i], 0);
    return !taken;
}

int main(void) {
    if (ON_TSAN)
        SKIP("TSan takes AWEs that wait for threads, and is not for a child of several");
    const int step = getenv("FIN_FEW") ? 4 : 1;
    dns_open(&server);
    for (int looks = 0; looks < 2; looks++) {
        int turns = 0;
        while (round_of(turns, looks))
            turns += step;
        CHECK(turns > 0);
    }
    return 0;
}
