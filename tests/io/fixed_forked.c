// SPDX-License-Identifier: BSD-2-Clause
// The child of a fork has no registrations: its parent's numbers are none there and its memory is not the child's. It makes
// its own, and the parent's stay.
#include <fin/fixed.h>

#include "net.h"

static int pair[2], number;
static struct fin_memory *memory;
static char room[64];

static void in_child(void) {
    CHECK_EQ(fin_pread_fixed(pair[0], memory, room, 1, 0), -EXDEV);
    CHECK_EQ(fin_memory_unregister(memory), -EXDEV);
    CHECK_EQ(fin_send(number, "c", 1, 0), -EBADF);
    CHECK_EQ(fin_file_unregister(number), -EBADF);
    int mine = fin_file_register(pair[0]);
    CHECK(mine >= 0);
    CHECK_EQ(fin_send(mine, "m", 1, 0), 1);
    CHECK_EQ(fin_send(number, "c", 1, 0), -EBADF); // whatever the child has registered since
}

int main(void) {
    int status;
    stream_pair(pair);
    number = fin_file_register(pair[0]);
    CHECK(number >= 0);
    CHECK_EQ(fin_memory_register(&memory, room, sizeof room), 0);
    pid_t child = fork();
    if (child == 0) {
        in_child();
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(fin_send(number, "p", 1, 0), 1);
    CHECK_EQ(fin_recv(pair[1], room, sizeof room, 0), 2);
    CHECK(memcmp(room, "mp", 2) == 0);
    CHECK_EQ(fin_file_unregister(number), 0);
    CHECK_EQ(fin_memory_unregister(memory), 0);
    return 0;
}
