// SPDX-License-Identifier: BSD-2-Clause
#include "rows.h"

#if HAVE_LOCKFREE
#include <boost/lockfree/spsc_queue.hpp>

namespace {

struct message {
    char bytes[64];
};

boost::lockfree::spsc_queue<message, boost::lockfree::capacity<4096>> queue;

void push(void *n) {
    message m = {};
    for (long i = 0; i < *static_cast<long *>(n);)
        i += queue.push(m);
}

void pop(void *n) {
    message m = {};
    for (long i = 0; i < *static_cast<long *>(n);) {
        i += queue.pop(m);
        __asm__ volatile("" : : "r"(&m) : "memory"); // else the copy is left out: nobody reads it
    }
}

} // namespace

const bool have_lockfree = true;
double stream_lockfree(long n) { return two_sides(push, pop, &n, n); }
#else
const bool have_lockfree = false;
double stream_lockfree(long) { return 0; }
#endif
