// SPDX-License-Identifier: BSD-2-Clause
// aarch64: the call sites at which execution may leave a function and come back on another stack.
// Each site declares every register clobbered except sp, x29 and x19, which it saves: so that it can be continued from
// those three and an instruction pointer. x86_64.h holds the same macros and explains them at length.
#ifndef FIN_ARCH_H
#define FIN_ARCH_H

// x18 is a scratch register of the Linux ABI, except where it is set aside for the platform: then no compiler uses it.
#if defined(__ANDROID__)
#define FIN_ARCH_CLOBBER_18_
#else
#define FIN_ARCH_CLOBBER_18_ "x18",
#endif
#if defined(__ARM_FEATURE_SVE)
#define FIN_ARCH_CLOBBER_SVE_                                                                                               \
    , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15"
#else
#define FIN_ARCH_CLOBBER_SVE_
#endif
// What every site clobbers beside x0 to x3. A v register stands for all that shares its bits.
#define FIN_ARCH_CLOBBERS_                                                                                                  \
    "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", FIN_ARCH_CLOBBER_18_ "x20", \
        "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7",      \
        "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",       \
        "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory" FIN_ARCH_CLOBBER_SVE_

// Notes the frame pointer of the function in a field of its finish block.
#define FIN_ARCH_NOTE_FRAME_(field) __asm__ volatile("str x29, %0" : "=m"(field))

// fp and bx, ip and sp lie side by side: they are stored in pairs.
#define FIN_ARCH_OFFSETS_                                                                                                   \
    [pending] "i"(offsetof(struct fin_finish_block, pending)), [fp] "i"(offsetof(struct fin_finish_block, fp)),             \
        [ip] "i"(offsetof(struct fin_finish_block, awe.context.ip)),                                                        \
        [sp] "i"(offsetof(struct fin_finish_block, awe.context.sp)),                                                        \
        [cfp] "i"(offsetof(struct fin_finish_block, awe.context.fp)), [cbx] "i"(offsetof(struct fin_finish_block, awe.bx))

// Where an indirect jump arrives: `bti j`, where the program is built for branch target identification.
#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define FIN_ARCH_LANDING_ "hint #36\n\t"
#else
#define FIN_ARCH_LANDING_
#endif

// Forces the function to address its locals through its frame pointer: a function with an alloca must, whatever the flags.
#define FIN_ARCH_FRAME_POINTER_()                                                                                           \
    (__extension__({                                                                                                        \
        __label__ fin_never_;                                                                                               \
        __asm__ goto("" : : : : fin_never_);                                                                                \
        if (0) {                                                                                                            \
        fin_never_:;                                                                                                        \
            size_t fin_opaque_;                                                                                             \
            __asm__ volatile("" : "=r"(fin_opaque_));                                                                       \
            __asm__ volatile("" : : "r"(__builtin_alloca(fin_opaque_)) : "memory");                                         \
        }                                                                                                                   \
    }))

// Arguments are evaluated before any of them is put in its register: a call among them would destroy the others.
#define FIN_ARCH_REG_(n, value) register void *fin_x##n##_ __asm__("x" #n) = (value)

// Between the two the stack pointer is not what the function's unwinding tables say: backtraces, which profilers take in
// handlers of signals, end there. Where an AWE is resumed behind them, an instruction that nobody reaches comes first:
// debuggers look at the one before that which a callee returns to. The macro says that this compilation has tables; but for
// C with -fexceptions and without asynchronous tables, where Clang has them for some functions only.
#if defined(__GCC_HAVE_DWARF2_CFI_ASM) && (!defined(__clang__) || defined(__cplusplus) || !defined(__EXCEPTIONS))
#define FIN_ARCH_NO_CALLER_ ".cfi_remember_state\n\t.cfi_undefined x30\n\t"
#define FIN_ARCH_CALLER_AGAIN_ ".cfi_restore_state\n"
#else
#define FIN_ARCH_NO_CALLER_
#define FIN_ARCH_CALLER_AGAIN_
#endif

// Leaves the running AWE: its context goes to `awe`, then entry(awe, a, b, c) runs below it on the same stack, never
// returns, and may look at nothing of the frame; its return address is null, where backtraces end. Execution continues after
// the statement when the AWE is resumed. Between them lies room for a struct fin_body: fin_finish_wait_ gives the owner's
// stack back, and it may be the very next to be taken, for the owner of an outer block.
#define FIN_ARCH_BLOCK_(entry, awe_, a_, b_, c_)                                                                            \
    do {                                                                                                                    \
        void *fin_0_ = (void *)(awe_), *fin_1_ = (void *)(a_), *fin_2_ = (void *)(b_), *fin_3_ = (void *)(c_);              \
        FIN_ARCH_REG_(0, fin_0_);                                                                                           \
        FIN_ARCH_REG_(1, fin_1_);                                                                                           \
        FIN_ARCH_REG_(2, fin_2_);                                                                                           \
        FIN_ARCH_REG_(3, fin_3_);                                                                                           \
        __asm__ volatile("adr x10, 1f\n\t"                                                                                  \
                         "mov x9, sp\n\t"                                                                                   \
                         "stp x10, x9, [x0]\n\t"                                                                            \
                         "str x29, [x0, #16]\n\t"                                                                           \
                         "str x19, [x0, %c[abx]]\n\t" FIN_ARCH_NO_CALLER_                                                   \
                         "mov x30, xzr\n\t"                                                                                 \
                         "sub sp, sp, #48\n\t"                                                                              \
                         "b " #entry "\n" FIN_ARCH_CALLER_AGAIN_ "nop\n"                                                    \
                         "1:\t" FIN_ARCH_LANDING_ "ldr x19, [x0, %c[abx]]"                                                  \
                         : "+r"(fin_x0_), "+r"(fin_x1_), "+r"(fin_x2_), "+r"(fin_x3_)                                       \
                         : [abx] "i"(offsetof(struct fin_awe, bx))                                                          \
                         : FIN_ARCH_CLOBBERS_);                                                                             \
    } while (0)

