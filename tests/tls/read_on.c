// SPDX-License-Identifier: BSD-2-Clause
// Reading with a continuation: data, the end and errors are as fin_tls_read says them, without a stack in between; turns are
// taken with those that have one, and what is refused has done nothing. (cancel.c: races)
#include "pair.h"

enum { MANY = 20 };

static struct pair p;

struct reader {
    struct fin_tls *t;
    struct fin_more_on on;
    char *to;
    size_t size;
    int result, number;
};

// Its state is what fills it: the address, and more.
struct state {
    struct reader *r;
    char text[FIN_CONT_STATE - sizeof(struct reader *)];
};
_Static_assert(sizeof(struct state) == FIN_CONT_STATE, "all that there may be");
static const char text[] = "thirty-two bytes that come along";

static void took(void *state, int n) {
    struct state *s = state;
    struct reader *r = s->r;
    CHECK(memcmp(s->text, text, sizeof s->text) == 0);
    CHECK(fin_cont_of(fin_awe_self()) == took);
    CHECK(fin_cont_state(fin_awe_self()) == state);
    LOG("%d:%d ", r->number, n);
    r->result = n;
    fin_cont_end();
}

static void takes(struct reader *r) {
    struct state s = {.r = r};
    memcpy(s.text, text, sizeof s.text);
    fin_tls_read_on(r->t, r->to, r->size, &r->on, took, &s, sizeof s);
    CHECK(false);
}

static void begin(void *state, int unused) {
    (void)unused;
    takes(*(struct reader **)state);
}

#define START(r) CHECK(fin_async_cont(begin, &(struct reader *){r}, sizeof(struct reader *)) != NULL)

static uint64_t stacks(void) {
    struct fin_stats s;
    fin_stats(&s);
    return s.stacks_used;
}

static void opened(void) {
    pair_open(&p, true, 0);
    pair_connect(&p);
    check_log[0] = '\0';
}

// Of many connections that share a buffer each continuation finds its own data there, at most one record's.
static struct pair pairs[MANY];
static char shared[64];
static int heard;

static void heard_it(void *state, int n) {
    struct reader *r = *(struct reader **)state;
    char expected[32];
    snprintf(expected, sizeof expected, "for %d", r->number);
    if (n == 0)
        fin_cont_end();
    CHECK_EQ(n, strlen(expected));
    CHECK(memcmp(shared, expected, (size_t)n) == 0);
    heard++;
    fin_tls_read_on(r->t, shared, sizeof shared, &r->on, heard_it, state, sizeof r);
    CHECK(false);
}

static void hears(void *state, int unused) {
    struct reader *r = *(struct reader **)state;
    (void)unused;
    fin_tls_read_on(r->t, shared, sizeof shared, &r->on, heard_it, state, sizeof r);
    CHECK(false);
}

static void many(void) {
    static struct reader readers[MANY];
    for (int i = 0; i < MANY; i++) {
        pair_open(&pairs[i], true, 0);
        pair_connect(&pairs[i]);
    }
    fin_finish {
        for (int i = 0; i < MANY; i++) {
            struct reader *r = &readers[i];
            *r = (struct reader){.t = pairs[i].server, .number = i};
            CHECK(fin_async_cont(hears, &r, sizeof r) != NULL);
        }
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(stacks(), 1);
        for (int k = 0; k < 3 * MANY; k++) {
            char s[32];
            int i = k * 7 % MANY, n = snprintf(s, sizeof s, "for %d", i);
            CHECK_EQ(fin_tls_write(pairs[i].client, s, (size_t)n), n);
        }
        while (heard < 3 * MANY)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(stacks(), 1);
        for (int i = 0; i < MANY; i++)
            CHECK_EQ(fin_tls_shutdown(pairs[i].client), 0);
    }
    for (int i = 0; i < MANY; i++)
        pair_close(&pairs[i]);
}

// In a loop of one AWE: the stack does not grow. Then the end, again and again.
static size_t total, ends;
static char part[7];

static void in_a_loop(void *state, int n) {
    struct reader *r = *(struct reader **)state;
    CHECK(n >= 0);
    total += (size_t)n;
    if (n == 0 && ++ends == 3)
        fin_cont_end();
    fin_tls_read_on(r->t, part, sizeof part, &r->on, in_a_loop, state, sizeof r);
    CHECK(false);
}

