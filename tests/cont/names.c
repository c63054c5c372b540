// SPDX-License-Identifier: BSD-2-Clause
// A name that an AWE gives itself in a step is in the report of a crash, until it waits without a stack.
#include <fin.h>

#include "process.h"

static void named_crashes(void *unused, int result) {
    (void)unused;
    (void)result;
    fin_set_name("the step");
    abort();
}

static void crashes_on(void *unused, int result) {
    (void)unused;
    (void)result;
    fin_set_name("the one that waited");
    fin_finish {
        fin_yield();
    }
    abort();
}

static void unnamed_crashes(void *unused, int result) {
    (void)unused;
    (void)result;
    abort();
}

static void names_and_waits(void *unused, int result) {
    (void)unused;
    (void)result;
    fin_set_name("the one before");
    fin_yield_on(unnamed_crashes, NULL, 0);
}

static struct fin_sem free_places;
static struct fin_sync_on sync_on;

static void names_and_waits_for_nothing(void *unused, int result) {
    (void)unused;
    (void)result;
    fin_set_name("the one before");
    fin_sem_init(&free_places, 1);
    fin_sem_wait_on(&free_places, &sync_on, unnamed_crashes, NULL, 0);
}

static void yields(void *unused) {
    (void)unused;
    fin_yield();
}

static void runs(fin_cont *cont) {
    fin_finish {
        fin_async_call(yields, NULL);
        fin_async_cont(cont, NULL, 0);
    }
}

static void in_a_step(void) { runs(named_crashes); }
static void after_a_wait(void) { runs(crashes_on); }
static void in_the_next(void) { runs(names_and_waits); }
static void in_the_next_at_once(void) { runs(names_and_waits_for_nothing); }

static struct fin_chan *a, *b;
static struct fin_rpc *client, *server;
static struct fin_rpc_on on;

static void crashes_at_work(struct fin_rpc *r, uint32_t id, void *request, size_t size, void *arg) {
    (void)r, (void)id, (void)request, (void)size, (void)arg;
    fin_set_name("the worker");
    abort();
}

static void over(void *state, int result) {
    (void)state;
    (void)result;
    fin_cont_end();
}

static void serves(void *unused, int result) {
    (void)unused;
    (void)result;
    fin_rpc_serve_on(server, crashes_at_work, NULL, &on, over, NULL, 0);
}

static void in_a_request(void) {
    uint32_t answer;
    if (fin_chan_pair(&a, &b, NULL) != 0 || fin_rpc_open(&client, a, 0) != 0 || fin_rpc_open(&server, b, 0) != 0)
        return;
    fin_finish {
        fin_async_cont(serves, NULL, 0);
        fin_rpc_call(client, "x", 1, &answer, sizeof answer);
    }
}

static void check(void (*fn)(void), const char *said) {
    char text[4096];
    CHECK_EQ(killed_by(fn, text, sizeof text), SIGABRT);
    CHECK(strstr(text, said));
}

int main(void) {
#if FIN_SANITIZED
    SKIP("a sanitizer reports crashes itself");
#endif
    check(in_a_step, "fin: SIGABRT in AWE \"the step\", continuation named_crashes, ");
    check(after_a_wait, "fin: SIGABRT in AWE \"the one that waited\", continuation crashes_on, ");
    check(in_the_next, "fin: SIGABRT in AWE \"unnamed\", continuation unnamed_crashes, ");
    check(in_the_next_at_once, "fin: SIGABRT in AWE \"unnamed\", continuation unnamed_crashes, ");
    check(in_a_request, "fin: SIGABRT in AWE \"the worker\", continuation crashes_at_work, ");
    return 0;
}
