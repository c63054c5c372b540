// SPDX-License-Identifier: BSD-2-Clause
// Between the words of c-ares and those of the system.
#ifndef FIN_RESOLVE_ANSWER_H
#define FIN_RESOLVE_ANSWER_H

#include <ares.h>

#include "resolve/wanted.h"

int fin_resolve_error_(int status); // 0 or -errno
// Copies what was found. 0 or -ENOMEM, -ENODATA.
int fin_resolve_answer_(const struct ares_addrinfo *found, const struct wanted *w, struct addrinfo **out);

#endif
