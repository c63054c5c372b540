// SPDX-License-Identifier: BSD-2-Clause
// The bounded buffer of objects: in order, each once, also between threads and with cancels all the time; who waits when it
// is closed is told; what is in it is destroyed with it.
#include <memory>
#include <optional>
#include <string>

#include <fin/queue.hpp>

#include "check.h"

namespace {

struct counted {
    static inline std::atomic<int> alive = 0;
    int n;
    explicit counted(int n) : n(n) { alive++; }
    counted(counted &&other) noexcept : n(std::exchange(other.n, -1)) { alive++; }
    counted &operator=(counted &&other) noexcept {
        n = std::exchange(other.n, -1);
        return *this;
    }
    ~counted() { alive--; }
};

void in_order() {
    fin::bounded_queue<std::string> q(2);
    std::string got;
    int pushed = 0;
    CHECK_EQ(q.try_pop(got), -EAGAIN);
    fin_finish {
        fin_async {
            for (int i = 0; i < 6; i++, pushed++)
                CHECK_EQ(q.push(std::to_string(i)), 0);
            q.close();
            CHECK_EQ(q.push("late"), -EPIPE);
            CHECK_EQ(q.try_push("late"), -EPIPE);
        };
        CHECK_EQ(pushed, 2);
        for (int i = 0; i < 6; i++) {
            CHECK_EQ(q.pop(got), 0);
            CHECK(got == std::to_string(i));
        }
        CHECK_EQ(q.pop(got), -ESHUTDOWN);
        CHECK_EQ(q.pop(got), -ESHUTDOWN);
        CHECK_EQ(q.try_pop(got), -ESHUTDOWN);
    }
}

void closed() {
    fin::bounded_queue<int> empty(1), full(1);
    int ended = 0;
    CHECK_EQ(full.push(1), 0);
    fin_finish {
        for (int i = 0; i < 3; i++) {
            fin_async {
                int x;
                CHECK_EQ(empty.pop(x), -ESHUTDOWN);
                ended++;
            };
            fin_async {
                CHECK_EQ(full.push(2), -EPIPE);
                ended++;
            };
        }
        CHECK_EQ(ended, 0);
        empty.close();
        full.close();
        full.close();
    }
    CHECK_EQ(ended, 6);
    int one = 0;
    CHECK_EQ(full.pop(one), 0);
    CHECK_EQ(one, 1);
    CHECK_EQ(full.pop(one), -ESHUTDOWN);
}

// As long as the first of those who wait has not run, too.
void tried_when_closed() {
    fin::bounded_queue<int> empty(1), full(1);
    int x;
    CHECK_EQ(full.push(1), 0);
    fin_finish {
        fin_async { CHECK_EQ(empty.pop(x), -ESHUTDOWN); };
        fin_async { CHECK_EQ(full.push(2), -EPIPE); };
        empty.close();
        full.close();
        CHECK_EQ(empty.try_pop(x), -ESHUTDOWN);
        CHECK_EQ(full.try_push(3), -EPIPE);
        CHECK_EQ(full.try_pop(x), 0);
        CHECK_EQ(full.try_pop(x), -ESHUTDOWN);
    }
}

void constant() {
    struct constant {
        const int n;
    };
    fin::bounded_queue<constant> q(1);
    std::optional<constant> out;
    CHECK_EQ(q.push({7}), 0);
    CHECK_EQ(q.pop(out), 0);
    CHECK_EQ(out->n, 7);
}

void cancelled() {
    fin::bounded_queue<std::unique_ptr<int>> q(1);
    auto first = std::make_unique<int>(1), second = std::make_unique<int>(2);
    CHECK_EQ(q.push(std::move(first)), 0);
    CHECK(!first); // NOLINT
    int error = 0;
    fin_finish {
        fin_async { error = q.push(std::move(second)); };
        fin_cancel();
    }
    CHECK_EQ(error, -ECANCELED);
    CHECK(second && *second == 2); // NOLINT: it is as before
    std::unique_ptr<int> got;
    CHECK_EQ(q.pop(got), 0);
    CHECK_EQ(*got, 1);
    fin_finish {
        fin_async { error = q.pop(got); };
        fin_cancel();
    }
    CHECK_EQ(error, -ECANCELED);
    CHECK_EQ(*got, 1);
    CHECK_EQ(q.try_push(std::move(second)), 0);
    CHECK_EQ(q.try_push(std::make_unique<int>(3)), -EAGAIN);
}

void left() {
    {
        fin::bounded_queue<counted> q(4);
        CHECK_EQ(q.push(counted(1)), 0);
        CHECK_EQ(q.push(counted(2)), 0);
        std::optional<counted> out;
        CHECK_EQ(q.pop(out), 0);
        CHECK_EQ(out->n, 1);
        CHECK_EQ(counted::alive, 2);
    }
    CHECK_EQ(counted::alive, 0);
    try {
        fin::bounded_queue<int> none(0);
        CHECK(!"without room");
    } catch (const std::length_error &) {
    }
}

enum { ITEMS = 20000, SIDES = 2, AWES = 3 };
std::atomic<int> next_item, popped;
std::atomic<unsigned char> seen[ITEMS];

void pushes(fin::bounded_queue<counted> &q) {
    for (int i; (i = next_item++) < ITEMS;) {
        counted c(i);
        while (true) { // as long as it is cancelled
            int error = 1;
            fin_finish {
                fin_async { error = q.push(std::move(c)); };
                if (i % 3 == 0)
                    fin_cancel();
            }
            if (error == 0)
                break;
            CHECK_EQ(error, -ECANCELED);
            CHECK_EQ(c.n, i); // NOLINT
            if (i % 3 == 0 && q.try_push(std::move(c)) == 0)
                break;
            fin_yield();
        }
    }
}

void pops(fin::bounded_queue<counted> &q, bool cancels) {
    std::optional<counted> c;
    int error = 0;
    while (error != -ESHUTDOWN) {
        fin_finish {
            fin_async { error = q.pop(c); };
            if (cancels)
                fin_cancel();
        }
        if (error == 0) {
            CHECK_EQ(seen[c->n]++, 0);
            popped++;
        } else if (error == -ECANCELED && (error = q.try_pop(c)) == 0) {
            CHECK_EQ(seen[c->n]++, 0);
            popped++;
        }
        if (error == -EAGAIN)
            fin_yield();
    }
}

void threads() {
    {
        fin::bounded_queue<counted> q(5);
        std::atomic<int> pushing = SIDES;
        auto side = [&] {
            fin_finish {
                for (int i = 0; i < AWES; i++) {
                    fin_async {
                        bool cancels = i == 0;
                        pops(q, cancels);
                    };
                }
                fin_finish {
                    for (int i = 0; i < AWES; i++)
                        fin_async { pushes(q); };
                }
                if (--pushing == 0)
                    q.close();
            }
        };
        fin::thread other(side);
        side();
    }
    CHECK_EQ(popped, ITEMS);
    CHECK_EQ(counted::alive, 0);
}

} // namespace

int main() {
    in_order();
    closed();
    tried_when_closed();
    constant();
    cancelled();
    left();
    threads();
    return 0;
}