// The lazy async (ac 4.1), see x86_64.h. On the stack: struct fin_body {block, entry, name, resume}. There is no return
// address on the stack, so `resume` says where the owner goes on when the body blocks.
#define FIN_ARCH_LAZY_ENTER_(entry)                                                                                         \
    "sub sp, sp, #48\n\t"                                                                                                   \
    "adr x9, 2f\n\t"                                                                                                        \
    "mov x10, sp\n\t"                                                                                                       \
    "stp x0, " entry ", [sp]\n\t"                                                                                           \
    "str x9, [sp, #24]\n\t"                                                                                                 \
    "str x10, [x0, %c[pending]]\n\t"                                                                                        \
    "stp x29, x19, [x0, %c[fp]]\n\t"
// Not through a PLT, whose first use would write below the stack pointer: there may lie the frame of a body that has ended
// and is still used (keep_outer_body).
#define FIN_ARCH_LEAVE_                                                                                                     \
    "ldr x0, [sp]\n\t"                                                                                                      \
    "ldr x9, [x0, %c[pending]]\n\t"                                                                                         \
    "cmp sp, x9\n\t"                                                                                                        \
    "b.eq 3f\n\t"                                                                                                           \
    "adrp x9, :got:fin_async_done_\n\t"                                                                                    \
    "ldr x16, [x9, :got_lo12:fin_async_done_]\n\t"                                                                         \
    "br x16\n"                                                                                                   \
    "3:\t"
#define FIN_ARCH_LAZY_LEAVE_                                                                                                \
    "2:\t" FIN_ARCH_LANDING_ FIN_ARCH_LEAVE_ "str xzr, [x0, %c[pending]]\n\t"                                               \
    "add sp, sp, #48\n\t"

// The site may end on another stack. The label after it keeps Clang from reading the stack pointer, for the next alloca in
// the function, own or inlined, before the site.
#define FIN_ARCH_LAZY_CALLS_(call, block_, via_, fn_, arg_)                                                                 \
    do {                                                                                                                    \
        __label__ fin_after_;                                                                                               \
        void *fin_0_ = (void *)(block_), *fin_1_ = (void *)(arg_), *fin_2_ = (void *)(fn_), *fin_3_ = (void *)(via_);       \
        FIN_ARCH_REG_(0, fin_0_);                                                                                           \
        FIN_ARCH_REG_(1, fin_1_);                                                                                           \
        FIN_ARCH_REG_(2, fin_2_);                                                                                           \
        FIN_ARCH_REG_(3, fin_3_);                                                                                           \
        __asm__ volatile goto(FIN_ARCH_LAZY_ENTER_("x2") "mov x0, x1\n\t" call "\n" FIN_ARCH_LAZY_LEAVE_                    \
                              : "+r"(fin_x0_), "+r"(fin_x1_), "+r"(fin_x2_), "+r"(fin_x3_)                                  \
                              : FIN_ARCH_OFFSETS_                                                                           \
                              : FIN_ARCH_CLOBBERS_                                                                          \
                              : fin_after_);                                                                                \
    fin_after_:;                                                                                                            \
    } while (0)
#define FIN_ARCH_LAZY_CALL_(block, fn, arg) FIN_ARCH_LAZY_CALLS_("blr x2", block, fin_any_(), fn, arg)
// The body is fn, and via(arg, fn) is called.
#define FIN_ARCH_LAZY_VIA_(block, via, fn, arg) FIN_ARCH_LAZY_CALLS_("mov x1, x2\n\tblr x3", block, via, fn, arg)

// The statement of a FIN_ARCH_..._HERE_ is reached by a call and calls others itself: it returns through fin_body.resume.
#define FIN_ARCH_RETURN_()                                                                                                  \
    do {                                                                                                                    \
        __asm__ volatile("ldr x30, [sp, #24]\n\tret");                                                                      \
        __builtin_unreachable();                                                                                            \
    } while (0)

