// SPDX-License-Identifier: BSD-2-Clause
// A file in memory is as large as RLIMIT_FSIZE permits, like any other: to go beyond that raises SIGXFSZ, which ends the
// program.
#ifndef FIN_FILE_LIMIT_H
#define FIN_FILE_LIMIT_H

#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>

// 0, or -EFBIG.
static inline int fin_file_limit(size_t size) {
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) == 0 && size > most.rlim_cur ? -EFBIG : 0;
}

#endif
