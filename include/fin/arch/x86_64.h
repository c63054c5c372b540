// SPDX-License-Identifier: BSD-2-Clause
// x86-64: the call sites at which execution may leave a function and come back on another stack.
// Each site declares every register clobbered except rsp, rbp and rbx, which it saves: so that it can be continued from
// those three and an instruction pointer. aarch64.h holds the same macros.
#ifndef FIN_ARCH_H
#define FIN_ARCH_H

#if defined(__AVX512F__)
#define FIN_ARCH_CLOBBER_512_                                                                                               \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28",  \
        "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define FIN_ARCH_CLOBBER_512_
#endif
#if defined(__APX_F__) || defined(__EGPR__)
#define FIN_ARCH_CLOBBER_APX_                                                                                               \
    , "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27", "r28", "r29", "r30", "r31"
#else
#define FIN_ARCH_CLOBBER_APX_
#endif
// What every site clobbers beside rax, rdi, rsi, rdx and rcx.
#define FIN_ARCH_CLOBBERS_                                                                                                  \
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",   \
        "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)",     \
        "st(5)", "st(6)", "st(7)", "cc", "memory" FIN_ARCH_CLOBBER_512_ FIN_ARCH_CLOBBER_APX_

// Clang may keep the base pointer of a frame in rbx: the sites save it and put it back. GCC does not, and may lose it.
// A lazy async may end on another stack. Clang must hear that the stack pointer changed, or it reuses a saved one for the
// next alloca in the function, own or inlined. GCC would put the old value back, and reloads it anyway.
#ifdef __clang__
#define FIN_ARCH_KEEP_BX_(field) "movq %%rbx, %c[" #field "](%%rdi)\n\t"
#define FIN_ARCH_BACK_BX_(field) "movq %c[" #field "](%%rdi), %%rbx\n\t"
#define FIN_ARCH_CLOBBER_BX_
#define FIN_ARCH_LAZY_CLOBBERS_ "rsp", "rcx", FIN_ARCH_CLOBBERS_
// With -fstack-clash-protection Clang warns of each assembly that clobbers it. These take 48 bytes, and write to them.
#define FIN_ARCH_SP_CLOBBERED_(...)                                                                                         \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wstack-protector\"") __VA_ARGS__                  \
        _Pragma("clang diagnostic pop")
#else
#define FIN_ARCH_KEEP_BX_(field)
#define FIN_ARCH_BACK_BX_(field)
#define FIN_ARCH_CLOBBER_BX_ "rbx",
#define FIN_ARCH_LAZY_CLOBBERS_ "rbx", "rcx", FIN_ARCH_CLOBBERS_
#define FIN_ARCH_SP_CLOBBERED_(...) __VA_ARGS__
#endif

// Notes the frame pointer of the function in a field of its finish block.
#define FIN_ARCH_NOTE_FRAME_(field) __asm__ volatile("movq %%rbp, %0" : "=m"(field))

#define FIN_ARCH_OFFSETS_                                                                                                   \
    [pending] "i"(offsetof(struct fin_finish_block, pending)), [bx] "i"(offsetof(struct fin_finish_block, bx)),             \
        [ip] "i"(offsetof(struct fin_finish_block, awe.context.ip)),                                                        \
        [sp] "i"(offsetof(struct fin_finish_block, awe.context.sp)),                                                        \
        [cfp] "i"(offsetof(struct fin_finish_block, awe.context.fp)), [cbx] "i"(offsetof(struct fin_finish_block, awe.bx))

// Forces the function to address its locals through its frame pointer: a function with an alloca must, whatever the flags.
// The alloca is never executed and its size is opaque, so that no compiler can fold it. No instruction is emitted here.
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

// Between the two the stack pointer is not what the function's unwinding tables say: backtraces, which profilers take in
// handlers of signals, end there. Where an AWE is resumed behind them, an instruction that nobody reaches comes first:
// debuggers look at the one before that which a callee returns to. The macro says that this compilation has tables; but for
// C with -fexceptions and without asynchronous tables, where Clang has them for some functions only.
#if defined(__GCC_HAVE_DWARF2_CFI_ASM) && (!defined(__clang__) || defined(__cplusplus) || !defined(__EXCEPTIONS))
#define FIN_ARCH_NO_CALLER_ ".cfi_remember_state\n\t.cfi_undefined rip\n\t"
#define FIN_ARCH_CALLER_AGAIN_ ".cfi_restore_state\n"
#else
#define FIN_ARCH_NO_CALLER_
#define FIN_ARCH_CALLER_AGAIN_
#endif

