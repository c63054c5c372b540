// SPDX-License-Identifier: BSD-2-Clause
// Operations by chance, with stacks and without, which are cancelled in several ways; what may befall the process that makes
// them; and what it must not have left over.
#ifndef FIN_TESTS_CHAN_OPERATIONS_H
#define FIN_TESTS_CHAN_OPERATIONS_H

#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "chan.h"
#include "rounds.h"

static bool in_b; // this process is
static bool kills, starves;
static __thread unsigned own_seed;

// By the higher bits: what is by chance in a round is to differ in many rounds.
static inline unsigned pick(unsigned *state, unsigned of) { return (next_random(state) >> 8) % of; }
static inline unsigned chance(unsigned of) { return pick(&own_seed, of); }

#define ADD(counter, n) __atomic_add_fetch(&(counter), n, __ATOMIC_ACQ_REL)
#define READ(counter) __atomic_load_n(&(counter), __ATOMIC_ACQUIRE)

static inline void spin(void) {
    unsigned most = chance(4) ? 20000 : 200;
    for (unsigned volatile n = chance(most); n; n--) {
    }
}

static inline void pause_here(void) {
    switch (chance(6)) {
    case 0:
    case 4:
        fin_yield();
        break;
    case 1:
        fin_sleep_nc(chance(100) * FIN_US);
        break;
    case 2:
        spin();
        break;
    case 3:
        sched_yield();
        break;
    }
}

// ---- shortages: as a part of a burst, so none is left when it ends

static bool is_short(ssize_t r) { return starves && r == -EMFILE; }

static void starve(void) {
    static bool is_starving;
    struct rlimit old, low;
    if (__atomic_exchange_n(&is_starving, true, __ATOMIC_ACQUIRE))
        return;
    getrlimit(RLIMIT_NOFILE, &old);
    low = (struct rlimit){chance(3) ? (rlim_t)open_descriptors() - 2 + chance(5) : 3, old.rlim_max}; // a few can be had
    setrlimit(RLIMIT_NOFILE, &low);
    for (unsigned n = chance(6); n; n--)
        pause_here();
    setrlimit(RLIMIT_NOFILE, &old);
    __atomic_store_n(&is_starving, false, __ATOMIC_RELEASE);
}

static void after_shortage(void) {
    fin_yield();
    usleep(chance(200));
}

// ---- operations, which are cancelled in several ways

enum style { AS_IT_IS, TIMED, BEFORE, BESIDE, STYLES };

struct role; // whose it is

struct op {
    void (*run)(struct op *);
    ssize_t result;
    struct role *r;
    bool explicit; // it waits with a continuation
    bool nc;
    unsigned form;
    size_t size, room;
    unsigned fds;
    int fd[FIN_CHAN_FDS];
    struct fin_chan_on on;
};

static void runs(void *op) { ((struct op *)op)->run(op); }

static void perform(struct op *o, enum style style) {
    o->result = 1 << 30;
    switch (style) {
    case TIMED:
        fin_timeout(chance(chance(3) ? 60 : 300) * FIN_US) {
            fin_async_call(runs, o);
        }
        break;
    case BEFORE:
        fin_finish {
            fin_cancel();
            fin_async_call(runs, o);
        }
        break;
    case BESIDE:
        fin_finish {
            fin_async_call(runs, o);
            for (unsigned n = chance(3); n; n--)
                pause_here();
            fin_cancel();
        }
        break;
    default:
        if (o->explicit) {
            fin_finish {
                fin_async_call(runs, o);
            }
        } else {
            o->run(o);
        }
    }
    CHECK(o->result != 1 << 30);
}

static void ended_on(void *op, int result) {
    struct op *o = *(struct op **)op;
    o->result = result;
    fin_cont_end();
}

// ---- what is left

// Sockets, memory and folders.
static int left_over(void) {
    char path[64], name[64];
    int n = 0;
    for (int fd = 0; fd < 1024; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, name, sizeof name - 1);
        name[length < 0 ? 0 : length] = 0;
        n += strncmp(name, "socket:", 7) == 0 || name[0] == '/';
    }
    return n;
}

static int mapped(void) {
    char line[512];
    int n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    CHECK(f);
    while (fgets(line, sizeof line, f))
        n += strstr(line, "memfd:fin-chan") != NULL;
    fclose(f);
    return n;
}

static void nothing_is_left(int before) {
    for (int i = 0; i < 200000 && left_over() != before; i++)
        usleep(100); // those that another process sent may be closed by a thread
    CHECK_EQ(left_over(), before);
    CHECK_EQ(mapped(), 0);
}

#endif