static void long_run(void) {
    static struct reader r, *at = &r;
    static char data[16384];
    enum { RECORDS = 40 };
    opened();
    r = (struct reader){.t = p.server, .to = part, .size = 0};
    fin_finish { // nothing is wanted: that does not wait
        START(&r);
    }
    CHECK_EQ(r.result, 0);
    fin_finish {
        CHECK(fin_async_cont(in_a_loop, &at, sizeof at) != NULL);
        for (int i = 0; i < RECORDS; i++)
            CHECK_EQ(fin_tls_write(p.client, data, sizeof data), sizeof data);
        CHECK_EQ(fin_tls_shutdown(p.client), 0);
    }
    CHECK_EQ(total, RECORDS * sizeof data);
    pair_close(&p);
}

// ---- turns

static FIN_BLOCKING void reads_on_stack(void *number) {
    char c;
    ssize_t n = fin_tls_read(p.server, &c, 1);
    LOG("%d:%d ", (int)(intptr_t)number, (int)n);
}

static void turns(void) {
    static struct reader r[2];
    static char to[2];
    opened();
    fin_finish {
        for (int i = 0; i < 2; i++) {
            r[i] = (struct reader){.t = p.server, .to = &to[i], .size = 1, .number = 2 * i + 1};
            START(&r[i]);
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            fin_async_call(reads_on_stack, (void *)(intptr_t)(2 * i + 2));
        }
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_tls_write(p.client, "abcd", 4), 4);
    }
    CHECK_LOG("1:1 2:1 3:1 4:1 ");
    CHECK_EQ(to[0], 'a');
    CHECK_EQ(to[1], 'c');
    pair_close(&p);
}

// Of the server, a byte each.
static void three_readers(struct reader *r, char *to) {
    opened();
    for (int i = 0; i < 3; i++)
        r[i] = (struct reader){.t = p.server, .to = &to[i], .size = 1, .number = i};
}

// One that waits for its turn is cancelled; one that has it is, and the next gets it. In a block that is cancelled nothing
// begins, also where nothing has to be waited for.
static void cancelled(void) {
    static struct reader r[3];
    static char to[3];
    three_readers(r, to);
    fin_finish_as(all) {
        fin_finish {
            START(&r[0]);
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            fin_finish {
                START(&r[1]);
                CHECK_EQ(fin_sleep(FIN_MS), 0);
                fin_cancel();
            }
            CHECK_LOG("1:-125 ");
            START(&r[2]);
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            fin_cancel();
        }
        CHECK_LOG("1:-125 2:-125 0:-125 ");
        CHECK_EQ(fin_tls_write(p.client, "abc", 3), 3);
        fin_finish {
            START(&r[1]);
        }
        fin_cancel_as(all);
        START(&r[0]); // the rest is there
    }
    CHECK_LOG("1:-125 2:-125 0:-125 1:1 0:-125 ");
    CHECK_EQ(to[1], 'a');
    fin_finish {
        START(&r[1]);
    }
    CHECK_EQ(to[1], 'b');
    pair_close(&p);
}

// Who goes away gives up his own turn only: the last one has his when the first is done, and finds what that one left.
static void between_two(void) {
    static struct reader r[3];
    static char to[3];
    three_readers(r, to);
    fin_finish {
        START(&r[0]);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_finish {
            START(&r[1]);
            CHECK_EQ(fin_sleep(FIN_MS), 0);
            fin_cancel();
        }
        START(&r[2]);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_tls_write(p.client, "xy", 2), 2);
    }
    CHECK_LOG("1:-125 0:1 2:1 ");
    CHECK_EQ(to[0], 'x');
    CHECK_EQ(to[2], 'y');
    pair_close(&p);
}

// ---- errors

static void errors(void) {
    static struct reader r;
    static char c;
    pair_open(&p, true, 0);
    check_log[0] = '\0';
    r = (struct reader){.t = p.server, .to = &c, .size = 1};
    fin_finish {
        START(&r);
    }
    CHECK_LOG("0:-107 "); // -ENOTCONN
    pair_connect(&p);
    CHECK_EQ(send(p.fd[0], "this is no record of TLS", 24, 0), 24);
    for (int i = 0; i < 2; i++) { // for ever
        fin_finish {
            START(&r);
        }
    }
    CHECK_LOG("0:-107 0:-71 0:-71 ");
    CHECK_EQ(fin_tls_read(p.server, &c, 1), -EPROTO);
    CHECK_EQ(fin_tls_write(p.server, &c, 1), -EPROTO);
    CHECK(fin_tls_error(p.server)[0] != 0);
    pair_close(&p);

    opened();
    r.t = p.server;
    fin_finish {
        START(&r);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(shutdown(p.fd[0], SHUT_WR), 0);
    }
    CHECK_LOG("0:-103 "); // -ECONNABORTED
    pair_close(&p);
}

