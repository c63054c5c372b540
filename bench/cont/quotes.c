// SPDX-License-Identifier: BSD-2-Clause
// The stock-quote server, as examples/quotes.c has it without stacks, with a quote every 5 ms to each of 400 clients.
#include "workloads.h"

#include <errno.h>

#include <fin.h>

#include "../../examples/server.h"
#include "rows.h"

enum { CLIENTS = 400, QUOTES = 200 };
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
    must(fd >= 0 && s, "a client");
    s->fd = fd;
    must(fin_async_cont_beside(welcome, &s, sizeof s) != NULL, "a client");
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
    int fd = socket(AF_INET, SOCK_STREAM, 0), n = few(QUOTES);
    struct linger reset = {.l_onoff = 1};
    must(fd >= 0 && fin_connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    must(fin_send(fd, &price, sizeof price, 0) == sizeof price, "send");
    while (n-- > 0)
        must(fin_recv_all(fd, &quote, sizeof quote, 0, NULL) == 0, "recv");
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
    must(raise_descriptors(2 * CLIENTS + 64) >= 2 * CLIENTS + 64, "descriptors");
    door.listener = listen_on(&address);
    must(door.listener >= 0, "listen");
    fin_timer_slack(slack);
    fin_finish {
        fin_async_cont(open_door, NULL, 0);
        must(fin_thread_start(&t, clients, unused) == 0, "thread");
        fin_sem_wait_nc(&clients_done);
        fin_cancel();
    }
    fin_thread_join_nc(&t);
    close(door.listener);
}
