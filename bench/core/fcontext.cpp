// SPDX-License-Identifier: BSD-2-Clause
// Boost.Context's bare fcontext: what a stack switch without any runtime costs.
#include "rows.h"

#if HAVE_FCONTEXT
#include <boost/context/detail/fcontext.hpp>

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

constexpr std::size_t stack_size = 64 * 1024;
alignas(64) static char stack[stack_size];

static void *top() { return stack + stack_size; }

// Goes back to whoever resumes it, for ever.
static void returns(transfer_t t) {
    for (;;)
        t = jump_fcontext(t.fctx, nullptr);
}

double fcontext_two(long n) {
    transfer_t t = {make_fcontext(top(), stack_size, returns), nullptr};
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i += 2)
        t = jump_fcontext(t.fctx, nullptr);
    return bench_since(start, static_cast<double>(n));
}

// Create, there and back, destroy: the stack is at hand, and there is nothing to destroy.
double fcontext_create_2(long n) {
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++)
        jump_fcontext(make_fcontext(top(), stack_size, returns), nullptr);
    return bench_since(start, static_cast<double>(n));
}

// The same with a yield between: there, back, there, back.
double fcontext_create_4(long n) {
    uint64_t start = bench_ticks();
    for (long i = 0; i < n; i++) {
        transfer_t t = jump_fcontext(make_fcontext(top(), stack_size, returns), nullptr);
        jump_fcontext(t.fctx, nullptr);
    }
    return bench_since(start, static_cast<double>(n));
}

extern const bool have_fcontext = true;
#else
double fcontext_two(long) { return 0; }
double fcontext_create_2(long) { return 0; }
double fcontext_create_4(long) { return 0; }
extern const bool have_fcontext = false;
#endif
