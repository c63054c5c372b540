// SPDX-License-Identifier: BSD-2-Clause
// aarch64: the machine-dependent end of the core. Prototypes and contracts are in src/core/arch.h.
#define HIDDEN(name) .globl name; .hidden name; .type name, %function
#define FIN_THREAD_SCHEDULER 24 // checked in src/core/thread.c
#define SIZE(name) .size name, . - name

// Jumps go through x16: with branch target identification they may then arrive at `bti j` and at the start of a function.
        .text
        .p2align 4
// Where an async body arrives that ended after it, or an async inside it, had blocked: x0 its block, sp its struct fin_body.
// Nothing below sp may be touched: an async inside the body may still use the body's frame.
        .globl  fin_async_done_
        .type   fin_async_done_, %function
fin_async_done_:
        .cfi_startproc
        .cfi_undefined x30
        hint    #34
        mov     x1, sp
        adrp    x9, :gottprel:fin_self
        ldr     x9, [x9, #:gottprel_lo12:fin_self]
        mrs     x10, tpidr_el0
        ldr     x9, [x10, x9]
        ldr     x9, [x9, #FIN_THREAD_SCHEDULER]
        mov     sp, x9
        mov     x29, xzr
        mov     x30, xzr
        b       fin_core_async_done
        .cfi_endproc
        SIZE(fin_async_done_)

        .section .note.GNU-stack, "", %progbits

#if defined(__ARM_FEATURE_BTI_DEFAULT)
// The note without which a linker drops the protection of the whole program: GNU_PROPERTY_AARCH64_FEATURE_1_AND, BTI and
// PAC.
        .section .note.gnu.property, "a", %note
        .p2align 3
        .word   4, 16, 5
        .asciz  "GNU"
        .word   0xc0000000, 4, 3, 0
#endif
