// SPDX-License-Identifier: BSD-2-Clause
// Lines over TLS, read with a stack and without; and a flush that is cancelled in the midst of a record goes on later.
#include "pair.h"

#include "../bufio/answers.h"

enum { LINES = 200 };

static struct pair p;
static char before[1024], behind[16384], client_before[1024], client_behind[16384];
static struct fin_reader client_in;
static struct fin_writer client_out;
static struct fin_reader_on on;

static void open_all(void) {
    int few = 2048;
    pair_open(&p, true, 0);
    pair_connect(&p);
    CHECK_EQ(setsockopt(p.fd[1], SOL_SOCKET, SO_SNDBUF, &few, sizeof few), 0);
    CHECK_EQ(fin_tls_reader_init(&in, p.server, before, sizeof before), 0);
    CHECK_EQ(fin_tls_writer_init(&out, p.server, behind, sizeof behind), 0);
    CHECK_EQ(fin_tls_reader_init(&client_in, p.client, client_before, sizeof client_before), 0);
    CHECK_EQ(fin_tls_writer_init(&client_out, p.client, client_behind, sizeof client_behind), 0);
    CHECK_EQ(fin_tls_writer_init(&client_out, p.client, client_behind, 1), -EINVAL);
    fin_reader_tie(&in, &out);
    fin_reader_tie(&client_in, &client_out);
}

static void answers_on(void *state, int n) {
    if (n == -ENODATA)
        fin_cont_end();
    if (*(int *)state) {
        CHECK(n >= 0);
        CHECK_EQ(fin_writer_printf(&out, "%s!\n", line), n + 2);
    }
    CHECK_EQ(fin_reader_line_on(&in, &line, &on, answers_on, &(int){1}, sizeof(int)), 0);
}

static FIN_BLOCKING void asks(void) {
    char *answer;
    for (int i = 0; i < LINES; i++) {
        int n = fin_writer_printf(&client_out, "%d\n", i * i);
        CHECK(n > 0);
        CHECK_EQ(fin_reader_line(&client_in, &answer), n);
        CHECK_EQ(atoi(answer), i * i);
        CHECK_EQ(answer[n - 1], '!');
    }
    CHECK_EQ(fin_tls_shutdown(p.client), 0);
}

static FIN_BLOCKING void goes_on(void) {
    static char many[16000], got[sizeof many];
    fin_shared int r = 0;
    for (size_t i = 0; i < sizeof many; i++)
        many[i] = (char)(i % 251);
    CHECK_EQ(fin_writer_write(&out, many, sizeof many, NULL), 0);
    fin_finish {
        fin_async { r = fin_writer_flush(&out); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_cancel();
    }
    CHECK_EQ(r, -ECANCELED);
    fin_finish { // the writer has nothing more; OpenSSL's record is not out
        fin_async { CHECK_EQ(fin_writer_flush(&out), 0); };
        CHECK_EQ(fin_reader_read_all(&client_in, got, sizeof got, NULL), 0);
    }
    CHECK_EQ(memcmp(got, many, sizeof many), 0);
}

static int told;

static void hears(void *unused, int n) {
    (void)unused;
    told = n;
    fin_cont_end();
}
static void waits_on(void *unused, int n) {
    (void)unused, (void)n;
    CHECK_EQ(fin_reader_line_on(&in, &line, &on, hears, NULL, 0), 0);
}

// As fin_tls_read is, with a stack and without.
static FIN_BLOCKING void is_cancelled(void) {
    struct fin_stats s;
    fin_timeout(FIN_MS) {
        CHECK_EQ(fin_reader_line(&in, &line), -ECANCELED);
    }
    fin_finish {
        CHECK(fin_async_cont(waits_on, NULL, 0) != NULL);
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        fin_stats(&s);
        CHECK_EQ(s.stacks_used, 1);
        fin_cancel();
    }
    CHECK_EQ(told, -ECANCELED);
}

// More than one record has room for.
static FIN_BLOCKING void writes_much(void) {
    static char much[50000], got[sizeof much], room[sizeof much];
    CHECK_EQ(fin_tls_writer_init(&out, p.server, room, sizeof room), 0);
    for (size_t i = 0; i < sizeof much; i++)
        much[i] = (char)(i % 251);
    CHECK_EQ(fin_writer_write(&out, much, sizeof much - 1, NULL), 0);
    CHECK_EQ(fin_writer_write(&out, &much[sizeof much - 1], 1, NULL), 0);
    fin_finish {
        fin_async { CHECK_EQ(fin_writer_flush(&out), 0); };
        CHECK_EQ(fin_reader_read_all(&client_in, got, sizeof got, NULL), 0);
    }
    CHECK_EQ(memcmp(got, much, sizeof much), 0);
}

int main(void) {
    for (int way = 0; way < 3; way++) {
        open_all();
        if (way == 2) {
            goes_on();
            is_cancelled();
            writes_much();
        } else {
            fin_finish {
                if (way == 0)
                    fin_async_call(answers, NULL);
                else
                    CHECK(fin_async_cont(answers_on, &(int){0}, sizeof(int)) != NULL);
                asks();
            }
        }
        pair_close(&p);
    }
    return 0;
}
