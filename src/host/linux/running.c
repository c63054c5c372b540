// SPDX-License-Identifier: BSD-2-Clause
#include "host/linux/running.h"

#include "core/dispatch.h"

struct fin_running fin_running(struct fin_runtime *rt) {
    struct fin_finish_block *p = pending_of(rt->thread.current);
    struct fin_body *body = running_body(rt, p);
    bool named = !p || (uintptr_t)p->pending & FIN_PENDING_NAMED;
    // a body in place is known by the place of its async
    bool in_place = body && (!body->entry || body->entry == (void *)fin_block_run_);
    return (struct fin_running){
        .name = body ? (named ? body->name : NULL) : rt->name,
        .how = !body      ? ""
               : in_place ? ", started in "
                          : ", entry ",
        .at = !body      ? NULL
              : in_place ? (char *)fin_arch_site(body) - 1
                         : body->entry,
    };
}
