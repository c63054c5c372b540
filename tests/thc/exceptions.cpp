// SPDX-License-Identifier: BSD-2-Clause
// Exceptions and the original names: an ASYNC that finds its block at run time hands its exception to that, and leaves one
// that its owner handles where it is; an AWE that ends in a catch clause takes what it handled with it.
#include <fin/thc.h>

#include <stdexcept>
#include <string>

#include "process.h"

using error = std::runtime_error;

static void throws_later() {
    ASYNC({
        THCYield();
        throw error("later");
    });
}

static void to_the_block() {
    std::string caught;
    try {
        DO_FINISH({ throws_later(); });
    } catch (const error &e) {
        caught = e.what();
    }
    CHECK(caught == "later");
}

static __attribute__((noinline)) void blocks() { ASYNC({ THCYield(); }); }

static void stays_with_its_owner() {
    std::string again;
    DO_FINISH({
        ASYNC({
            try {
                throw error("mine");
            } catch (const error &) {
                blocks();
                CHECK(std::current_exception() != nullptr);
                try {
                    throw;
                } catch (const error &e) {
                    again = e.what();
                }
            }
        });
        CHECK(std::current_exception() == nullptr);
    });
    CHECK(again == "mine");
}

static int resumed;

static void goes_on(void *, int) {
    resumed++;
    fin_cont_end();
}

static void begins(void *, int) {
    CHECK_EQ(fin_yield_on(goes_on, nullptr, 0), 0);
    CHECK(false);
}

static void ends_in_a_catch_clause(bool blocked) {
    resumed = 0;
    fin_finish {
        fin_async {
            if (blocked)
                THCYield();
            try {
                throw error("lost");
            } catch (const error &) {
                THCFinish();
            }
        };
        CHECK(std::current_exception() == nullptr);
        CHECK(fin_async_cont(begins, nullptr, 0) != nullptr);
    }
    CHECK(std::current_exception() == nullptr);
    CHECK_EQ(resumed, 1);
}

int main() {
    to_the_block();
    stays_with_its_owner();
    if (ON_ASAN || on_valgrind()) // which would say that the exception is lost
        return 0;
    ends_in_a_catch_clause(true);
    ends_in_a_catch_clause(false);
    return 0;
}
