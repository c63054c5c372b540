// SPDX-License-Identifier: BSD-2-Clause
// No wake-up is lost between two threads.
#include "talk.h"

static void other_thread(void *end) { talk(end, false, 5); }

static void with_thread(enum kind kind) {
    struct fin_thread_handle t;
    open_kind(kind, 4096, 0);
    CHECK_EQ(fin_thread_start(&t, other_thread, b), 0);
    talk(a, true, 9);
    CHECK_EQ(fin_thread_join(&t), 0);
    close_both();
}

int main(void) {
    rounds = few(20000);
    with_thread(PAIR);
    with_thread(SOCKET);
    return 0;
}
