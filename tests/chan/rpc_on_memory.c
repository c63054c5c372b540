// SPDX-License-Identifier: BSD-2-Clause
// Who has a stack until it waits, where there is memory for one more AWE without a stack. A caller: the server at the other
// end does not take that for the request, so the call is not refused after that has been sent. And who is to serve: it does
// not take that for the request, and is then refused while somebody works on that.
#include "one_record.h"
#include "rpc.h"

static struct fin_rpc_on on_server, on_caller;
static uint64_t x = 5, y;
static int refused, over, answered;

static void serves(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *unused) {
    (void)r;
    (void)unused;
    CHECK_EQ(size, sizeof x);
    reply_to(id, *(uint64_t *)request);
}

static void has_served(void *state, int result) {
    (void)state;
    over = result;
    fin_cont_end();
}

static void serve(void *state, int result) {
    (void)state;
    (void)result;
    CHECK_EQ(fin_rpc_serve_on(server, serves, NULL, &on_server, has_served, NULL, 0), 0);
}

static void has_answer(void *state, int result) {
    (void)state;
    answered = result;
    fin_cont_end();
}

static void call(void *unused) {
    (void)unused;
    refused = fin_rpc_call_on(caller, &x, sizeof x, &y, sizeof y, &on_caller, has_answer, NULL, 0);
}

static void is_not_refused(void) {
    let_all_run();
    unlimit_memory();
    CHECK_EQ(refused, 0);
    CHECK_EQ(over, -ENOMEM);
    reply_to(next_request(&y), x); // it is still there
    let_all_run();
    CHECK_EQ(answered, sizeof y);
    CHECK_EQ(y, answer_to(x));
    over = answered = 0;
}

static void of_caller(void) {
    open_rpc(LOCAL);
    fin_finish_as(all) {
        fin_async_cont(has_the_one, NULL, 0);
        fin_async_cont(serve, NULL, 0);
        CHECK_EQ(ask(4), sizeof y); // there is memory for calls
        leave_one_record();
        fin_async_call(call, NULL);
        is_not_refused();
        fin_cancel_as(all);
    }
    close_rpc();
}

static void serve_first(void *unused) {
    (void)unused;
    refused = fin_rpc_serve_on(server, serves, NULL, &on_server, has_served, NULL, 0);
}

static void of_server(void) {
    open_rpc(PAIR);
    fin_finish_as(all) {
        fin_async_cont(has_the_one, NULL, 0);
        fin_async_call(call, NULL); // the request waits in the channel
        leave_one_record();
        fin_async_call(serve_first, NULL);
        is_not_refused();
        fin_cancel_as(all);
    }
    close_rpc();
}

int main(void) {
    skip_where_watched();
    of_caller();
    of_server();
    return 0;
}
