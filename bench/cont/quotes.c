// SPDX-License-Identifier: BSD-2-Clause
// The stock-quote server, as examples/quotes.c has it without stacks, with a quote every 5 ms to each of 400 clients.
#include "workloads.h"

#include <errno.h>

#include <fin.h>

#include "../../examples/server.h"
#include "rows.h"

enum { CLIENTS = 400, QUOTES = 200, OTHERS = 256 }; // descriptors that are no client's
static const uint64_t period = 5 * FIN_MS, slack = FIN_MS;

struct subscriber {
    struct fin_on on;
    struct quote quote;
    uint32_t price;
    int fd;
};

static struct door {
    struct fin_on on;
    int listener;
} door;
static struct sockaddr_in address;
static struct fin_sem clients_done = FIN_SEM_INIT(0);

static void hang_up(struct subscriber *s) {
    close(s->fd);
    free(s);
    fin_cont_end();
}

static void sent(void *state, int n) {
    struct subscriber *s = *(struct subscriber **)state;
    if (n != sizeof s->quote)
        hang_up(s);
    next_quote(&s->quote, period);
    fin_send_at_on(&s->on, s->quote.due, s->fd, &s->quote, sizeof s->quote, 0, sent, &s, sizeof s);
}

static void subscribed(void *state, int received) {
    struct subscriber *s = *(struct subscriber **)state;
    if (received != sizeof s->price)
        hang_up(s);
    s->quote = (struct quote){.due = fin_now(), .price = s->price};
    fin_send_on(&s->on, s->fd, &s->quote, sizeof s->quote, 0, sent, &s, sizeof s);
}

static void welcome(void *state, int result) {
    struct subscriber *s = *(struct subscriber **)state;
    (void)result;
    fin_recv_on(&s->on, s->fd, &s->price, sizeof s->price, 0, subscribed, &s, sizeof s);
}

static void accepted(void *state, int fd) {
    if (fd == -ECANCELED)
        fin_cont_end();
    struct subscriber *s = malloc(sizeof *s);
    BENCH_GOT(s);
    bench_did(fd, "fin_accept_on", __FILE__, __LINE__);
    s->fd = fd;
    BENCH_MUST(fin_async_cont_beside(welcome, &s, sizeof s) != NULL);
    fin_accept_on(&door.on, door.listener, 0, accepted, state, 0);
}

static void open_door(void *state, int result) {
    (void)result;
    fin_accept_on(&door.on, door.listener, 0, accepted, state, 0);
}

static void client(void *unused) {
    (void)unused;
    struct quote quote;
    uint32_t price = 10000;
    int fd = (int)BENCH_SYS(socket(AF_INET, SOCK_STREAM, 0)), n = few(QUOTES);
    struct linger reset = {.l_onoff = 1};
    BENCH_DID(fin_connect(fd, (struct sockaddr *)&address, sizeof address));
    BENCH_SYS(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset));
    BENCH_MUST(BENCH_DID(fin_send(fd, &price, sizeof price, 0)) == sizeof price);
    while (n-- > 0)
        BENCH_DID(fin_recv_all(fd, &quote, sizeof quote, 0, NULL));
    close(fd);
}

static void clients(void *unused) {
    fin_finish {
        for (int i = 0; i < CLIENTS; i++)
            fin_async_call(client, unused);
    }
    fin_sem_post(&clients_done);
}

void quote_server(void *unused) {
    struct fin_thread_handle t;
    if (raise_descriptors(2 * CLIENTS + OTHERS) < 2 * CLIENTS + OTHERS)
        bench_failed("the process gets no descriptors for so many clients", __FILE__, __LINE__, EMFILE);
    door.listener = (int)BENCH_SYS(listen_on(&address));
    fin_timer_slack(slack);
    fin_finish {
        BENCH_MUST(fin_async_cont(open_door, NULL, 0) != NULL);
        BENCH_DID(fin_thread_start(&t, clients, unused));
        fin_sem_wait_nc(&clients_done);
        fin_cancel();
    }
    fin_thread_join_nc(&t);
    close(door.listener);
}
