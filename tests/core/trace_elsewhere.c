// SPDX-License-Identifier: BSD-2-Clause
// A trace is written to the file that was there when it began, whatever folder the process, or its child, is in by then.
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include <fin/finish.h>
#include <fin/trace.h>

#include "process.h"

static void in_child(void) {
    CHECK_EQ(chdir("/dev"), 0); // not a folder for files
    fin_trace_mark("the child");
    CHECK_EQ(fin_trace_stop(), 0);
    _exit(0);
}

int main(void) {
    char folder[] = "/tmp/fin-trace-XXXXXX", file[64], text[8192];
    CHECK(mkdtemp(folder));
    CHECK_EQ(chdir(folder), 0);
    CHECK_EQ(fin_trace_start("trace.json"), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        in_child();
    ended_well(child);
    CHECK_EQ(chdir("/"), 0);
    fin_trace_mark("the parent");
    CHECK_EQ(fin_trace_stop(), 0);
    snprintf(file, sizeof file, "%s/trace.json", folder);
    FILE *f = fopen(file, "r");
    CHECK(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    CHECK(unlink(file) == 0 && rmdir(folder) == 0);
    CHECK(strncmp(text, "[\n{", 3) == 0 && strstr(text, "the child") && strstr(text, "the parent"));
    return 0;
}
