// SPDX-License-Identifier: BSD-2-Clause
// In a cancelled block calls that need descriptors of their own say that they are cancelled, also if there are none: who
// goes on after a shortage hears of the cancel.
#include <fcntl.h>
#include <fin/process.h>
#include <sys/resource.h>

#include "net.h"

int main(void) {
    struct rlimit before;
    const char *argv[] = {"true", NULL};
    struct fin_spawn how = {.path = "true", .argv = argv};
    off_t at = 0;
    char c;
    int fd[2], status, file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (on_valgrind())
        SKIP("valgrind keeps the limit of descriptors to itself");
    CHECK(file >= 0);
    stream_pair(fd);
    CHECK_EQ(fin_sleep(1), 0);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(0);
    CHECK(next >= 0);
    close(next);
    struct rlimit low = {.rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    CHECK_EQ(fin_sendfile(fd[0], file, &at, 1), -EMFILE);
    CHECK_EQ(fin_run(&how, NULL, 0, &c, 1, &status), -EMFILE);
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_sendfile(fd[0], file, &at, 1), -ECANCELED);
        CHECK_EQ(fin_sendfile_nc(fd[0], file, &at, 1), -EMFILE);
        CHECK_EQ(fin_run(&how, NULL, 0, &c, 1, &status), -ECANCELED);
        CHECK_EQ(fin_run(&how, "x", 1, &c, 1, &status), -ECANCELED);
    }
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0); // for who looks at the end, as ASan does
    CHECK_EQ(at, 0);
    return 0;
}
