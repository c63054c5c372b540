// SPDX-License-Identifier: BSD-2-Clause
// Coroutines that declare no variable and await in the conditions of statements: of these GCC 12 makes wrong code. Each does
// as it says, or the program ends where the coroutine is made, with a message.
#include <csignal>
#include <cstring>

#include <fin/coro.hpp>

#include "check.h"
#include "process.h"

namespace co = fin::co;

struct number {
    int n;
    fin::task<bool> is(int other) { co_return n == other; }
};

static int steps;

static fin::task<> in_if(number &n) {
    if (co_await n.is(5))
        steps++;
}
static fin::task<> in_while(number &n) {
    while (!co_await n.is(8))
        n.n++, steps++;
}
static fin::task<> in_do(number &n) {
    do
        n.n++, steps++;
    while (!co_await n.is(8));
}
static fin::task<> in_for(number &n) {
    for (; !co_await n.is(8); n.n++)
        steps++;
}
static fin::task<> in_switch(number &n) {
    switch (co_await co::yield()) {
    case 0:
        steps += n.n - 4;
    }
}
static fin::task<> without_parameters() {
    if (co_await co::yield() == 0)
        steps++;
}

// With a variable it is right whatever the compiler.
static fin::task<> declares(number &n) {
    const int five = 5;
    if (co_await n.is(five))
        steps++;
}

static void run(int which) {
    number five{5};
    fin::task<> t = which == 0   ? in_if(five)
                    : which == 1 ? in_while(five)
                    : which == 2 ? in_do(five)
                    : which == 3 ? in_for(five)
                    : which == 4 ? in_switch(five)
                    : which == 5 ? without_parameters()
                                 : declares(five);
    fin::finish(std::move(t));
    CHECK_EQ(steps, which >= 1 && which <= 3 ? 3 : 1);
}

int main() {
    const char *message = "fin: GCC makes wrong code of this coroutine";
    for (int which = 0; which < 7; which++) {
        int said[2], status;
        char text[256] = "";
        CHECK_EQ(pipe(said), 0);
        pid_t child = fork();
        if (child == 0) {
            dup2(said[1], 2);
            signal(SIGABRT, SIG_DFL);
            run(which);
            _exit(0);
        }
        close(said[1]);
        size_t n = 0;
        for (ssize_t more; n < sizeof text - 1 && (more = read(said[0], text + n, sizeof text - 1 - n)) > 0;)
            n += static_cast<size_t>(more);
        close(said[0]);
        CHECK_EQ(waitpid(child, &status, 0), child);
        bool noticed = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strncmp(text, message, strlen(message)) == 0;
        CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0) || (noticed && which < 6));
    }
    return 0;
}
