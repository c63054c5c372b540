// SPDX-License-Identifier: BSD-2-Clause
// The end of what comes from a terminal is said once: behind a line without an end it need not be typed again.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

static int keyboard, screen;
static char space[64], *at;
static struct fin_reader r;
static struct fin_reader_on on;

static void is_typed(const char *text) { CHECK_EQ(write(keyboard, text, strlen(text)), strlen(text)); }

static void hears(void *expected, int n) {
    CHECK_EQ(n, *(int *)expected);
    fin_cont_end();
}
static void line_on(void *expected, int unused) {
    (void)unused;
    CHECK_EQ(fin_reader_line_on(&r, &at, &on, hears, expected, sizeof(int)), 0);
}

static FIN_BLOCKING void is_line(int n) { CHECK_EQ(fin_reader_line(&r, &at), n); }
static FIN_BLOCKING void is_line_on(int n) {
    fin_finish {
        CHECK(fin_async_cont(line_on, &n, sizeof n) != NULL);
    }
}

int main(void) {
    keyboard = posix_openpt(O_RDWR | O_NOCTTY);
    if (keyboard < 0 || grantpt(keyboard) != 0 || unlockpt(keyboard) != 0)
        SKIP("there are no terminals here");
    screen = open(ptsname(keyboard), O_RDWR | O_NOCTTY);
    CHECK(screen >= 0);
    CHECK_EQ(fin_reader_init(&r, screen, space, sizeof space), 0);
    for (int way = 0; way < 2; way++) {
        void (*line)(int) = way ? is_line_on : is_line;
        is_typed("abc\ndef\4\4"); // the first ends the line, the second one the stream
        line(3);
        line(3);
        CHECK_EQ(strcmp(at, "def"), 0);
        line(-ENODATA);
        is_typed("more\n");
        line(4);
        is_typed("\4");
        line(-ENODATA);
        is_typed("x\4\4");
        CHECK_EQ(fin_reader_until(&r, ',', &at), 1);
        CHECK_EQ(fin_reader_read(&r, &space, 1), 0);
    }
    close(screen);
    close(keyboard);
    return 0;
}
