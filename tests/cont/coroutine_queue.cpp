// SPDX-License-Identifier: BSD-2-Clause
// Coroutines at a bounded buffer, with functions that have stacks: in order, each once; a cancel leaves all as it was.
#include <memory>
#include <string>

#include <fin/coro.hpp>
#include <fin/queue.hpp>

#include "check.h"

namespace co = fin::co;

namespace {

enum { OBJECTS = 100 };
using text = std::unique_ptr<std::string>;

fin::task<> produces(fin::bounded_queue<text> &q, int *left) {
    for (int i = 0; i < OBJECTS; i++) {
        int error = co_await co::push(q, std::make_unique<std::string>(std::to_string(i)));
        CHECK_EQ(error, 0);
    }
    if (--*left == 0)
        q.close();
}

fin::task<> consumes(fin::bounded_queue<text> &q, int *sum) {
    text t;
    int error;
    while ((error = co_await co::pop(q, t)) == 0)
        *sum += std::stoi(*t);
    CHECK_EQ(error, -ESHUTDOWN);
    error = co_await co::push(q, std::make_unique<std::string>("late"));
    CHECK_EQ(error, -EPIPE);
}

void both_ways() {
    fin::bounded_queue<text> q(3);
    int sum = 0, left = 2;
    fin_finish {
        fin_async_task(produces(q, &left));
        fin_async_task(consumes(q, &sum));
        fin_async {
            text t;
            while (q.pop(t) == 0)
                sum += std::stoi(*t);
        };
        fin_async_task(produces(q, &left));
    }
    CHECK_EQ(sum, 2 * OBJECTS * (OBJECTS - 1) / 2);
}

fin::task<> is_cancelled(fin::bounded_queue<std::string> &q, std::string *own, int *errors) {
    std::string none = "none";
    *errors += co_await co::pop(q, none) == -ECANCELED;
    CHECK(none == "none");
    int error = co_await co::push(q, *own); // copied
    *errors += error == -ECANCELED;
    error = co_await co::push(q, std::move(*own));
    *errors += error == -ECANCELED;
    CHECK(*own == "own");
}

fin::task<> copies(fin::bounded_queue<std::string> &q) {
    const std::string own(100, 'o');
    std::string got;
    int error = co_await co::push(q, own);
    CHECK_EQ(error, 0);
    error = co_await co::pop(q, got);
    CHECK(error == 0 && got == own);
}

struct refuses {
    refuses() = default;
    refuses(refuses &&) noexcept {}
    refuses(const refuses &) { throw 1; }
};

// Where the copy throws there is room as before.
fin::task<> throws() {
    fin::bounded_queue<refuses> q(1);
    const refuses r;
    for (int i = 0; i < 3; i++) {
        bool thrown = false;
        try {
            int error = co_await co::push(q, r);
            CHECK(error != 0);
        } catch (int) {
            thrown = true;
        }
        CHECK(thrown);
    }
    CHECK_EQ(q.try_push(refuses()), 0);
}

} // namespace

int main() {
    both_ways();
    fin::bounded_queue<std::string> q(1);
    std::string own = "own";
    int errors = 0;
    fin_finish {
        fin_async_task(copies(q));
        fin_async_task(throws());
    }
    fin_finish {
        fin_async_task(is_cancelled(q, &own, &errors));
        fin_cancel();
    }
    CHECK_EQ(errors, 3);
    return 0;
}
