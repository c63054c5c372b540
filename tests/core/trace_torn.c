// SPDX-License-Identifier: BSD-2-Clause
// A trace that ends while a thread is in the midst of an event, in a ring that is full: none is shown half written. That
// thread stops where it reads the name of its mark, which lies on a page that cannot be read yet.
#define _GNU_SOURCE
#include <semaphore.h>
#include <sys/mman.h>

#include <fin.h>

#include "process.h"

enum { ROOM = 64 }; // the least
static char *page;
static sem_t in_the_midst, over;

static void on_fault(int signal) {
    (void)signal;
    sem_post(&in_the_midst);
    while (sem_wait(&over) != 0) {
    }
    mprotect(page, (size_t)getpagesize(), PROT_READ | PROT_WRITE);
}

static void marks(void *unused) {
    (void)unused;
    fin_yield(); // from here on the thread is traced
    for (int i = 0; i < 2 * ROOM; i++)
        fin_trace_mark("whole");
    fin_trace_mark(page);
}

static int count(const char *text, const char *what) {
    int n = 0;
    while ((text = strstr(text, what))) {
        text += strlen(what);
        n++;
    }
    return n;
}

int main(void) {
#if FIN_SANITIZED
    SKIP("a sanitizer reads the name itself");
#endif
    if (on_valgrind())
        SKIP("valgrind counts the fault");
    static char text[256 * ROOM];
    char path[32];
    int fd = memfd_create("trace", MFD_CLOEXEC);
    page = mmap(NULL, (size_t)getpagesize(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(fd >= 0 && page != MAP_FAILED && signal(SIGSEGV, on_fault) != SIG_ERR);
    CHECK(sem_init(&in_the_midst, 0, 0) == 0 && sem_init(&over, 0, 0) == 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    setenv("FIN_TRACE_EVENTS", "64", 1);
    CHECK_EQ(fin_trace_start(path), 0);

    struct fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, marks, NULL), 0);
    CHECK_EQ(sem_wait(&in_the_midst), 0);
    CHECK_EQ(fin_trace_stop(), 0);
    sem_post(&over);
    fin_thread_join_nc(&t);

    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    CHECK(n > 0 && (size_t)n < sizeof text - 1);
    CHECK_EQ(count(text, "\"name\":\"\""), 0);
    CHECK_EQ(count(text, "\"name\":\"whole\""), ROOM - 1);
    return 0;
}
