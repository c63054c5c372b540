// SPDX-License-Identifier: BSD-2-Clause
// Waits of the library that take several: in each the AWE waits with a continuation of ours, whose state begins with the
// address of a struct fin_kept, where the program's is kept. Ours are FIN_INNER: they lie in a section of their own, so who
// looks at the AWE (fin_cont_of, a report, a debugger) knows them, and shows the program's.
#ifndef FIN_CORE_KEPT_H
#define FIN_CORE_KEPT_H

#include <string.h>

#include <fin/cont.h>

struct fin_kept {
    fin_cont *cont; // it may be one of ours, too
    uint32_t size;
    char state[FIN_CONT_STATE] __attribute__((aligned(8)));
};

#define FIN_INNER __attribute__((section("fin_inner")))

// The linker's, for a section of that name. There is one in each program: thread.c.
extern const char __start_fin_inner[] __attribute__((visibility("hidden")));
extern const char __stop_fin_inner[] __attribute__((visibility("hidden")));

static inline bool fin_is_inner(const void *code) {
    return (uintptr_t)code - (uintptr_t)__start_fin_inner < (uintptr_t)__stop_fin_inner - (uintptr_t)__start_fin_inner;
}

// Upwards: what lies in the record itself lies higher. A call of memmove would cost more.
static inline void fin_copy_words(char *to, const void *state, size_t size) {
    typedef uint64_t __attribute__((may_alias, aligned(1))) word;
    for (size_t i = 0; i < size; i += sizeof(word)) {
        *(word *)(void *)&to[i] = *(const word *)(const void *)((const char *)state + i);
        __asm__ volatile("" : : : "memory");
    }
}

static inline void fin_copy_state(char *to, const void *state, size_t size) {
    size_t words = size & ~(sizeof(uint64_t) - 1);
    fin_copy_words(to, state, words);
    for (; words < size; words++)
        to[words] = ((const char *)state)[words];
}

static inline void fin_keep(struct fin_kept *k, fin_cont *cont, const void *state, size_t size) {
    k->cont = cont;
    k->size = (uint32_t)size;
    fin_copy_state(k->state, state, size);
}

#endif
