// SPDX-License-Identifier: BSD-2-Clause
#define _GNU_SOURCE // REG_RIP
#include "host/linux/running.h"

#include <ucontext.h>

#include "core/cont.h"
#include "core/dispatch.h"
#include "host/linux/symbol.h"

void *fin_interrupted_at(const void *context) {
    const ucontext_t *c = context;
#if defined(__x86_64__)
    return (void *)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (void *)c->uc_mcontext.pc;
#endif
}

const void *fin_running_cont(const void *cont, const void **state) {
    struct fin_kept k;
    while (fin_is_inner(cont) && fin_host_read(&k, *state, sizeof k)) {
        cont = (const void *)(uintptr_t)k.cont;
        memcpy(state, k.state, sizeof *state);
    }
    return cont;
}

static struct fin_running step_of(const struct fin_cont_record *e, const char *name) {
    struct fin_running r = {.name = name, .how = ", continuation "};
    if (e) {
        memcpy(&r.state, e->data, sizeof r.state);
        r.at = fin_running_cont((const void *)(uintptr_t)e->cont, &r.state);
    }
    return r;
}

bool fin_running_is_coroutine(const void *cont) {
    char name[64];
    return strcmp(fin_symbol_at(cont, name, sizeof name), "fin::detail::continue_routine") == 0;
}

// A frame begins with where the coroutine goes on, whichever compiler made it.
const void *fin_running_coroutine(const void *cont, const void *frame) {
    const void *at;
    return fin_running_is_coroutine(cont) && fin_host_read(&at, frame, sizeof at) && at ? at : cont;
}

const char *fin_running_name(const struct fin_running *r, char *buffer, size_t size) {
    buffer[0] = 0;
    return r->at ? fin_symbol_at(r->state ? fin_running_coroutine(r->at, r->state) : r->at, buffer, size) : buffer;
}

struct fin_running fin_running_body(struct fin_runtime *rt, const struct fin_body *body, bool named) {
    const char *name = !body ? rt->name : named ? body->name : NULL;
    if (body && body->block->flags & FIN_FINISH_CONT) // a step of an explicit AWE
        return step_of(running_record(body), name);
    // a body in place is known by the place of its async
    bool in_place = body && (!body->entry || body->entry == (void *)fin_block_run_);
    const char *site = in_place ? fin_arch_site(body) : NULL;
    return (struct fin_running){
        .name = name,
        .how = !body      ? ""
               : in_place ? ", started in "
                          : ", entry ",
        .at = !body      ? NULL
              : in_place ? (site ? site - 1 : NULL)
                         : body->entry,
    };
}

// By copies of all that is looked at: the body, with what fin_arch_site may read below it, its block, and its record.
struct fin_running fin_running_asleep(struct fin_runtime *rt, const struct fin_body *body) {
    struct {
        const void *below;
        struct fin_body body;
    } copy;
    struct fin_finish_block block;
    struct fin_cont_record record;
    if (!body)
        return fin_running_body(rt, NULL, false);
    if (!fin_host_read(&copy, (const char *)body - offsetof(__typeof__(copy), body), sizeof copy) ||
        !fin_host_read(&block, copy.body.block, sizeof block) ||
        (block.flags & FIN_FINISH_CONT && !fin_host_read(&record, copy.body.resume, sizeof record)))
        return (struct fin_running){.how = ""};
    copy.body.block = &block;
    if (block.flags & FIN_FINISH_CONT)
        copy.body.resume = &record;
    return fin_running_body(rt, &copy.body, true);
}

struct fin_running fin_running(struct fin_runtime *rt) {
    struct fin_finish_block *p = pending_of(rt->thread.current);
    return fin_running_body(rt, running_body(rt, p), !p || (uintptr_t)p->pending & FIN_PENDING_NAMED);
}
