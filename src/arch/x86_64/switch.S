// SPDX-License-Identifier: BSD-2-Clause
// x86-64: the machine-dependent end of the core. Prototypes and contracts are in src/core/arch.h.
#define HIDDEN(name) .globl name; .hidden name; .type name, @function
#define FIN_THREAD_SCHEDULER 24 // checked in src/core/thread.c
#define SIZE(name) .size name, . - name

        .text
        .p2align 4
// Where an async body arrives that ended after it, or an async inside it, had blocked: rdi its block, rsp its struct
// fin_body. Nothing below rsp may be touched: an async inside the body may still use the body's frame.
        .globl  fin_async_done_
        .type   fin_async_done_, @function
fin_async_done_:
        .cfi_startproc
        .cfi_undefined rip
        movq    %rsp, %rsi
        movq    fin_self@GOTTPOFF(%rip), %rax
        movq    %fs:(%rax), %rax
        movq    FIN_THREAD_SCHEDULER(%rax), %rsp
        subq    $8, %rsp
        jmp     fin_core_async_done
        .cfi_endproc
        SIZE(fin_async_done_)

        .p2align 4
// Where functions with FIN_ARCH_RETURNS_BY_JUMP go instead of returning; the compiler's name for it.
        HIDDEN(__x86_return_thunk)
__x86_return_thunk:
        .cfi_startproc
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        .cfi_register rip, rcx
        jmp     *%rcx
        .cfi_endproc
        SIZE(__x86_return_thunk)

        .section .note.GNU-stack, "", @progbits
