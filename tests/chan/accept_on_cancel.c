// SPDX-License-Identifier: BSD-2-Clause
// Acceptors without a stack against cancellation, with others of another thread at the same name: no client is turned away,
// each is told of once, and one that a cancelled acceptor did not take is the next one's.
#include "chan.h"

enum { ROUNDS = 4000, UNDER_WAY = 8 };

static struct fin_chan_listener *l;
static char name[64];
static struct fin_chan_on on[2];
static struct fin_chan *out[2];
static int result[2];
static unsigned clients, connected, accepted, seed = 3;
static bool over;

static void visit(void *unused) {
    struct fin_chan *c;
    (void)unused;
    CHECK_EQ(fin_chan_connect(&c, name, 0), 0);
    CHECK_EQ(fin_chan_send(c, "x", 1), 0);
    CHECK_EQ(fin_chan_close(c), 0);
    connected++;
}

static void take(struct fin_chan *c) {
    char byte;
    CHECK_EQ(fin_chan_recv_nc(c, &byte, 1), 1);
    CHECK_EQ(fin_chan_close(c), 0);
    __atomic_add_fetch(&accepted, 1, __ATOMIC_RELAXED);
}

static void ended(void *state, int r) {
    int i = *(int *)state;
    result[i] = r;
    if (r == 0)
        take(out[i]);
    fin_cont_end();
}

static void begin(void *state, int unused) {
    int i = *(int *)state;
    (void)unused;
    result[i] = 1;
    fin_chan_accept_on(l, &out[i], &on[i], ended, &i, sizeof i);
    CHECK(false);
}

// On another thread: for a while each time.
static void also(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        struct fin_chan *c;
        fin_timeout(FIN_MS) {
            if (fin_chan_accept(l, &c) == 0)
                take(c);
        }
        fin_sleep(FIN_MS / 4);
    }
}

static void races(unsigned rounds) {
    unsigned done = 0, cancelled = 0;
    uint64_t aim = 30000;
    fin_finish {
        for (unsigned i = 0; i < rounds; i++) {
            unsigned before = done;
            if (clients - connected < UNDER_WAY && next_random(&seed) % 2) {
                clients++;
                fin_async_call(visit, NULL);
            }
            fin_finish {
                for (int k = 0; k < 2; k++)
                    CHECK(fin_async_cont(begin, &k, sizeof k) != NULL);
                if (next_random(&seed) % 2)
                    pause_a_while(&seed, 8, 4);
                else
                    CHECK_EQ(fin_sleep_nc(next_random(&seed) % aim), 0);
                fin_cancel();
            }
            for (int k = 0; k < 2; k++) {
                CHECK(result[k] == 0 || result[k] == -ECANCELED);
                ++*(result[k] == 0 ? &done : &cancelled);
            }
            aim = done != before ? aim - aim / 16 : aim + aim / 16;
            aim = aim < 1000 ? 1000 : aim > 400000 ? 400000 : aim;
        }
        while (__atomic_load_n(&accepted, __ATOMIC_RELAXED) < clients) {
            struct fin_chan *c;
            fin_timeout(FIN_MS) {
                if (fin_chan_accept(l, &c) == 0)
                    take(c);
            }
        }
    }
    CHECK(done > 0 && cancelled > 0);
    CHECK_EQ(connected, clients);
    CHECK_EQ(__atomic_load_n(&accepted, __ATOMIC_RELAXED), clients);
}

int main(void) {
    struct fin_thread_handle t;
    snprintf(name, sizeof name, "@accept_on_cancel-%d", (int)getpid());
    CHECK_EQ(fin_chan_listen(&l, name, NULL), 0);
    races(10);
    int before = open_descriptors();
    races(few(ROUNDS));
    CHECK_EQ(open_descriptors(), before);
    CHECK_EQ(fin_thread_start(&t, also, NULL), 0);
    races(few(ROUNDS) / 2);
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    fin_thread_join_nc(&t);
    CHECK_EQ(open_descriptors(), before);
    fin_chan_listener_close(l);
    return 0;
}
