// SPDX-License-Identifier: BSD-2-Clause
// aarch64: how the runtime continues at a site, and what it reads of one that FIN_ARCH_LAZY_ENTER_ or FIN_ARCH_EAGER_ENTER_
// left. Contracts: core/arch.h.
#ifndef FIN_ARCH_SITE_H
#define FIN_ARCH_SITE_H

#include <fin/finish.h>

// The jump goes through x16: with branch target identification it may then arrive at `bti j` and at the start of a function.
static inline __attribute__((always_inline)) void fin_arch_resume(const struct fin_context *c) {
    register const struct fin_context *x0 __asm__("x0") = c;
    __asm__ volatile(FIN_ARCH_NO_CALLER_ "ldp x16, x9, [x0]\n\t"
                                         "ldr x29, [x0, #16]\n\t"
                                         "mov sp, x9\n\t"
                                         "br x16\n" FIN_ARCH_CALLER_AGAIN_
                     :
                     : "r"(x0)
                     : "memory");
}

static inline __attribute__((always_inline)) void fin_arch_jump(void *ip, void *sp, void *fp, void *bx) {
    register void *x16 __asm__("x16") = ip;
    register void *x1 __asm__("x1") = sp;
    register void *x2 __asm__("x2") = fp;
    register void *x3 __asm__("x3") = bx;
    __asm__ volatile(FIN_ARCH_NO_CALLER_ "mov sp, x1\n\t"
                                         "mov x29, x2\n\t"
                                         "mov x19, x3\n\t"
                                         "br x16\n" FIN_ARCH_CALLER_AGAIN_
                     :
                     : "r"(x16), "r"(x1), "r"(x2), "r"(x3)
                     : "memory");
}

static inline __attribute__((always_inline)) void fin_arch_on_stack(void *top, void (*fn)(void *), void *arg) {
    register void *x0 __asm__("x0") = arg;
    register void *x9 __asm__("x9") = top;
    register void (*x16)(void *) __asm__("x16") = fn;
    __asm__ volatile(FIN_ARCH_NO_CALLER_ "mov sp, x9\n\t"
                                         "mov x29, xzr\n\t"
                                         "mov x30, xzr\n\t"
                                         "br x16\n" FIN_ARCH_CALLER_AGAIN_
                     :
                     : "r"(x0), "r"(x9), "r"(x16)
                     : "memory");
    __builtin_unreachable();
}

#define FIN_ARCH_SWITCH_(from_, to_)                                                                                        \
    do {                                                                                                                    \
        void *fin_0_ = (void *)(from_), *fin_1_ = (void *)(to_);                                                            \
        FIN_ARCH_REG_(0, fin_0_);                                                                                           \
        FIN_ARCH_REG_(1, fin_1_);                                                                                           \
        __asm__ volatile("adr x30, 1f\n\t"                                                                                  \
                         "mov x9, sp\n\t"                                                                                   \
                         "stp x30, x9, [x0]\n\t"                                                                            \
                         "str x29, [x0, #16]\n\t"                                                                           \
                         "str x19, [x0, %c[abx]]\n\t"                                                                       \
                         "mov x0, x1\n\t" FIN_ARCH_NO_CALLER_                                                               \
                         "ldp x16, x9, [x0]\n\t"                                                                            \
                         "ldr x29, [x0, #16]\n\t"                                                                           \
                         "mov sp, x9\n\t"                                                                                   \
                         "br x16\n" FIN_ARCH_CALLER_AGAIN_ "nop\n"                                                          \
                         "1:\t" FIN_ARCH_LANDING_ "ldr x19, [x0, %c[abx]]"                                                  \
                         : "+r"(fin_x0_), "+r"(fin_x1_)                                                                     \
                         : [abx] "i"(offsetof(struct fin_awe, bx))                                                          \
                         : "x2", "x3", FIN_ARCH_CLOBBERS_);                                                                 \
    } while (0)

#define FIN_ARCH_RETURNS_BY_JUMP

static inline void *fin_arch_site(const struct fin_body *body) { return body->resume; }

#endif
