// SPDX-License-Identifier: BSD-2-Clause
// What check-blocking.py has to report, each line so marked, and what not.
#include <fin.h>

static FIN_BLOCKING int ask(int fd) {
    char c;
    return fin_recv(fd, &c, 1, 0) == 1 ? c : -1;
}

static int ask_unmarked(int fd) {
    return ask(fd); // reported
}

int ask_both(int a, int b);
int ask_both(int a, int b) {
    fin_shared int sum = 0;
    fin_finish {
        fin_async { sum += ask(a); }; // reported
        sum += ask(b); // reported
    }
    return sum;
}

static void start(void (*fn)(void *), void *arg) {
    fin_finish {
        fin_async_call(fn, arg); // reported
        fin_async_eager_call(fn, arg); // reported
    }
}

// Not marked and not reported: does not call it.
static int (*pointer(void))(int) { return ask; }

static FIN_BLOCKING void nap(void) {
    fin_timeout(FIN_MS) { fin_sleep(2 * FIN_MS); }
    fin_yield();
}

FIN_BLOCKING void all(struct fin_mutex *m);
void all(struct fin_mutex *m) { // marked where it is declared
    fin_mutex_lock_nc(m);
    fin_mutex_unlock(m);
    nap();
}

void unlock(struct fin_mutex *m);
void unlock(struct fin_mutex *m) {
    if (fin_mutex_trylock(m) == 0)
        fin_mutex_unlock(m);
    else
        fin_mutex_lock_nc(m); // reported
}

int main(void) {
    start(NULL, NULL);
    return ask_unmarked(0) + (pointer() != NULL);
}
