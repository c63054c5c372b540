// SPDX-License-Identifier: BSD-2-Clause
// The end of a wait of the library's (kept.h) that has taken something for the program.
#ifndef FIN_CORE_TOLD_H
#define FIN_CORE_TOLD_H

#include "core/cont.h"

// Calls the program's continuation from ours, on the same stack: nothing comes between what was taken and who is told of it,
// the end of the thread no more than others' turns. Returns where that one does, which is its mistake, as our return then
// is. Pre: ours has just begun, or has blocked with this stack.
static inline void fin_cont_tell(const struct fin_kept *k, int result) {
    struct fin_body *body = (struct fin_body *)fin_rt(fin_self)->thread.current - 1;
    struct fin_cont_record *e = running_record(body);
    set_continuation(e, k->cont, k->state, k->size);
    e->result = result;
    body->entry = (void *)k->cont;
    k->cont(e->data, result);
}

#endif
