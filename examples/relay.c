// SPDX-License-Identifier: BSD-2-Clause
// The dispatch-loop experiment (ac-extensions 6.1, figure 4): three processes. The first sends numbers to the second, two a
// round of a kind that it answers itself, and every tenth round one that it passes on to the third, which takes ten
// milliseconds for each. Nobody waits for it but those calls: the second process serves on, and the first gets hundreds of
// answers of the first kind before one of the second.
//
//   relay [--rounds 60000] [--short]
#include "peer.h"

enum kind { QUICK = 1, SLOW = 2 };

struct request {
    uint64_t kind, number;
};

static FIN_BLOCKING uint64_t call(struct fin_rpc *to, enum kind kind, uint64_t number) {
    struct request request = {kind, number};
    uint64_t answer = 0;
    EXPECT(fin_rpc_call(to, &request, sizeof request, &answer, sizeof answer) == sizeof answer);
    return answer;
}

// ---- process 3: adds ten, slowly

static FIN_BLOCKING void add_ten(struct fin_rpc *from, uint32_t id, void *request, size_t size, void *unused) {
    struct request *r = request;
    (void)unused;
    EXPECT(size == sizeof *r);
    uint64_t answer = r->number + 10;
    EXPECT(fin_sleep(10 * FIN_MS) == 0);
    EXPECT(fin_rpc_reply(from, id, &answer, sizeof answer) == 0);
}

static FIN_BLOCKING void third(struct fin_chan *to_2, struct peer *unused) {
    struct peer_service *s = peer_service(to_2, add_ten, NULL);
    (void)unused;
    fin_finish {
        EXPECT(fin_async_cont(serve_peer, &s, sizeof s));
    }
}

// ---- process 2: adds one, or passes on. Each request has an async of its own, so waiting for the third process is a call

static FIN_BLOCKING void add_one_or_pass_on(struct fin_rpc *from, uint32_t id, void *request, size_t size, void *third) {
    struct request *r = request;
    EXPECT(size == sizeof *r);
    uint64_t answer = r->kind == QUICK ? r->number + 1 : call(third, SLOW, r->number);
    EXPECT(fin_rpc_reply(from, id, &answer, sizeof answer) == 0);
}

static struct peer third_process;

static FIN_BLOCKING void second(struct fin_chan *to_1, struct peer *unused) {
    struct fin_rpc *third;
    (void)unused;
    peer_open(&third_process);
    EXPECT(fin_rpc_open(&third, third_process.chan, FIN_RPC_CLIENT) == 0);
    struct peer_service *s = peer_service(to_1, add_one_or_pass_on, third);
    fin_finish {
        EXPECT(fin_async_cont(serve_peer, &s, sizeof s));
    }
    fin_rpc_close(third);
}

// ---- process 1

static struct fin_rpc *to_2;
static uint64_t quick, slow, quick_before_slow, under_way, most_under_way;

static FIN_BLOCKING void transaction(enum kind kind, uint64_t number) {
    if (++under_way > most_under_way)
        most_under_way = under_way;
    uint64_t answer = call(to_2, kind, number);
    under_way--;
    EXPECT(answer == number + (kind == QUICK ? 1 : 10));
    if (kind == QUICK)
        quick++;
    else if (slow++ == 0)
        quick_before_slow = quick;
}

FIN_BLOCKING int main(int argc, char **argv) {
    only_options(argc, argv, 1, OPTIONS("--short", "--rounds="));
    long usual = has_option(argc, argv, "--short") ? 400 : 60000;
    uint64_t rounds = (uint64_t)option_within(argc, argv, "--rounds", usual, 1, 1000000000);
    struct peer second_process;
    peer_start(&third_process, third, 1); // its other end is the second's: inherited
    peer_start(&second_process, second, 1);
    close(third_process.ours);
    run_on(0);
    peer_open(&second_process);
    EXPECT(fin_rpc_open(&to_2, second_process.chan, FIN_RPC_CLIENT) == 0);
    uint64_t start = fin_now();
    fin_finish {
        for (uint64_t i = 0; i < rounds; i++) {
            fin_async { transaction(QUICK, i); };
            fin_async { transaction(QUICK, i); };
            if (i % 10 == 0) {
                fin_async { transaction(SLOW, i); };
            }
            do
                fin_yield(); // those that wait see what has come
            while (under_way > 4000); // the table of calls has an end
        }
    }
    double seconds = (double)(fin_now() - start) / 1e9;
    EXPECT(quick == 2 * rounds && slow == (rounds + 9) / 10);
    printf("dispatch loop: each transaction blocks in an async of its own\n");
    printf("  %llu quick transactions, %llu slow ones of 10 ms each, in %.3f s: %.0f ns each\n", (unsigned long long)quick,
           (unsigned long long)slow, seconds, seconds * 1e9 / (double)(quick + slow));
    printf("  %llu quick ones were answered before the first slow one; up to %llu were under way at a time\n",
           (unsigned long long)quick_before_slow, (unsigned long long)most_under_way);
    EXPECT(fin_rpc_close(to_2) == 0);
    peer_ended(&second_process);
    peer_ended(&third_process);
    return 0;
}
