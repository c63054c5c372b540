// SPDX-License-Identifier: BSD-2-Clause
// x86-64: what the runtime reads of a site that FIN_ARCH_LAZY_ENTER_ or FIN_ARCH_EAGER_ENTER_ left. Contracts: core/arch.h.
#ifndef FIN_ARCH_SITE_H
#define FIN_ARCH_SITE_H

#include <fin/finish.h>

// The call of the body left its return address below the struct fin_body; FIN_ARCH_LAZY_HERE_ says it in `resume`.
static inline void *fin_arch_site(const struct fin_body *body) {
    bool here = body->entry == NULL && !(body->block->flags & FIN_FINISH_EAGER);
    return here ? body->resume : ((void *const *)body)[-1];
}

#endif
