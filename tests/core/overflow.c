// SPDX-License-Identifier: BSD-2-Clause
// A stack that overflows ends the program with a report that names the AWE and its entry function.
#include <fin.h>

#include "process.h"

static volatile long deep = 1000000000;

static int __attribute__((noinline)) recurse(long depth) {
    volatile char used[200];
    used[depth % 200] = 1;
    if (depth >= deep)
        return 0;
    return recurse(depth + 1) + used[depth % 200];
}

static void first(void *arg) {
    (void)arg;
    fin_yield(); // from here on the owner is on a stack of Fin's
}

static void overflows(void *arg) {
    if (arg)
        fin_set_name(arg);
    recurse(0);
}

static void overflows_later(void *arg) {
    fin_set_name(arg);
    fin_yield();
    recurse(0);
}

static void lazily(void) {
    fin_finish {
        fin_async_call(first, NULL);
        fin_async_call(overflows, "the lazy one");
    }
}

static void does_not_block(void *arg) { (void)arg; }

// The first body of a thread that blocks or ends in depth runs on the stack that the thread came with.
static void on_the_os_stack(void) {
    fin_finish {
        fin_async_call(overflows, "the first one");
    }
}

static void owner_on_the_os_stack(void) {
    fin_set_name("the first owner");
    fin_finish {
        fin_async_call(does_not_block, NULL);
        recurse(0);
    }
}

static void without_a_name(void) {
    fin_finish {
        fin_async_call(first, NULL);
        fin_async_call(overflows, NULL);
    }
}

static void after_blocking(void) {
    fin_finish {
        fin_async_call(first, NULL);
        fin_async_call(overflows_later, "the late one");
    }
}

static void eagerly(void) {
    fin_finish {
        fin_async_eager_call(overflows, "the eager one");
    }
}

static void inside_another(void) {
    fin_finish {
        fin_async_call(first, NULL);
        fin_async {
            fin_set_name("the outer one");
            fin_async_call(overflows, "the inner one");
        };
    }
}

static void in_place(void) {
    fin_finish {
        fin_async_eager {
            fin_set_name("the one in place");
            recurse(0);
        };
    }
}

static void owner(void) {
    fin_set_name("the owner");
    fin_finish {
        fin_async_call(first, NULL);
        recurse(0);
    }
}

static void thread(void *arg) {
    (void)arg;
    eagerly();
}

static void on_a_thread(void) {
    struct fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, thread, NULL), 0);
    fin_thread_join_nc(&t);
}

int main(void) {
#if FIN_SANITIZED
    SKIP("sanitizers report what faults themselves");
#endif
    struct {
        void (*fn)(void);
        const char *report;
    } cases[] = {
        {lazily, "AWE \"the lazy one\", entry overflows"},
        {on_the_os_stack, "AWE \"the first one\", entry overflows: the OS thread's own stack"},
        {owner_on_the_os_stack, "AWE \"the first owner\": the OS thread's own stack"},
        {without_a_name, "AWE \"unnamed\", entry overflows"},
        {after_blocking, "AWE \"the late one\", entry overflows_later"},
        {eagerly, "AWE \"the eager one\", entry overflows"},
        {inside_another, "AWE \"the inner one\", entry overflows"},
        {in_place, "AWE \"the one in place\", started in in_place"},
        {owner, "AWE \"the owner\": its"},
        {on_a_thread, "AWE \"the eager one\", entry overflows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[8192];
        CHECK_EQ(killed_by(cases[i].fn, text, sizeof text), SIGSEGV);
        CHECK(strstr(text, "fin: stack overflow in ") && strstr(text, cases[i].report));
    }
    return 0;
}
