// SPDX-License-Identifier: BSD-2-Clause
// fin::process and fin::signal_set: a child that nobody waits for is reaped all the same, whatever passes; signals get back
// the actions that they had.
#include <csignal>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <fin.hpp>
#include <fin/process.hpp>

#include "check.h"
#include "process.h"

static_assert(!std::is_copy_constructible_v<fin::process> && std::is_nothrow_move_constructible_v<fin::process>);
static_assert(!std::is_copy_assignable_v<fin::process> && std::is_nothrow_move_assignable_v<fin::process>);
static_assert(!std::is_copy_constructible_v<fin::signal_set> && !std::is_move_constructible_v<fin::signal_set>);

FIN_BLOCKING static void ends() {
    int status = -1;
    fin::process p({"sh", "-c", "exit 7"});
    CHECK(p && p.pid() > 0);
    CHECK_EQ(p.wait(&status), 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK(!p);
    CHECK_EQ(p.wait(), -ECHILD);
    CHECK_EQ(p.kill(0), -ESRCH);
    fin::process q({"sleep", "1000"});
    fin::timeout(FIN_MS, [&](fin::scope &) {
        CHECK_EQ(q.wait(&status), -ECANCELED);
        CHECK_EQ(q.kill(SIGTERM), 0);
        CHECK_EQ(q.wait_nc(&status), 0);
    });
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    struct fin_spawn how = {};
    const char *argv[] = {"true", nullptr};
    how.path = argv[0];
    how.argv = argv;
    CHECK_EQ(fin::process(how).wait_nc(&status), 0);
    CHECK_EQ(status, 0);
}

// It has been reaped when its number is nobody's any more.
static void until_reaped(pid_t pid) {
    for (int i = 0; i < 20000 && kill(pid, 0) == 0; i++)
        usleep(1000);
    CHECK(kill(pid, 0) == -1 && errno == ESRCH);
}

FIN_BLOCKING static void abandoned() {
    pid_t pid = 0, other = 0;
    try {
        fin::process p({"sleep", "1000"});
        pid = p.pid();
        CHECK_EQ(p.kill(SIGKILL), 0);
        throw 1;
    } catch (int) {
    }
    until_reaped(pid);
    fin::process p({"true"}), q({"sleep", "1000"});
    pid = p.pid();
    other = q.pid();
    p = std::move(q); // the first one is
    CHECK(p && !q && p.pid() == other);
    until_reaped(pid);
    fin::process r(std::move(p));
    CHECK(r && !p);
    CHECK_EQ(r.kill(SIGKILL), 0);
    CHECK_EQ(r.abandon(), 0);
    CHECK(!r);
    CHECK_EQ(r.wait(), -ECHILD);
    until_reaped(other);
}

static void refused() {
    std::string what;
    int refusals = 0;
    for (int i = 0; i < 4; i++) {
        try {
            if (i == 0)
                fin::process({"/no/such/program"});
            else if (i == 1)
                fin::process({});
            else if (i == 2)
                fin::signal_set({SIGKILL});
            else
                fin::signal_set({12345});
        } catch (const std::system_error &e) {
            what += e.what();
            refusals += e.code().value() == (i == 0 ? ENOENT : EINVAL);
        }
    }
    CHECK_EQ(refusals, 4);
    CHECK(what.find("/no/such/program") != what.npos && what.find("fin::signal_set") != what.npos);
}

FIN_BLOCKING static void signals() {
    struct sigaction before, during, after;
    fin_signal_info info;
    CHECK_EQ(sigaction(SIGUSR1, nullptr, &before), 0);
    {
        fin::signal_set set({SIGUSR1, SIGUSR2});
        CHECK_EQ(sigaction(SIGUSR1, nullptr, &during), 0);
        CHECK(during.sa_handler != before.sa_handler);
        CHECK_EQ(raise(SIGUSR2), 0);
        CHECK_EQ(set.next(info), 0);
        CHECK_EQ(info.signal, SIGUSR2);
        fin::timeout(FIN_MS, [&](fin::scope &) { CHECK_EQ(set.next(info), -ECANCELED); });
        CHECK_EQ(raise(SIGUSR1), 0);
        CHECK_EQ(set.next_nc(info), 0);
        CHECK_EQ(info.signal, SIGUSR1);
        CHECK_EQ(set.lost(), 0);
        CHECK(set.native_handle()->set != nullptr);
    }
    CHECK_EQ(sigaction(SIGUSR1, nullptr, &after), 0);
    CHECK(after.sa_handler == before.sa_handler);
}

int main() {
    try {
        fin::process({"true"});
    } catch (const std::system_error &e) {
        if (e.code().value() == ENOSYS)
            SKIP("no pidfds here");
        throw;
    }
    ends();
    abandoned();
    refused();
    signals();
    return 0;
}
