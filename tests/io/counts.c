// SPDX-License-Identifier: BSD-2-Clause
// Counts of more than there is, and of more than memory has.
#define _GNU_SOURCE
#include <fcntl.h>

#include "net.h"

int main(void) {
    static char data[1], big[100];
    if (on_valgrind())
        SKIP("valgrind looks at all of the memory before the kernel does");
    int fd[2], file = nameless_file();
    CHECK_EQ(fin_write(file, big, 100), 100);
    CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
    // the room ends here, but so does the file
    CHECK_EQ(fin_read(file, big, SIZE_MAX), 100);
    CHECK_EQ(fin_pread(file, big, SIZE_MAX / 2, 90), 10);
    CHECK_EQ(fin_read(file, big, 0), 0);
    close(file);
    int null = open("/dev/null", O_RDWR);
    CHECK_EQ(fin_write(null, data, SIZE_MAX), 0x7ffff000);
    CHECK_EQ(fin_read(null, data, SIZE_MAX), 0);
    close(null);
    stream_pair(fd);
    CHECK_EQ(write(fd[1], big, 100), 100);
    CHECK_EQ(fin_recv(fd[0], big, SIZE_MAX, 0), 100);
    close(fd[0]);
    close(fd[1]);
    return 0;
}
