// SPDX-License-Identifier: BSD-2-Clause
// A crash names the AWE, its entry function and where it was, and ends the program as it would have without the report.
#include <fin.h>

#include <pthread.h>

#include "process.h"

static int *volatile nowhere = NULL;

static void __attribute__((noinline)) writes_nowhere(void) {
    *nowhere = 1;
    __asm__ volatile("" : : : "memory");
}

static void crashes(void *name) {
    fin_set_name(name);
    fin_yield();
    writes_nowhere();
}

static void aborts(void *name) {
    fin_set_name(name);
    abort();
}

static void in_an_awe(void) {
    fin_finish {
        fin_async_call(crashes, "the crasher");
    }
}

// In the library, on behalf of a continuation of the program's: the message goes to a buffer that is not there.
static struct fin_chan *a, *b;
static struct fin_chan_on on;

static void message_came(void *state, int result) {
    (void)state;
    (void)result;
}

static void receives(void *unused) { fin_chan_recv_on(a, (void *)8, 1, &on, message_came, unused, 0); }

static void in_the_librarys_step(void) {
    if (fin_chan_pair(&a, &b, NULL) != 0)
        return;
    fin_finish {
        fin_async_call(receives, NULL);
        fin_chan_send(b, "x", 1);
    }
}

static void in_an_assertion(void) {
    fin_finish {
        fin_async_call(aborts, "the doubter");
    }
}

// Not of an AWE: there is nothing to say.
static void outside(void) {
    fin_finish {
        fin_yield();
    }
    writes_nowhere();
}

// Where the block was that the AWE is in, there is something else.
static void overwritten(void *how) {
    fin_self->current = (struct fin_finish_block *)8;
    if (how)
        abort();
    writes_nowhere();
}

static void overwritten_crashes(void) {
    fin_finish {
        fin_async_call(overwritten, NULL);
    }
}

static void overwritten_aborts(void) {
    fin_finish {
        fin_async_call(overwritten, "by abort");
    }
}

// A thread has ended in the midst of a finish block, which may be why.
static struct fin_awe *never;

static void suspends(void *unused) {
    (void)unused;
    fin_suspend(&never);
}

static void *ends_inside(void *unused) {
    fin_finish {
        fin_async_eager_call(suspends, NULL);
        pthread_exit(unused);
    }
    return NULL;
}

static void beside_one_that_ended(void) {
    pthread_t t;
    if (pthread_create(&t, NULL, ends_inside, NULL) != 0)
        return;
    pthread_join(t, NULL);
    writes_nowhere();
}

static void handler(int signal) { _exit(signal == SIGABRT ? 3 : 4); }

// In a thread of the pool, which has no AWE.
static void offloaded(void *unused) {
    (void)unused;
    writes_nowhere();
}

static void in_the_pool(void) {
    fin_finish {
        fin_offload(offloaded, NULL);
    }
}

static bool volatile deep_enough; // never

static unsigned char __attribute__((noinline)) deeper(unsigned char *above) {
    unsigned char volatile room[512];
    room[0] = *above + 1;
    return deep_enough ? 0 : deeper((unsigned char *)room) + room[0];
}

static void recursed(void *unused) {
    unsigned char first = 0;
    (void)unused;
    deeper(&first);
}

static void overflows_in_the_pool(void) {
    fin_finish {
        fin_offload(recursed, NULL);
    }
}

// The program's own handler stays.
static void handled(void) {
    signal(SIGABRT, handler);
    fin_finish {
        fin_async_call(aborts, "the handled one");
    }
}

static void sent(void) {
    fin_finish {
        kill(getpid(), SIGBUS);
    }
}

static void check(void (*fn)(void), int signal, const char *said, const char *place) {
    char text[4096];
    CHECK_EQ(killed_by(fn, text, sizeof text), signal);
    CHECK(said ? strstr(text, said) && strstr(text, place) : !strstr(text, "fin: "));
}

int main(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("a sanitizer reports crashes itself");
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    SKIP("a sanitizer reports crashes itself");
#endif
#endif
    check(in_an_awe, SIGSEGV, "fin: SIGSEGV in AWE \"the crasher\", entry crashes, thread ", ", at writes_nowhere");
    check(in_the_librarys_step, SIGSEGV, "fin: SIGSEGV in AWE \"unnamed\", continuation message_came, thread ", ", at ");
    check(in_an_assertion, SIGABRT, "fin: SIGABRT in AWE \"the doubter\", entry aborts", ", at ");
    check(overwritten_crashes, SIGSEGV, "fin: SIGSEGV in an AWE whose description is overwritten", "");
    check(overwritten_aborts, SIGABRT, "fin: SIGABRT in an AWE whose description is overwritten", "");
    check(outside, SIGSEGV, NULL, NULL);
    check(beside_one_that_ended, SIGSEGV, "fin: before that thread ", " ended while AWEs of it waited");
    check(in_the_pool, SIGSEGV, "fin: SIGSEGV in a function of fin_offload, offloaded, thread ", ", at writes_nowhere");
    check(overflows_in_the_pool, SIGSEGV, "fin: stack overflow in a function of fin_offload, recursed: the OS thread", "");
    check(sent, SIGBUS, "fin: SIGBUS in AWE \"unnamed\"", "");
    int status;
    pid_t child = fork();
    if (child == 0) {
        handled();
        _Exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    return 0;
}
