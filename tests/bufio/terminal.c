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

// A flush that takes a while, and then fails or not.
static ssize_t written_late(void *result, const void *data, size_t size) {
    (void)data;
    int cancelled = fin_sleep(FIN_MS);
    return cancelled ? cancelled : *(int *)result ? *(int *)result : (ssize_t)size;
}

// Nor is the end to be typed again where it came while what is tied was flushed, or is due when it is.
static FIN_BLOCKING void with_tie(void) {
    static const struct fin_stream_calls late = {.write = written_late};
    static char behind[64];
    struct fin_writer w;
    int result = 0;
    CHECK_EQ(fin_writer_init_to(&w, &late, &result, behind, sizeof behind), 0);
    fin_reader_tie(&r, &w);
    is_typed("x\4\4");
    is_line(1);
    CHECK_EQ(fin_writer_printf(&w, "a"), 1);
    is_line(-ENODATA);
    result = -ENOSPC;
    CHECK_EQ(fin_writer_printf(&w, "a"), 1);
    is_typed("\4");
    is_line(-ENOSPC);
    fin_reader_tie(&r, NULL);
    is_line(-ENODATA);
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
    with_tie();
    close(screen);
    close(keyboard);
    return 0;
}
