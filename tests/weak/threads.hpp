// SPDX-License-Identifier: BSD-2-Clause
// One thread at a time runs; before each atomic access and each system call another may go on instead.
#ifndef FIN_TESTS_WEAK_THREADS_HPP
#define FIN_TESTS_WEAK_THREADS_HPP

#include "memory.hpp"

namespace weak {

extern thread_local int self; // -1: not in a run
extern Memory *memory;        // of this run

// What this program does for itself is not looked at. Nobody else goes on meanwhile.
extern bool inside;
struct Inside {
    Inside() { inside = true; }
    ~Inside() { inside = false; }
};

// The calling thread is about to do something that others can see; or to look once more where it has just looked, while
// nobody has stored anything: that is no place to let others go on, of which the few that matter would be lost among them.
void step(bool again = false);
void give_way(); // another one goes on, where one can
[[noreturn]] void fail(const char *what, const void *where);

} // namespace weak

#endif
