// SPDX-License-Identifier: BSD-2-Clause
// Between the words of c-ares and those of the system.
#ifndef FIN_RESOLVE_ANSWER_H
#define FIN_RESOLVE_ANSWER_H

#include <ares.h>
#include <netdb.h>
#include <stdbool.h>

int fin_resolve_error_(int status); // 0 or -errno
int fin_resolve_flags_(int flags);  // AI_... to ARES_AI_...
// Copies what was found, with the canonical name if asked to. 0 or -ENOMEM, -ENODATA.
int fin_resolve_answer_(const struct ares_addrinfo *found, bool named, struct addrinfo **out);

#endif