// Leaves the running AWE: its context goes to `awe`, then entry(awe, a, b, c) runs below it on the same stack, never
// returns, and may look at nothing of the frame; its return address is null, where backtraces end. Execution continues after
// the statement when the AWE is resumed, with `awe` in rdi. The red zone is kept; so is room for a struct fin_body:
// fin_finish_wait_ gives the owner's stack back, and it may be the very next to be taken.
#define FIN_ARCH_BLOCK_(entry, awe_, a_, b_, c_)                                                                            \
    do {                                                                                                                    \
        void *fin_di_ = (void *)(awe_), *fin_si_ = (void *)(a_), *fin_dx_ = (void *)(b_), *fin_cx_ = (void *)(c_);          \
        __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"                                                                        \
                         "movq %%rax, (%%rdi)\n\t"                                                                          \
                         "movq %%rsp, 8(%%rdi)\n\t"                                                                         \
                         "movq %%rbp, 16(%%rdi)\n\t" FIN_ARCH_KEEP_BX_(abx) FIN_ARCH_NO_CALLER_                             \
                         "andq $-16, %%rsp\n\t"                                                                             \
                         "subq $128, %%rsp\n\t"                                                                             \
                         "pushq $0\n\t"                                                                                     \
                         "jmp *" #entry "@GOTPCREL(%%rip)\n" FIN_ARCH_CALLER_AGAIN_ "nop\n1:\t" FIN_ARCH_BACK_BX_(abx)      \
                         : "+D"(fin_di_), "+S"(fin_si_), "+d"(fin_dx_), "+c"(fin_cx_)                                       \
                         : [abx] "i"(offsetof(struct fin_awe, bx))                                                          \
                         : FIN_ARCH_CLOBBER_BX_ "rax", FIN_ARCH_CLOBBERS_);                                                 \
    } while (0)

// The lazy async (ac 4.1): the body runs on the stack of its owner. Before the call the block notes the stack pointer and
// the owner's registers. When the body comes back and the note still stands, it never blocked. If it did block, the runtime
// has cleared the note, the owner has gone on elsewhere (entering at the return address, on a fresh stack, with a note that
// fits), and this stack belongs to the body that just ended.
// On the stack: struct fin_body, of which block and entry are written, then the return address.
#define FIN_ARCH_LAZY_ENTER_                                                                                                \
    "subq $48, %%rsp\n\t"                                                                                                   \
    "movq %%rdi, (%%rsp)\n\t"                                                                                               \
    "movq %%rax, 8(%%rsp)\n\t" FIN_ARCH_KEEP_BX_(bx) "movq %%rsp, %c[pending](%%rdi)\n\t"
// Out of line: the way to fin_async_done_, not through a PLT, whose first use would write below the stack pointer: there may
// lie the frame of a body that has ended and is still used (keep_outer_body).
#define FIN_ARCH_DONE_                                                                                                      \
    ".subsection 1\n"                                                                                                       \
    "8:\tjmp *fin_async_done_@GOTPCREL(%%rip)\n\t"                                                                          \
    ".subsection 0\n\t"

#define FIN_ARCH_LAZY_LEAVE_                                                                                                \
    "movq (%%rsp), %%rdi\n\t"                                                                                               \
    "cmpq %%rsp, %c[pending](%%rdi)\n\t"                                                                                    \
    "jne 8f\n\t" FIN_ARCH_DONE_                                                                                           \
    "movq $0, %c[pending](%%rdi)\n\t"                                                                                       \
    "addq $48, %%rsp\n\t"

#define FIN_ARCH_LAZY_CALLS_(call, block_, via_, fn_, arg_)                                                                 \
    do {                                                                                                                    \
        void *fin_di_ = (void *)(block_), *fin_si_ = (void *)(arg_), *fin_ax_ = (void *)(fn_), *fin_dx_ = (void *)(via_);   \
        FIN_ARCH_SP_CLOBBERED_(__asm__ volatile(FIN_ARCH_LAZY_ENTER_                                                        \
                                                "movq %%rsi, %%rdi\n\t" call "\n\t" FIN_ARCH_LAZY_LEAVE_                   \
                                                : "+D"(fin_di_), "+S"(fin_si_), "+a"(fin_ax_), "+d"(fin_dx_)                \
                                                : FIN_ARCH_OFFSETS_                                                         \
                                                : FIN_ARCH_LAZY_CLOBBERS_);)                                                \
    } while (0)
#define FIN_ARCH_LAZY_CALL_(block, fn, arg) FIN_ARCH_LAZY_CALLS_("call *%%rax", block, fin_any_(), fn, arg)
// The body is fn, and via(arg, fn) is called.
#define FIN_ARCH_LAZY_VIA_(block, via, fn, arg)                                                                             \
    FIN_ARCH_LAZY_CALLS_("movq %%rax, %%rsi\n\tcall *%%rdx", block, via, fn, arg)

// The same for a body that can only be called by name (a GNU C nested function, whose address would need a trampoline). The
// compiled call stands between the two halves of the site. The second half is reached twice: by the body's return, and by
// the owner that goes on because the body blocked, at the address that the first half left in `resume`. It has no operands,
// and nothing is live across it but what is in the owner's frame.
#define FIN_ARCH_RESUME_                                                                                                    \
    "leaq %l[fin_resume_](%%rip), %%rcx\n\t"                                                                                \
    "movq %%rcx, 24(%%rsp)"
#define FIN_ARCH_LAZY_HERE_(block_, ...)                                                                                    \
    do {                                                                                                                    \
        __label__ fin_resume_;                                                                                              \
        void *fin_di_ = (void *)(block_);                                                                                   \
        __asm__ volatile goto("xorl %%eax, %%eax\n\t" FIN_ARCH_LAZY_ENTER_ FIN_ARCH_RESUME_                                 \
                              : "+D"(fin_di_)                                                                               \
                              : FIN_ARCH_OFFSETS_                                                                           \
                              : "rax", "rsi", "rdx", FIN_ARCH_LAZY_CLOBBERS_                                                \
                              : fin_resume_);                                                                               \
        __VA_ARGS__;                                                                                                        \
    fin_resume_:                                                                                                            \
        __asm__ volatile(FIN_ARCH_LAZY_LEAVE_ : : FIN_ARCH_OFFSETS_ : "rdi", "rax", "rsi", "rdx", FIN_ARCH_LAZY_CLOBBERS_); \
    } while (0)

// The eager async: the body runs on a spare stack from the start; `top` is the pseudo-block at its top, which keeps the
// caller's context. Where the body ended and never blocked, execution falls through and gives the stack back; where it
// blocked, the runtime continues the caller at the label behind that.
#define FIN_ARCH_EAGER_ENTER_                                                                                               \
    "leaq %l[fin_blocked_](%%rip), %%rcx\n\t"                                                                               \
    "movq %%rcx, %c[ip](%%rdi)\n\t"                                                                                         \
    "movq %%rsp, %c[sp](%%rdi)\n\t"                                                                                         \
    "movq %%rbp, %c[cfp](%%rdi)\n\t" FIN_ARCH_KEEP_BX_(cbx) "leaq -48(%%rdi), %%rsp\n\t"                                    \
                                                            "movq %%rdi, (%%rsp)\n\t"                                       \
                                                            "movq %%rax, 8(%%rsp)\n\t"                                      \
                                                            "movq %%rsp, %c[pending](%%rdi)\n\t"
#define FIN_ARCH_EAGER_LEAVE_                                                                                               \
    "leaq 48(%%rsp), %%rdi\n\t"                                                                                             \
    "cmpq %%rsp, %c[pending](%%rdi)\n\t"                                                                                    \
    "jne 8f\n\t" FIN_ARCH_DONE_                                                                                           \
    "movq %c[sp](%%rdi), %%rsp"

#define FIN_ARCH_EAGER_CALL_(top_, fn_, arg_)                                                                               \
    do {                                                                                                                    \
        __label__ fin_blocked_;                                                                                             \
        void *fin_di_ = (void *)(top_), *fin_si_ = (void *)(arg_), *fin_ax_ = (void *)(fn_);                                \
        __asm__ volatile goto(FIN_ARCH_EAGER_ENTER_ "movq %%rsi, %%rdi\n\t"                                                 \
                                                    "call *%%rax\n\t" FIN_ARCH_EAGER_LEAVE_                                 \
                              : "+D"(fin_di_), "+S"(fin_si_), "+a"(fin_ax_)                                                 \
                              : FIN_ARCH_OFFSETS_                                                                           \
                              : FIN_ARCH_CLOBBER_BX_ "rdx", "rcx", FIN_ARCH_CLOBBERS_                                       \
                              : fin_blocked_);                                                                              \
        fin_eager_end_((struct fin_finish_block *)fin_di_);                                                                 \
    fin_blocked_:;                                                                                                          \
    } while (0)

// In two pieces, as FIN_ARCH_LAZY_HERE_: but who goes on because the body blocked does so at the label.
#define FIN_ARCH_EAGER_HERE_(top_, ...)                                                                                     \
    do {                                                                                                                    \
        __label__ fin_resume_, fin_blocked_;                                                                                \
        void *fin_di_ = (void *)(top_);                                                                                     \
        __asm__ volatile goto("xorl %%eax, %%eax\n\t" FIN_ARCH_EAGER_ENTER_ FIN_ARCH_RESUME_                                \
                              : "+D"(fin_di_)                                                                               \
                              : FIN_ARCH_OFFSETS_                                                                           \
                              : FIN_ARCH_CLOBBER_BX_ "rax", "rsi", "rdx", "rcx", FIN_ARCH_CLOBBERS_                         \
                              : fin_resume_, fin_blocked_);                                                                 \
        __VA_ARGS__;                                                                                                        \
    fin_resume_:                                                                                                            \
        __asm__ volatile(FIN_ARCH_EAGER_LEAVE_                                                                              \
                         : "=D"(fin_di_)                                                                                    \
                         : FIN_ARCH_OFFSETS_                                                                                \
                         : FIN_ARCH_CLOBBER_BX_ "rax", "rsi", "rdx", "rcx", FIN_ARCH_CLOBBERS_);                            \
        fin_eager_end_((struct fin_finish_block *)fin_di_);                                                                 \
    fin_blocked_:;                                                                                                          \
    } while (0)

#endif
