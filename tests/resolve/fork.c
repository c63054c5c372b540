// SPDX-License-Identifier: BSD-2-Clause
// The child of a fork has sockets of its own, and leaves its parent's alone.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include "dns.h"

static struct dns server;

// A daemon, which has closed all that its parent had: the numbers are its own.
static void with_other_files(void) {
    int files[40];
    alarm(60);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    for (int i = 0; i < 40; i++)
        CHECK((files[i] = open("/dev/null", O_RDONLY)) >= 0);
    CHECK_EQ(resolve("localhost"), 0);
    for (int i = 0; i < 40; i++)
        CHECK(fcntl(files[i], F_GETFD) >= 0);
    _exit(0);
}

static void in_the_child(void) {
    struct dns other;
    alarm(60);
    dns_open(&other);
    CHECK_EQ(resolve("localhost"), 0);
    fin_finish {
        fin_async_call(dns_serve, &other);
        use_server(&other, 2000, 2);
        CHECK_EQ(resolve("a.test."), 0);
        fin_cancel();
    }
    execl("/bin/true", "true", NULL); // no search for leaks: what was its parent's is not given back
    _exit(1);
}

int main(void) {
    static int result;
    dns_open(&server);
    use_server(&server, 2000, 2);
    CHECK_EQ(resolve("localhost"), 0);
    pid_t child = fork();
    if (child == 0)
        in_the_child();
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    child = fork();
    if (child == 0)
        with_other_files();
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    fin_finish {
        fin_async_call(dns_serve, &server);
        result = resolve("a.test.");
        fin_cancel();
    }
    CHECK_EQ(result, 0);
    return 0;
}
