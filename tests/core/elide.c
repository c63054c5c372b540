// SPDX-License-Identifier: BSD-2-Clause
// FIN_ELIDE leaves the sequential program: each body runs to its end where it stands.
#define FIN_ELIDE
#include <string.h>

#include <fin.h>

#include "check.h"

static void called(void *text) { LOG("%s ", (char *)text); }

static int asked;
static uint64_t no_time(void) {
    asked++;
    return 0;
}

static int leaves(void) {
    fin_finish {
        fin_async { return; };
        return 5;
    }
    return 0;
}

int main(void) {
    fin_shared int sum = 0;
    fin_finish_as(outer) {
        for (int i = 0; i < 3; i++) {
            fin_async {
                int mine = i, twice[] = {i, i};
                fin_yield(); // outside any finish block of the runtime: nobody else can run
                sum += mine + twice[1];
                LOG("b%d ", mine);
                if (mine == 1)
                    return; // the body
                LOG("e%d ", mine);
            };
            LOG("n%d ", i);
        }
        fin_async_call(called, "call");
        fin_async_eager { LOG("eager "); };
        fin_async_eager_call(called, "eager_call");
        fin_async_in(fin_this_block(), called, "in");
        fin_finish_nc {
            fin_cancel();
            fin_cancel_as(outer);
            fin_cancel_block(fin_this_block());
            fin_cancel_block(fin_block_as(outer));
        }
        CHECK(!fin_cancelled());
    }
    CHECK_EQ(sum, 6);
    CHECK_EQ(leaves(), 5);
    uint64_t now = 0; // used nowhere else
    fin_timeout(no_time()) {
        fin_deadline(now + no_time()) {
            fin_async { CHECK(!fin_cancelled()); };
        }
        CHECK(!fin_timed_out());
    }
    CHECK(!fin_timed_out());
    CHECK_EQ(asked, 2);
    CHECK_LOG("b0 e0 n0 b1 n1 b2 e2 n2 call eager eager_call in ");
    return 0;
}
