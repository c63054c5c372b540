// SPDX-License-Identifier: BSD-2-Clause
// Ids: names for AWEs that may be kept, sent, and used late (ac-extensions 5.1, 5.2). An id belongs to the thread that made
// it. It names an AWE from the moment when the AWE is saved under it until the AWE is resumed, in whatever way; at all other
// times it names none. To use an id that names none, or one that was removed, gives an error code and has no other effect: a
// removed id is not given out again before four million others; before four thousand if a million ids are in use or there is
// no memory.
#ifndef FIN_AWE_ID_H
#define FIN_AWE_ID_H

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // casts in C++
#endif

#include <fin/awe.h>

#ifdef __cplusplus
extern "C" {
#endif

// Makes a new id, never 0. Returns 0; -ENOSPC if a million are in use; -ENOMEM. Does not block.
int fin_awe_id_create(uint32_t *id);

// Gives the id back. If it names an AWE, the AWE stays as it is. Returns 0 or -ESRCH. Does not block.
int fin_awe_id_remove(uint32_t id);

// Makes the id name `a`, an AWE of this thread that waits; with NULL it names none. An AWE has only one id, the last.
// Returns 0; -ESRCH if there is no such id, -EINVAL if `a` is no such AWE.
int fin_awe_id_set(uint32_t id, struct fin_awe *a);

// The AWE that the id names, or NULL. Does not block.
struct fin_awe *fin_awe_id_get(uint32_t id);

void fin_core_yield_save_(struct fin_awe *a, struct fin_thread *t, uintptr_t from);
void fin_core_yield_to_id_(struct fin_awe *a, struct fin_thread *t, uintptr_t to);
void fin_core_yield_to_save_(struct fin_awe *a, struct fin_thread *t, uintptr_t to, uintptr_t from);
void fin_core_switch_save_(struct fin_awe *a, struct fin_thread *t, uintptr_t from);
void fin_core_switch_to_save_(struct fin_awe *a, struct fin_thread *t, uintptr_t to, uintptr_t from);
void fin_core_switch_to_(struct fin_awe *a, struct fin_thread *t, uintptr_t to, struct fin_awe **slot);

#define FIN_ID_YIELD_(entry, b, c)                                                                                          \
    FIN_AWE_HERE_(a);                                                                                                       \
    FIN_ARCH_BLOCK_(entry, a, fin_thread_here_(), b, c);                                                                    \
    return (int)a->id

// All of these block, and are not cancellable. They return 0 once the AWE runs again; -ESRCH if an id does not exist, or
// names no AWE to run: then they did nothing.

// fin_yield; the id names the AWE meanwhile.
FIN_INLINE_ int FIN_BLOCKING fin_yield_and_save(uint32_t from) {
    FIN_ID_YIELD_(fin_core_yield_save_, (uintptr_t)from, fin_any_());
}

// fin_yield_to the AWE that `to` names.
FIN_INLINE_ int FIN_BLOCKING fin_yield_to_id(uint32_t to) {
    FIN_ID_YIELD_(fin_core_yield_to_id_, (uintptr_t)to, fin_any_());
}

// Both. If `to` and `from` are the same id, it must name an AWE: that AWE runs, and the id then names the one that stopped.
FIN_INLINE_ int FIN_BLOCKING fin_yield_to_id_and_save(uint32_t to, uint32_t from) {
    FIN_ID_YIELD_(fin_core_yield_to_save_, (uintptr_t)to, (uintptr_t)from);
}

// The no-dispatch forms: the AWE that stops is not put on the run queue; only a directed yield brings it back. This is
// faster, and meant for work that is always continued directly. fin_yield_and_save_no_dispatch then runs what is queued.
FIN_INLINE_ int FIN_BLOCKING fin_yield_and_save_no_dispatch(uint32_t from) {
    FIN_ID_YIELD_(fin_core_switch_save_, (uintptr_t)from, fin_any_());
}
FIN_INLINE_ int FIN_BLOCKING fin_yield_to_id_and_save_no_dispatch(uint32_t to, uint32_t from) {
    FIN_ID_YIELD_(fin_core_switch_to_save_, (uintptr_t)to, (uintptr_t)from);
}

// The AWE that stops has no id: its address, stored in *slot if slot is not NULL, is the only way back to it (fin_yield_to).
FIN_INLINE_ int FIN_BLOCKING fin_yield_to_id_no_dispatch(uint32_t to, struct fin_awe **slot) {
    FIN_ID_YIELD_(fin_core_switch_to_, (uintptr_t)to, slot);
}

#ifdef __cplusplus
}
#endif
#endif
