// SPDX-License-Identifier: BSD-2-Clause
// A service that answers each line by itself and an exclamation mark, and never flushes.
#ifndef FIN_TESTS_BUFIO_ANSWERS_H
#define FIN_TESTS_BUFIO_ANSWERS_H

#include <errno.h>

#include <fin/bufio.h>

#include "check.h"

static struct fin_reader in;
static struct fin_writer out; // tied to it
static char *line;

static FIN_BLOCKING void answers(void *unused) {
    ssize_t n;
    (void)unused;
    while ((n = fin_reader_line(&in, &line)) >= 0)
        CHECK_EQ(fin_writer_printf(&out, "%s!\n", line), n + 2);
    CHECK_EQ(n, -ENODATA);
}

#endif
