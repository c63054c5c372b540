// SPDX-License-Identifier: BSD-2-Clause
// A cancel reaches blocks that are nested deeper than a stack has room for: a task starts a task in a block of its own, and
// so on. Whoever cancels, with a small stack, needs no more of it than for one block.
#include <errno.h>

#include <fin.h>

#include "check.h"
#include "valgrind.h"

static long deep, cancelled, last = -1;

static FIN_BLOCKING void level(void *depth) {
    long n = (long)depth;
    fin_finish {
        if (n < deep)
            fin_async_eager_call(level, (void *)(n + 1));
        cancelled += fin_sem_wait(&(struct fin_sem)FIN_SEM_INIT(0)) == -ECANCELED;
        CHECK_EQ(n, last + 1); // a wait that began later ends first
        last = n;
    }
}

int main(void) {
    deep = RUNNING_ON_VALGRIND ? 2500 : 5000; // it looks through a list of all stacks at each change
    fin_finish_as(all) {
        fin_async_eager_call(level, NULL);
        fin_async_eager { fin_cancel_as(all); };
    }
    CHECK_EQ(cancelled, deep + 1);
    return 0;
}
