// SPDX-License-Identifier: BSD-2-Clause
#include "core/arch.h"

// The site is FIN_ARCH_LAZY_CALL_: the return address lies below the struct fin_body that `pending` points at.
void fin_arch_continue_owner(struct fin_context *c, struct fin_finish_block *block, void *top) {
    struct fin_body *fresh = (struct fin_body *)top - 1;
    fresh->block = block;
    c->ip = ((void **)block->pending)[-1];
    c->sp = fresh;
    c->fp = block->fp;
    c->bx = block->bx;
    block->pending = fresh;
}

void *fin_arch_site(const struct fin_body *body) { return ((void *const *)body)[-1]; }