// The same for a body that can only be called by name (a GNU C nested function, whose address would need a trampoline): the
// call in the asm goes to the compiled statement that follows it, and that statement ends in the return of this call.
#define FIN_ARCH_LAZY_HERE_(block_, ...)                                                                                    \
    do {                                                                                                                    \
        __label__ fin_after_;                                                                                               \
        void *fin_0_ = (void *)(block_);                                                                                    \
        FIN_ARCH_REG_(0, fin_0_);                                                                                           \
        __asm__ volatile goto(FIN_ARCH_LAZY_ENTER_("xzr") "bl 1f\n" FIN_ARCH_LAZY_LEAVE_ "b %l[fin_after_]\n"               \
                                                          "1:"                                                              \
                              : "+r"(fin_x0_)                                                                               \
                              : FIN_ARCH_OFFSETS_                                                                           \
                              : "x1", "x2", "x3", FIN_ARCH_CLOBBERS_                                                        \
                              : fin_after_);                                                                                \
        __VA_ARGS__;                                                                                                        \
        FIN_ARCH_RETURN_();                                                                                                 \
    fin_after_:;                                                                                                            \
    } while (0)

// The eager async: the body runs on a spare stack from the start; `top` is the pseudo-block at its top, which keeps the
// caller's context. Execution goes on at one of two labels: the body ended and never blocked, or it blocked and the runtime
// continued the caller.
#define FIN_ARCH_EAGER_ENTER_(entry)                                                                                        \
    "adr x9, 2f\n\t"                                                                                                        \
    "mov x10, sp\n\t"                                                                                                       \
    "stp x9, x10, [x0, %c[ip]]\n\t"                                                                                         \
    "str x29, [x0, %c[cfp]]\n\t"                                                                                            \
    "str x19, [x0, %c[cbx]]\n\t"                                                                                            \
    "sub sp, x0, #48\n\t"                                                                                                   \
    "adr x9, 4f\n\t"                                                                                                        \
    "mov x10, sp\n\t"                                                                                                       \
    "stp x0, " entry ", [sp]\n\t"                                                                                           \
    "str x9, [sp, #24]\n\t"                                                                                                 \
    "str x10, [x0, %c[pending]]\n\t"
#define FIN_ARCH_EAGER_LEAVE_                                                                                               \
    "4:\t" FIN_ARCH_LANDING_ FIN_ARCH_LEAVE_ "ldr x9, [x0, %c[sp]]\n\t"                                                     \
    "mov sp, x9\n\t"                                                                                                        \
    "b %l[fin_ended_]\n"                                                                                                    \
    "2:\t" FIN_ARCH_LANDING_ "b %l[fin_blocked_]\n"

#define FIN_ARCH_EAGER_CALL_(top_, fn_, arg_)                                                                               \
    do {                                                                                                                    \
        __label__ fin_ended_, fin_blocked_;                                                                                 \
        struct fin_finish_block *fin_top_ = (top_);                                                                         \
        void *fin_1_ = (void *)(arg_), *fin_2_ = (void *)(fn_);                                                             \
        FIN_ARCH_REG_(0, fin_top_);                                                                                         \
        FIN_ARCH_REG_(1, fin_1_);                                                                                           \
        FIN_ARCH_REG_(2, fin_2_);                                                                                           \
        __asm__ volatile goto(FIN_ARCH_EAGER_ENTER_("x2") "mov x0, x1\n\t"                                                  \
                                                          "blr x2\n" FIN_ARCH_EAGER_LEAVE_                                  \
                              : "+r"(fin_x0_), "+r"(fin_x1_), "+r"(fin_x2_)                                                 \
                              : FIN_ARCH_OFFSETS_                                                                           \
                              : "x3", FIN_ARCH_CLOBBERS_                                                                    \
                              : fin_ended_, fin_blocked_);                                                                  \
        __builtin_unreachable();                                                                                            \
    fin_ended_:                                                                                                             \
        fin_eager_end_(fin_top_);                                                                                           \
    fin_blocked_:;                                                                                                          \
    } while (0)

#define FIN_ARCH_EAGER_HERE_(top_, ...)                                                                                     \
    do {                                                                                                                    \
        __label__ fin_ended_, fin_blocked_;                                                                                 \
        struct fin_finish_block *fin_top_ = (top_);                                                                         \
        FIN_ARCH_REG_(0, fin_top_);                                                                                         \
        __asm__ volatile goto(FIN_ARCH_EAGER_ENTER_("xzr") "bl 1f\n" FIN_ARCH_EAGER_LEAVE_ "1:"                             \
                              : "+r"(fin_x0_)                                                                               \
                              : FIN_ARCH_OFFSETS_                                                                           \
                              : "x1", "x2", "x3", FIN_ARCH_CLOBBERS_                                                        \
                              : fin_ended_, fin_blocked_);                                                                  \
        __VA_ARGS__;                                                                                                        \
        FIN_ARCH_RETURN_();                                                                                                 \
    fin_ended_:                                                                                                             \
        fin_eager_end_(fin_top_);                                                                                           \
    fin_blocked_:;                                                                                                          \
    } while (0)

#endif
