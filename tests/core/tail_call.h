// SPDX-License-Identifier: BSD-2-Clause
// A function that ends with a call, which an optimizing compiler makes a jump: some debuggers show it all the same. It has a
// file of its own, as gdb.py does not look for its frame.
static void waits_in_a_tail_call(struct fin_awe **slot);
static unsigned tail_calls;

static void __attribute__((noinline)) ends_with_a_call(struct fin_awe **slot) {
    tail_calls++;
    waits_in_a_tail_call(slot);
}
