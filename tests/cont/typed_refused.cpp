// SPDX-License-Identifier: BSD-2-Clause
// Continuations in C++: waits that are refused, and exceptions that leave a step.
#include <cstring>
#include <stdexcept>
#include <sys/socket.h>

#include <fin.hpp>

#include "process.h"

static fin::next ends(int &, int result) {
    LOG("%d ", result);
    return fin::end();
}

static fin::next waits(int &n, int) {
    CHECK((fin_cont_of(fin_awe_self()) == fin::continuation<waits, int>));
    return fin::block_on<ends>(n);
}

static fin::next throws(int &n, int) {
    if (n == 0)
        throw std::runtime_error("left a continuation");
    n--;
    return fin::yield_on<throws>(n);
}

// A lock that no object unlocks.
static fin_mutex bare;

static fin::next keeps_a_lock(int &n, int) {
    CHECK_EQ(fin_mutex_lock(&bare), 0);
    return fin::block_on<ends>(n);
}

static fin::next hears_why(int &, int result) {
    LOG("%d ", result);
    return fin::end();
}

// Refused for another reason: the continuation has the result at once.
static fin::next is_refused(int &n, int) { return fin::switch_context<hears_why>(n, fin_awe_self()); }

// Also where an async of the step still runs; and many times, while others have their turns.
static fin::scope *outer;
static int turns;

static fin::next is_refused_beside_work(int &n, int) {
    outer->async([] {
        while (turns < 100)
            fin_yield();
        LOG("work ");
    });
    return fin::switch_context<hears_why>(n, fin_awe_self());
}

static fin::next is_refused_often(int &, int) {
    return ++turns < 100 ? fin::switch_context<is_refused_often>(turns, nullptr) : fin::end();
}

// That somebody else waits at a receiver is no lock that was forgotten.
struct reader {
    fin_on on;
    fin_receiver *receiver;
    void *piece;
};

static fin::next has_received(reader *&, int result) {
    LOG("%d ", result);
    return fin::end();
}

static fin::next receives(reader *&r, int) {
    return fin::wait_on<has_received, fin_receiver_next_on>(r, r->receiver, &r->piece, &r->on);
}

static void check_busy() {
    int fd[2];
    fin_buffers *buffers;
    reader r[2]{};
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    CHECK_EQ(fin_buffers_open(&buffers, 4, 64), 0);
    CHECK_EQ(fin_receiver_open(&r[0].receiver, fd[0], buffers), 0);
    r[1].receiver = r[0].receiver;
    fin::finish([&](fin::scope &scope) {
        scope.async_cont<receives>(&r[0]);
        scope.async_cont<receives>(&r[1]);
        fin_yield();
        fin_yield();
        CHECK_LOG("-16 ");
        CHECK_EQ(fin_send(fd[1], "abc", 3, 0), 3);
    });
    CHECK_LOG("-16 3 ");
    CHECK_EQ(fin_buffers_put(buffers, r[0].piece), 0);
    CHECK(fin_receiver_close(r[0].receiver) >= 0);
    CHECK_EQ(fin_buffers_close(buffers), 0);
}

static void check_refused() {
    check_log[0] = 0;
    bool thrown = false;
    try {
        fin::finish([&](fin::scope &scope) { scope.async_cont<keeps_a_lock>(5); });
    } catch (const std::system_error &e) {
        thrown = e.code().value() == EBUSY;
    }
    CHECK(thrown);
    fin_mutex_unlock(&bare);
    fin::finish([&](fin::scope &scope) { scope.async_cont<is_refused>(5); });
    CHECK_LOG("-22 ");
    check_log[0] = 0;
    fin::finish([&](fin::scope &scope) {
        outer = &scope;
        scope.async_cont<is_refused_often>(0);
        scope.async_cont<is_refused_beside_work>(0);
    });
    CHECK_LOG("-22 work ");
    check_log[0] = 0;
    check_busy();
}

static void check_exceptions() {
    for (int i = 0; i < 3; i++) {
        check_log[0] = 0;
        bool thrown = false;
        try {
            fin_finish {
                int two = 2;
                CHECK(fin_async_cont((fin::continuation<waits, int>), &two, sizeof two) != nullptr);
                CHECK(fin_async_cont((fin::continuation<throws, int>), &two, sizeof two) != nullptr);
            }
        } catch (const std::runtime_error &e) {
            thrown = strcmp(e.what(), "left a continuation") == 0;
        }
        CHECK(thrown);
        CHECK_LOG("-125 "); // it cancelled the other
    }
}

// The functions of C in a catch clause: the exception would be lost with the frame.
static void waits_in_a_catch_clause(void *, int) {
    try {
        throw 1;
    } catch (int) {
        CHECK_EQ(fin_block_on(waits_in_a_catch_clause, nullptr, 0), -EBUSY);
        CHECK_EQ(fin_call_continuation(waits_in_a_catch_clause, 0), -EBUSY);
    }
    fin_cont_end();
}

static void ends_in_a_catch_clause(void *, int) {
    try {
        throw 1;
    } catch (int) {
        fin_cont_end(); // the next of the thread would have it as its own
    }
}

static void run_ending_in_a_catch_clause() {
    fin_finish {
        fin_async_cont(ends_in_a_catch_clause, nullptr, 0);
    }
}

// A block of C has no place for what a step throws.
static void throw_into_c() {
    fin_cont *c = fin::continuation<throws, int>;
    int none = 0;
    fin_finish_block block;
    fin_finish_enter_(&block, 0);
    fin_cont_start_(&block, c, &none, sizeof none);
    fin_finish_leave_(&block);
}

int main() {
    check_refused();
    check_exceptions();
    fin_finish {
        CHECK(fin_async_cont(waits_in_a_catch_clause, nullptr, 0) != nullptr);
    }
    if (!ON_TSAN) { // as in refused.c
        char text[4096];
        CHECK_EQ(killed_by(run_ending_in_a_catch_clause, text, sizeof text), SIGABRT);
        CHECK(strstr(text, "fin: fin_cont_end where a C++ exception is in flight"));
        CHECK_EQ(killed_by(throw_into_c, text, sizeof text), SIGABRT);
        CHECK(strstr(text, "left a continuation"));
    }
    return 0;
}
