// SPDX-License-Identifier: BSD-2-Clause
// A program in which threads use the library on the memory of memory.hpp: what the scenario says, as often as asked for,
// each time with another order of steps and other messages read. docs/correctness.md has what it is good for.
#ifndef FIN_TESTS_WEAK_WEAK_H
#define FIN_TESTS_WEAK_WEAK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The threads last for all runs. `begin` and `end` are outside of a run: nothing is modelled there.
struct weak_scenario {
    int threads;                // at most 4
    void (*once)(int thread);   // in each thread, before all runs; or NULL
    void (*begin)(void);        // before each run; or NULL
    void (*thread)(int thread); // all at once
    void (*end)(void);          // looks at what came of it; or NULL
};
extern const struct weak_scenario weak_scenario;

void weak_fail(const char *file, int line, const char *what) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif

#define WEAK_CHECK(condition) ((condition) ? (void)0 : weak_fail(__FILE__, __LINE__, "not so: " #condition))

#endif
