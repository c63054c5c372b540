// SPDX-License-Identifier: BSD-2-Clause
// In place of src/arch/*/rtm.h: transactions for a processor that has none. What a transaction stores is undone by an abort,
// as far as the test names it (`state`), and the registers are as they were at its begin. A real one is aborted by the
// other side's store; this one looks where its code calls transaction_point().
#ifndef FIN_ARCH_RTM_H
#define FIN_ARCH_RTM_H

#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#define FIN_RTM_STARTED (~0u)
#define FIN_RTM_CONFLICT (1u << 2)

static struct {
    jmp_buf begin;
    bool active;
    char before[64];
    void *state;
    size_t size;
    unsigned begun, aborted, committed;
    unsigned status;        // of an abort: what fin_rtm_begin returns
    void (*at_begin)(void); // before it starts: another thread has done something
    bool (*conflict)(void); // is it to abort now?
} rtm;

static inline bool fin_rtm_works(void) { return true; }

static inline void transaction_abort(unsigned status) {
    rtm.status = status;
    memcpy(rtm.state, rtm.before, rtm.size);
    rtm.active = false;
    rtm.aborted++;
    longjmp(rtm.begin, 1);
}

static inline void transaction_begin(void) {
    if (rtm.at_begin)
        rtm.at_begin();
    memcpy(rtm.before, rtm.state, rtm.size);
    rtm.active = true;
    rtm.begun++;
}

static inline void transaction_point(void) {
    if (rtm.active && rtm.conflict && rtm.conflict())
        transaction_abort(FIN_RTM_CONFLICT);
}

#define fin_rtm_begin() (transaction_begin(), setjmp(rtm.begin) == 0 ? FIN_RTM_STARTED : rtm.status)
#define fin_rtm_abort() transaction_abort(0)
#define fin_rtm_commit() ((void)(rtm.active = false, rtm.committed++))

#endif
