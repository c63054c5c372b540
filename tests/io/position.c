// SPDX-License-Identifier: BSD-2-Clause
// A write that ends early, because the file may not grow, moves the file's position by what it wrote: one call, a step of a
// chain, through a registered file, with a continuation; and where nobody can be asked what the kernel does, as there are no
// descriptors left.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"
#include "process.h"

enum { PAGE = 4096, MOST = 64 };
static char data[2 * PAGE];

static int one_page(void) {
    int fd = memfd_create("one page", MFD_ALLOW_SEALING);
    CHECK(fd >= 0);
    CHECK_EQ(ftruncate(fd, PAGE), 0);
    CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
    return fd;
}

static void has_moved(int fd) {
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), PAGE);
    close(fd);
}

static void call(void) {
    int fd = one_page();
    CHECK_EQ(fin_write(fd, data, sizeof data), PAGE);
    has_moved(fd);
}

static void chain(void) {
    int fd = one_page();
    struct fin_step steps[] = {fin_step_write(fd, data, sizeof data), fin_step_write(fd, data, 1)};
    CHECK_EQ(fin_linked(steps, 2), 0);
    CHECK_EQ(steps[0].result, PAGE);
    CHECK_EQ(steps[1].result, -ECANCELED);
    has_moved(fd);
}

// Its slot has the number of another descriptor.
static void registered(void) {
    int fd = one_page(), number = fin_file_register(fd), slot = number % 1024, other = one_page(), before = dup(slot);
    CHECK(number > 0 && dup2(other, slot) == slot);
    CHECK_EQ(fin_write(number, data, sizeof data), PAGE);
    CHECK_EQ(lseek(other, 0, SEEK_CUR), 0);
    CHECK_EQ(fin_file_unregister(number), 0);
    CHECK(before < 0 ? close(slot) == 0 : dup2(before, slot) == slot);
    close(before);
    close(other);
    has_moved(fd);
}

static void written(void *state, int n) {
    (void)state;
    CHECK_EQ(n, PAGE);
    fin_cont_end();
}

static struct fin_on on;

static void writes(void *state, int r) {
    CHECK_EQ(r, 0);
    fin_write_on(&on, *(int *)state, data, sizeof data, written, NULL, 0);
}

static void without_a_stack(void) {
    int fd = one_page();
    fin_finish {
        CHECK(fin_async_cont(writes, &fd, sizeof fd) != NULL);
    }
    has_moved(fd);
}

static void no_descriptors(void) {
    int fd = one_page(), taken[MOST], n = 0;
    struct rlimit few = {MOST, MOST};
    CHECK(fin_io_backend() != NULL);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    while ((taken[n] = dup(fd)) >= 0)
        n++;
    CHECK_EQ(fin_write(fd, data, sizeof data), PAGE);
    while (n)
        close(taken[--n]);
    has_moved(fd);
    call();
}

int main(void) {
    if (!on_valgrind()) { // which keeps the limit of descriptors to itself
        pid_t child = fork();
        if (child == 0) {
            no_descriptors();
            return 0;
        }
        ended_well(child);
    }
    call();
    chain();
    registered();
    without_a_stack();
    return 0;
}
