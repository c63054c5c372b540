// SPDX-License-Identifier: BSD-2-Clause
// Callers that are cancelled at any moment while others are not: each of these gets its own answer, late ones meet nobody.
// Of send and recv a cancelled one did nothing.
#include "rpc_cancels.h"

static void asks(void *unused) {
    (void)unused;
    ssize_t n = ask(next_random(&seed));
    CHECK(n == 8 || n == -ECANCELED);
    answers += n == 8;
    cancels += n != 8;
}

// A wait that is cancelled leaves the call as it was.
static void waits_again(void *unused) {
    uint64_t x = next_random(&seed), y = 0;
    uint32_t id;
    (void)unused;
    CHECK_EQ(fin_rpc_send_nc(caller, &x, sizeof x, &id), 0);
    ssize_t n = -ECANCELED;
    fin_finish {
        if (next_random(&seed) % 2)
            fin_cancel();
        n = fin_rpc_recv(caller, id, &y, sizeof y);
    }
    if (n == -ECANCELED)
        n = fin_rpc_recv_nc(caller, id, &y, sizeof y);
    CHECK_EQ(n, 8);
    CHECK_EQ(y, answer_to(x));
    answers++;
}

static void round_of_calls(unsigned some) {
    fin_finish {
        for (unsigned i = 0; i < some; i++)
            fin_async_call(waits_again, NULL);
        fin_finish {
            for (unsigned i = 0; i < some; i++) {
                fin_async_call(asks, NULL);
                if (i % 4 == 0)
                    pause_a_little();
            }
            fin_cancel();
        }
    }
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        uint64_t x = 0;
        uint32_t id;
        answers = cancels = requests = 0;
        open_rpc(kind);
        fin_finish {
            fin_cancel();
            CHECK_EQ(fin_rpc_call(caller, &x, sizeof x, &x, sizeof x), -ECANCELED);
            CHECK_EQ(fin_rpc_send(caller, &x, sizeof x, &id), -ECANCELED);
            CHECK_EQ(fin_rpc_accept(server, &x, sizeof x, &id), -ECANCELED);
            CHECK_EQ(fin_rpc_serve(server, handle, NULL), -ECANCELED);
        }
        fin_finish {
            fin_async { CHECK_EQ(fin_rpc_serve(server, handle, NULL), -ECANCELED); };
            for (unsigned i = 0; i < few(300); i++)
                round_of_calls(1 + next_random(&seed) % 12);
            every_request_is_answered();
            fin_cancel();
        }
        CHECK(answers && cancels);
        close_rpc();
    }
    return 0;
}
