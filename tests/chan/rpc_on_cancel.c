// SPDX-License-Identifier: BSD-2-Clause
// As rpc_cancel, without stacks: callers that are cancelled at any moment while others are not. Each of these gets its own
// answer, late ones meet nobody; of recv a cancelled one did nothing. What is in a cancelled block is told so at once.
#include "rpc_cancels.h"

enum { MOST = 12 };

struct wait {
    struct fin_rpc_on on;
    uint64_t x, y;
    uint32_t id;
};

static struct wait asking[MOST], waiting[MOST];
static struct fin_rpc_on serving;

static void served(void *state, int result) {
    (void)state;
    CHECK_EQ(result, -ECANCELED);
    fin_cont_end();
}

static void begin_to_serve(void *state, int result) {
    CHECK(result == 0 || result == -ECANCELED);
    fin_rpc_serve_on(server, handle, NULL, &serving, served, state, 0);
}

static void has_answer(void *state, int n) {
    struct wait *w = *(struct wait **)state;
    CHECK(n == -ECANCELED || (n == 8 && w->y == answer_to(w->x)));
    answers += n == 8;
    cancels += n != 8;
    fin_cont_end();
}

static void asks(void *wait) {
    struct wait *w = wait;
    w->x = next_random(&seed);
    fin_rpc_call_on(caller, &w->x, sizeof w->x, &w->y, sizeof w->y, &w->on, has_answer, &w, sizeof w);
}

static void has_answer_at_last(void *state, int n) {
    struct wait *w = *(struct wait **)state;
    CHECK_EQ(n, 8);
    has_answer(&w, n);
}

// A wait that is cancelled leaves the call as it was.
static void waits_for_it(void *wait) {
    struct wait *w = wait;
    fin_rpc_recv_on(caller, w->id, &w->y, sizeof w->y, &w->on, has_answer_at_last, &w, sizeof w);
}

static void gives_up(void *state, int n) {
    struct wait *w = *(struct wait **)state;
    CHECK(n == -ECANCELED || (n == 8 && w->y == answer_to(w->x)));
    if (n == 8)
        w->id = 0;
    fin_cont_end();
}

static void waits_a_little(void *wait) {
    struct wait *w = wait;
    fin_rpc_recv_on(caller, w->id, &w->y, sizeof w->y, &w->on, gives_up, &w, sizeof w);
}

static void round_of_calls(unsigned some) {
    fin_finish {
        for (unsigned i = 0; i < some; i++) {
            struct wait *w = &waiting[i];
            w->x = next_random(&seed);
            CHECK_EQ(fin_rpc_send_nc(caller, &w->x, sizeof w->x, &w->id), 0);
            fin_finish {
                fin_async_call(waits_a_little, w);
                if (i % 2)
                    pause_a_little();
                fin_cancel();
            }
            if (w->id != 0)
                fin_async_call(waits_for_it, w);
            else
                answers++;
        }
        fin_finish {
            for (unsigned i = 0; i < some; i++) {
                fin_async_call(asks, &asking[i]);
                if (i % 4 == 0)
                    pause_a_little();
            }
            fin_cancel();
        }
    }
}

static void in_a_cancelled_block(void) {
    fin_finish {
        fin_cancel();
        fin_async_call(asks, &asking[0]);
        fin_async_cont(begin_to_serve, NULL, 0);
    }
    CHECK_EQ(cancels, 1);
}

int main(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        answers = cancels = requests = 0;
        open_rpc(kind);
        in_a_cancelled_block();
        fin_finish {
            fin_async_cont(begin_to_serve, NULL, 0);
            for (unsigned i = 0; i < few(100); i++)
                round_of_calls(1 + next_random(&seed) % MOST);
            every_request_is_answered();
            fin_cancel();
        }
        CHECK(answers && cancels);
        close_rpc();
    }
    return 0;
}
