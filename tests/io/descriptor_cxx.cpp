// SPDX-License-Identifier: BSD-2-Clause
// The owner of a descriptor closes it: at its end, at an assignment, as an exception passes, and in a block that has been
// cancelled; not what was moved or released.
#include <stdexcept>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <fin.hpp>

#include "check.h"

static bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

static int open_one() { return fin::check(fin_open("/dev/null", O_RDWR | O_CLOEXEC, 0), "/dev/null"); }

static void owns() {
    int first = open_one(), second = open_one();
    {
        fin::descriptor none, d(first);
        CHECK(!none && d && d.get() == first);
        CHECK_EQ(none.close(), -EBADF);
        fin::descriptor moved(std::move(d));
        CHECK(!d && d.get() == -1 && is_open(first)); // NOLINT
        moved = fin::descriptor(second);
        CHECK(!is_open(first) && is_open(second));
        CHECK_EQ(moved.close(), 0);
        CHECK(!moved && !is_open(second));
        fin::descriptor refused(fin_open("/nowhere/nothing", O_RDONLY, 0));
        CHECK(!refused);
    }
    int kept;
    {
        fin::descriptor d(open_one());
        kept = d.release();
    }
    CHECK(is_open(kept));
    std::vector<fin::descriptor> all;
    for (int i = 0; i < 100; i++)
        all.emplace_back(open_one());
    all.erase(all.begin(), all.begin() + 50);
    int last = all.back().get();
    CHECK(is_open(last));
    all.clear();
    CHECK(!is_open(last));
    CHECK_EQ(close(kept), 0);
}

static void in_bad_times() {
    int thrown = open_one(), cancelled = open_one();
    bool caught = false;
    try {
        fin_finish {
            fin_async {
                fin::descriptor d(thrown);
                fin_yield();
                throw std::runtime_error("with it");
            };
            fin_async {
                fin::descriptor d(cancelled);
                CHECK_EQ(fin_sleep(FIN_S), -ECANCELED);
            };
        }
    } catch (const std::runtime_error &) {
        caught = true;
    }
    CHECK(caught && !is_open(thrown) && !is_open(cancelled));
}

int main() {
    owns();
    in_bad_times();
    return 0;
}
