// SPDX-License-Identifier: BSD-2-Clause
// A process forks while another thread is in the midst of changing the list of all ends: in the child nobody has the list's
// latch, and it is whole. (The file is compiled here, in place of the library's.)
#include "chan/trace.c"

#include "process.h"

static struct fin_chan end_of[3];

static int in_list(void) {
    int n = 0;
    for (struct fin_link *l = ends.next; l != &ends; l = l->next)
        n++;
    return n;
}

// As the thread leaves it; `there` is what it ends with in the child.
static void fork_now(int there) {
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        CHECK_EQ(in_list(), there);
        fin_chan_trace_remove(&end_of[1]); // behind the one that the thread is at
        CHECK_EQ(in_list(), there - 1);
        fin_chan_trace_remove(&end_of[0]);
        CHECK_EQ(in_list(), there - 2);
        _exit(0);
    }
    ended_well(child);
}

int main(void) {
    for (int i = 0; i < 2; i++)
        CHECK_EQ(fin_chan_trace_add(&end_of[i]), 0);
    struct fin_link *l = &end_of[2].link;

    fin_latch_acquire(&changes);
    *l = (struct fin_link){.next = ends.next, .prev = &ends};
    fork_now(2);
    ends.next = l; // the store that puts it in, of two
    fork_now(3);
    l->next->prev = l;

    ends.next = l->next; // the one that takes it out, of two
    fork_now(2);
    l->next->prev = l->prev;
    fin_latch_release(&changes);
    CHECK_EQ(in_list(), 2);
    return 0;
}
