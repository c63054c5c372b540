// SPDX-License-Identifier: BSD-2-Clause
// Circular doubly-linked lists with a head.
#ifndef FIN_CORE_LINK_H
#define FIN_CORE_LINK_H

#include <fin/finish.h>

static inline void fin_link_init(struct fin_link *head) { head->next = head->prev = head; }
static inline bool fin_link_empty(const struct fin_link *head) { return head->next == head; }

static inline void fin_link_between(struct fin_link *l, struct fin_link *prev, struct fin_link *next) {
    l->prev = prev;
    l->next = next;
    prev->next = l;
    next->prev = l;
}
static inline void fin_link_back(struct fin_link *head, struct fin_link *l) { fin_link_between(l, head->prev, head); }
static inline void fin_link_front(struct fin_link *head, struct fin_link *l) { fin_link_between(l, head, head->next); }

// Is it on the list that it says? A copy is not.
static inline bool fin_link_listed(const struct fin_link *l) { return l->prev->next == l; }

static inline void fin_link_remove(struct fin_link *l) {
    l->prev->next = l->next;
    l->next->prev = l->prev;
}

#endif
