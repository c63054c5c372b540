// SPDX-License-Identifier: BSD-2-Clause
// A process that is stopped and goes on again and again, as where a tool keeps it from taking more of a processor than it
// may, has no call interrupted, however often that is during the call.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>

#include "stops.h"

enum { STOPS = 4000 };

static int from[2], to, spliced;

// This waits on a thread of the ring.
static void waits(int told, int tell) {
    char c;
    to = nameless_file();
    CHECK_EQ(pipe(from), 0);
    fin_finish {
        fin_async { spliced = (int)fin_splice(from[0], NULL, to, NULL, 3, 0); };
        CHECK_EQ(write(tell, "x", 1), 1);
        CHECK_EQ(fin_read(told, &c, 1), 1);
        CHECK_EQ(write(from[1], "xyz", 3), 3);
    }
    CHECK_EQ(spliced, 3);
}

int main(void) {
    stop_while(waits, STOPS, 20);
    return 0;
}
