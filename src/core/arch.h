// SPDX-License-Identifier: BSD-2-Clause
// What the core needs of the machine; src/arch/<machine> has it: site.h what is inlined, switch.S the rest. (Mach's figure 4
// is the model of such a page.)
#ifndef FIN_CORE_ARCH_H
#define FIN_CORE_ARCH_H

#include <fin/awe.h>

#include "site.h"

// Continues at the context, and leaves its address to the site. Inlined, so that each kind of switch has a jump of its own
// for the processor to predict. Pre: nothing on the current stack is needed any more, or it is named by another context.
// Never returns; not declared so, because compilers make a call of a noreturn function where a jump is wanted: a call
// without its return costs a mispredicted branch later.
static inline void fin_arch_resume(const struct fin_context *c);

// FIN_ARCH_SWITCH_(from, to): the running AWE stops here, its context goes to the struct fin_awe `from`, and `to` goes on,
// in one step: as FIN_ARCH_BLOCK_ with an entry that only does fin_arch_resume(to). Pre: all else of both has been done.

// Calls fn(arg) on the stack that ends at `top` (16-byte aligned), where unwinding ends. Pre: as above. fn must not return.
static inline void fin_arch_on_stack(void *top, void (*fn)(void *), void *arg);

// Continues at ip with these registers, behind an async. Inlined, and pre: as above.
static inline void fin_arch_jump(void *ip, void *sp, void *fp, void *bx);

// The place behind the async of a body that has not ended. Who continues there with `body` as stack pointer goes on as if
// the body had returned.
static inline void *fin_arch_site(const struct fin_body *body);

// FIN_ARCH_RETURNS_BY_JUMP is put before a function that has waited whenever it returns: where the machine can, it does so
// by a jump. Of a return a processor expects that it goes behind the latest call, and that was another AWE's.

#endif
