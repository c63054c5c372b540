// SPDX-License-Identifier: BSD-2-Clause
// aarch64: what the runtime reads of a site that FIN_ARCH_LAZY_ENTER_ or FIN_ARCH_EAGER_ENTER_ left. Contracts: core/arch.h.
#ifndef FIN_ARCH_SITE_H
#define FIN_ARCH_SITE_H

#include <fin/finish.h>

static inline void *fin_arch_site(const struct fin_body *body) { return body->resume; }

#endif
