// SPDX-License-Identifier: BSD-2-Clause
// A trace names coroutines, of one that awaits others the innermost. A coroutine has one track, also where it keeps a stack.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <fin/coro.hpp>
#include <fin/trace.h>

#include "check.h"

namespace {

fin::task<> chooses() { co_await fin::co::yield(); }

fin::task<> buys() {
    co_await fin::co::yield();
    co_await chooses();
    co_await fin::co::with_stack([] { fin_yield(); });
}

fin::task<> goes_home() { co_await fin::co::yield(); }

std::string traced(int fd) {
    std::string text;
    char piece[4096];
    CHECK_EQ(fin_trace_start(("/proc/self/fd/" + std::to_string(fd)).c_str()), 0);
    fin::finish([](fin::scope &s) {
        s.async(buys());
        s.async(goes_home());
    });
    CHECK_EQ(fin_trace_stop(), 0);
    for (ssize_t n; (n = pread(fd, piece, sizeof piece, static_cast<off_t>(text.size()))) > 0;)
        text.append(piece, static_cast<size_t>(n));
    return text;
}

// The tracks of the slices with that name, in their order.
std::vector<int> tracks(const std::string &text, const std::string &name) {
    std::vector<int> found;
    const std::string slice = "{\"ph\":\"X\"", tid = "\"tid\":";
    for (size_t at = 0; (at = text.find(slice, at)) != std::string::npos; at++) {
        std::string line = text.substr(at, text.find('\n', at) - at);
        if (line.find("\"name\":\"" + name + "\"") != std::string::npos)
            found.push_back(std::atoi(line.c_str() + line.find(tid) + tid.size()));
    }
    return found;
}

} // namespace

int main() {
    int fd = memfd_create("trace", MFD_CLOEXEC);
    CHECK(fd >= 0);
    std::string text = traced(fd);
    std::vector<int> buyer = tracks(text, "{anonymous}::buys"), chooser = tracks(text, "{anonymous}::chooses"),
                     other = tracks(text, "{anonymous}::goes_home");
    // buys: to its first turn, to that of what it awaits, and from its wait with a stack to its end.
    CHECK_EQ(buyer.size(), 3u);
    CHECK_EQ(chooser.size(), 1u);
    CHECK_EQ(other.size(), 2u);
    CHECK_EQ(std::count(buyer.begin(), buyer.end(), chooser[0]), 3);
    CHECK(other[0] == other[1] && other[0] != buyer[0]);
    close(fd);
    return 0;
}
