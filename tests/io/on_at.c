// SPDX-License-Identifier: BSD-2-Clause
// Reads and writes at a position, waited for with continuations: they do not move the file's own, and -1 is none; nothing
// is read in a cancelled block; where there are no positions the result is that of fin_pread and fin_pwrite.
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

enum { SIZE = 6 };
static struct fin_on on;
static int file, results[4], count;
static char bytes[SIZE];

static void ends(void *state, int n) {
    (void)state;
    results[count++] = n;
    fin_cont_end();
}

static void before_the_file(void *state, int n) {
    (void)state;
    results[count++] = n;
    fin_pread_on(&on, file, bytes, SIZE, -1, ends, NULL, 0);
}

static void written(void *state, int n) {
    (void)state;
    results[count++] = n;
    fin_pread_on(&on, file, bytes, SIZE, 98, before_the_file, NULL, 0);
}

static void writes(void *state, int r) {
    (void)state;
    CHECK_EQ(r, 0);
    fin_pwrite_on(&on, file, "12345", SIZE - 1, 100, written, NULL, 0);
}

static void refused(void *state, int n) {
    (void)state;
    results[count++] = n;
    fin_pwrite_on(&on, file, "12345", SIZE - 1, INT64_MIN, ends, NULL, 0);
}

static void reads_in_cancelled(void *state, int r) {
    (void)state;
    CHECK_EQ(r, 0);
    fin_pread_on(&on, file, bytes, SIZE, 100, refused, NULL, 0);
}

static void reads_socket(void *socket, int r) {
    CHECK_EQ(r, 0);
    fin_pread_on(&on, *(int *)socket, bytes, SIZE, 0, ends, NULL, 0);
}
static void writes_socket(void *socket, int r) {
    CHECK_EQ(r, 0);
    fin_pwrite_on(&on, *(int *)socket, "12345", SIZE, 0, ends, NULL, 0);
}

static void no_positions(void) {
    int ends_of[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_of), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(send(ends_of[1], "12345", SIZE, 0), SIZE);
    count = 0;
    fin_finish
        CHECK(fin_async_cont(reads_socket, &ends_of[0], sizeof(int)) != NULL);
    fin_finish
        CHECK(fin_async_cont(writes_socket, &ends_of[0], sizeof(int)) != NULL);
    CHECK_EQ(count, 2);
    CHECK_EQ(results[0], fin_pread(ends_of[0], bytes, SIZE, 0));
    CHECK_EQ(results[1], fin_pwrite(ends_of[0], bytes, SIZE, 0));
    close(ends_of[0]);
    close(ends_of[1]);
}

int main(void) {
    no_positions();
    char name[] = "fin-on-at-XXXXXX";
    CHECK((file = mkstemp(name)) >= 0 && unlink(name) == 0 && lseek(file, 3, SEEK_SET) == 3);
    count = 0;
    fin_finish
        CHECK(fin_async_cont(writes, NULL, 0) != NULL);
    CHECK_EQ(count, 3);
    CHECK_EQ(results[0], SIZE - 1);
    CHECK_EQ(results[1], SIZE);
    CHECK(memcmp(bytes,
                 "\0\0"
                 "1234",
                 SIZE) == 0);
    CHECK_EQ(results[2], -EINVAL);

    count = 0;
    memset(bytes, 'x', SIZE);
    fin_finish {
        CHECK(fin_async_cont(reads_in_cancelled, NULL, 0) != NULL);
        fin_cancel();
    }
    CHECK_EQ(count, 2);
    CHECK_EQ(results[0], -ECANCELED);
    CHECK_EQ(results[1], -ECANCELED);
    CHECK_EQ(bytes[0], 'x');
    CHECK_EQ(lseek(file, 0, SEEK_CUR), 3);
    CHECK_EQ(lseek(file, 0, SEEK_END), 105);
    close(file);
    return 0;
}