// An error of the socket is told once, as the socket has it, also in the middle of a record. The connection goes on, as far
// as there is one.
static void reset(bool on_stack, size_t before) {
    static const int expected[] = {-ECONNRESET, -ECONNABORTED};
    static const char record[1000] = {23, 3, 3, 3, 0};
    static struct reader r;
    static char c;
    pair_open(&p, true, TLS1_2_VERSION);
    pair_connect(&p);
    r = (struct reader){.t = p.client, .to = &c, .size = 1};
    CHECK_EQ(send(p.fd[1], record, before, 0), before);
    CHECK_EQ(send(p.fd[0], "x", 1, 0), 1); // the other end is closed before anybody has read it
    close(p.fd[1]);
    p.fd[1] = -1;
    for (int i = 0; i < 2; i++) {
        CHECK(fin_tls_error(p.client)[0] == 0);
        if (on_stack) {
            r.result = (int)fin_tls_read(p.client, &c, 1);
        } else {
            fin_finish {
                START(&r);
            }
        }
        CHECK_EQ(r.result, expected[i]);
    }
    pair_close(&p);
}

// ---- what is refused has done nothing

static void never(void *state, int result) {
    (void)state, (void)result;
    CHECK(false);
}

static void misuses(void *state, int unused) {
    static struct reader r;
    char much[FIN_CONT_STATE + 1] = "", c;
    struct fin_mutex m = FIN_MUTEX_INIT;
    (void)unused;
    for (int connected = 0; connected < 2; connected++) { // before and after the handshake
        struct fin_tls *t = connected ? p.server : *(struct fin_tls **)state;
        CHECK_EQ(fin_tls_read_on(t, &c, 1, &r.on, NULL, NULL, 0), -EINVAL);
        CHECK_EQ(fin_tls_read_on(t, &c, 1, &r.on, never, much, sizeof much), -E2BIG);
        CHECK_EQ(fin_mutex_lock(&m), 0);
        CHECK_EQ(fin_tls_read_on(t, &c, 1, &r.on, never, NULL, 0), -EBUSY);
        fin_mutex_unlock(&m);
        fin_finish {
            CHECK_EQ(fin_tls_read_on(t, &c, 1, &r.on, never, NULL, 0), -EBUSY);
        }
    }
    CHECK_EQ(fin_tls_read(p.server, &c, 1), 1); // nobody else has the turn, or took it
    CHECK_EQ(c, 'z');
    fin_cont_end();
}

static void refused(void) {
    static struct pair other;
    static struct fin_more_on on;
    char c;
    pair_open(&other, true, 0);
    opened();
    CHECK_EQ(fin_tls_write(p.client, "z", 1), 1);
    CHECK_EQ(fin_tls_read_on(p.server, &c, 1, &on, never, NULL, 0), -EINVAL); // outside any async
    CHECK_EQ(fin_tls_read_on(other.server, &c, 1, &on, never, NULL, 0), -EINVAL);
    fin_finish {
        CHECK(fin_async_cont(misuses, &other.server, sizeof other.server) != NULL);
    }
    pair_close(&p);
    pair_close(&other);
}

// An async with a stack gives it up.
static void from_a_body(void) {
    static struct reader r;
    static char c;
    opened();
    r = (struct reader){.t = p.server, .to = &c, .size = 1};
    fin_finish {
        fin_async { takes(&r); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_tls_write(p.client, "q", 1), 1);
    }
    CHECK_LOG("0:1 ");
    CHECK_EQ(c, 'q');
    pair_close(&p);
}

int main(void) {
    many();
    long_run();
    turns();
    cancelled();
    between_two();
    errors();
    for (size_t before = 0; before < 1000; before = before ? 4 * before : 1) { // one is all that is received at once
        reset(false, before);
        reset(true, before);
    }
    refused();
    from_a_body();
    return 0;
}
