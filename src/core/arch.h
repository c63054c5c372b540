// SPDX-License-Identifier: BSD-2-Clause
// What the core needs of the machine; src/arch/<machine>/switch.S has it. (Mach's figure 4 is the model of such a page.)
#ifndef FIN_CORE_ARCH_H
#define FIN_CORE_ARCH_H

#include <fin/awe.h>

// Continues at the context. Pre: nothing on the current stack is needed any more, or it is named by another context.
// Never returns; not declared so, because compilers make a call of a noreturn function where a jump is wanted: a call
// without its return costs a mispredicted branch later.
void fin_arch_resume(const struct fin_context *c);

// Calls fn(arg) on the stack that ends at `top` (16-byte aligned). Pre: as above. fn must not return.
void fin_arch_on_stack(void *top, void (*fn)(void *), void *arg);

// Builds the context in which the owner of a pending lazy async continues: behind its call, as if the body had returned, on
// the stack below `top`. Post: block->pending fits that context.
void fin_arch_continue_owner(struct fin_context *c, struct fin_finish_block *block, void *top);

// The place behind the async of a body that has not ended.
void *fin_arch_site(const struct fin_body *body);

#endif
