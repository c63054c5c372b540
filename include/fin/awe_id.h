// SPDX-License-Identifier: BSD-2-Clause
// Ids: names for AWEs that may be kept, sent and used late (ac-extensions 5.1, 5.2). An id belongs to the thread that made
// it. It names an AWE from the moment that one is saved under it until that one is resumed, by whatever way; otherwise it
// names none. Using an id that names none, or one that was removed, is an error code, never more: a removed id comes back
// after four million others at the earliest; after four thousand where a million ids are in use, or there is no memory.
#ifndef FIN_AWE_ID_H
#define FIN_AWE_ID_H

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // casts in C++
#endif

#include <fin/awe.h>

#ifdef __cplusplus
extern "C" {
#endif

// Makes a new id, never 0. Returns 0; -ENOSPC where a million are in use, -ENOMEM. Does not block.
int fin_awe_id_create(uint32_t *id);

// Gives the id back. An AWE that it names stays as it is. Returns 0 or -ESRCH. Does not block.
int fin_awe_id_remove(uint32_t id);

// Names an AWE of this thread that waits; NULL: none. An AWE has one id: the last. Returns 0; -ESRCH (id), -EINVAL (AWE).
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

// All of these block, and are not cancellable. They return 0 once the AWE runs again; -ESRCH where an id is not one, or
// names no AWE to run, and then they did nothing.

// fin_yield; the id names the AWE meanwhile.
static inline int FIN_BLOCKING fin_yield_and_save(uint32_t from) {
    FIN_ID_YIELD_(fin_core_yield_save_, (uintptr_t)from, fin_any_());
}

// fin_yield_to the AWE that `to` names.
static inline int FIN_BLOCKING fin_yield_to_id(uint32_t to) {
    FIN_ID_YIELD_(fin_core_yield_to_id_, (uintptr_t)to, fin_any_());
}

// Both. Where `to` and `from` are the same id, it must name an AWE: that one runs, and the id then names this one.
static inline int FIN_BLOCKING fin_yield_to_id_and_save(uint32_t to, uint32_t from) {
    FIN_ID_YIELD_(fin_core_yield_to_save_, (uintptr_t)to, (uintptr_t)from);
}

// The no-dispatch forms: the AWE that stops is not put on the run queue, only a directed yield brings it back. Faster, for
// work that is always continued directly. fin_yield_and_save_no_dispatch runs what is queued.
static inline int FIN_BLOCKING fin_yield_and_save_no_dispatch(uint32_t from) {
    FIN_ID_YIELD_(fin_core_switch_save_, (uintptr_t)from, fin_any_());
}
static inline int FIN_BLOCKING fin_yield_to_id_and_save_no_dispatch(uint32_t to, uint32_t from) {
    FIN_ID_YIELD_(fin_core_switch_to_save_, (uintptr_t)to, (uintptr_t)from);
}

// The AWE that stops is under no id: its address, stored in *slot where slot is not NULL, is the only way back
// (fin_yield_to).
static inline int FIN_BLOCKING fin_yield_to_id_no_dispatch(uint32_t to, struct fin_awe **slot) {
    FIN_ID_YIELD_(fin_core_switch_to_, (uintptr_t)to, slot);
}

#ifdef __cplusplus
}
#endif
#endif
