// SPDX-License-Identifier: BSD-2-Clause
// x86-64: how the runtime continues at a site, and what it reads of one that FIN_ARCH_LAZY_ENTER_ or FIN_ARCH_EAGER_ENTER_
// left. Contracts: core/arch.h.
#ifndef FIN_ARCH_SITE_H
#define FIN_ARCH_SITE_H

#include <fin/finish.h>

static inline __attribute__((always_inline)) void fin_arch_resume(const struct fin_context *c) {
    __asm__ volatile(FIN_ARCH_NO_CALLER_ "movq 8(%0), %%rsp\n\t"
                                         "movq 16(%0), %%rbp\n\t"
                                         "jmp *(%0)\n" FIN_ARCH_CALLER_AGAIN_
                     :
                     : "D"(c)
                     : "memory");
}

static inline __attribute__((always_inline)) void fin_arch_jump(void *ip, void *sp, void *fp, void *bx) {
    __asm__ volatile(FIN_ARCH_NO_CALLER_ "movq %1, %%rsp\n\t"
                                         "movq %2, %%rbp\n\t"
                                         "movq %3, %%rbx\n\t"
                                         "jmp *%0\n" FIN_ARCH_CALLER_AGAIN_
                     :
                     : "D"(ip), "S"(sp), "d"(fp), "c"(bx)
                     : "memory");
}

static inline __attribute__((always_inline)) void fin_arch_on_stack(void *top, void (*fn)(void *), void *arg) {
    __asm__ volatile(FIN_ARCH_NO_CALLER_ "leaq -8(%0), %%rsp\n\t"
                                         "xorl %%ebp, %%ebp\n\t"
                                         "movq %%rbp, (%%rsp)\n\t"
                                         "jmp *%1\n" FIN_ARCH_CALLER_AGAIN_
                     :
                     : "a"(top), "c"(fn), "D"(arg)
                     : "memory");
    __builtin_unreachable();
}

#define FIN_ARCH_SWITCH_(from_, to_)                                                                                        \
    do {                                                                                                                    \
        void *fin_di_ = (void *)(from_), *fin_si_ = (void *)(to_);                                                          \
        __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"                                                                        \
                         "movq %%rax, (%%rdi)\n\t"                                                                          \
                         "movq %%rsp, 8(%%rdi)\n\t"                                                                         \
                         "movq %%rbp, 16(%%rdi)\n\t" FIN_ARCH_KEEP_BX_(abx) "movq %%rsi, %%rdi\n\t" FIN_ARCH_NO_CALLER_     \
                         "movq 8(%%rdi), %%rsp\n\t"                                                                         \
                         "movq 16(%%rdi), %%rbp\n\t"                                                                        \
                         "jmp *(%%rdi)\n" FIN_ARCH_CALLER_AGAIN_ "nop\n1:\t" FIN_ARCH_BACK_BX_(abx)                         \
                         : "+D"(fin_di_), "+S"(fin_si_)                                                                     \
                         : [abx] "i"(offsetof(struct fin_awe, bx))                                                          \
                         : FIN_ARCH_CLOBBER_BX_ "rax", "rdx", "rcx", FIN_ARCH_CLOBBERS_);                                   \
    } while (0)

// See core/arch.h. Compilers refuse it where a shadow stack checks returns.
#if defined(__has_attribute) && !(defined(__CET__) && __CET__ & 2)
#if __has_attribute(function_return)
#define FIN_ARCH_RETURNS_BY_JUMP __attribute__((function_return("thunk-extern")))
#endif
#endif
#ifndef FIN_ARCH_RETURNS_BY_JUMP
#define FIN_ARCH_RETURNS_BY_JUMP
#endif

// The call of the body left its return address below the struct fin_body; of one in place the site says it in `resume`.
static inline void *fin_arch_site(const struct fin_body *body) {
    return body->entry == NULL ? body->resume : ((void *const *)body)[-1];
}

#endif
