// SPDX-License-Identifier: BSD-2-Clause
// A library that is linked to lie at an address of its own, though it is loaded elsewhere.
void crashes_in_library(void *at);

static void __attribute__((noinline)) writes_in_library(int *volatile at) {
    *at = 1;
    __asm__ volatile("" : : : "memory");
}

void crashes_in_library(void *at) {
    writes_in_library(at);
    __asm__ volatile("" : : : "memory");
}
