// SPDX-License-Identifier: BSD-2-Clause
// A process forks while AWEs of it wait for answers. In the child, which looks up names itself, the copies of these wait
// until they are cancelled, and then end; the parent gets its answers.
#include <poll.h>
#include <sys/wait.h>

#include "dns.h"

static struct dns server;
static int results[3];
static const char *const silent[3] = {"l1.test.", "l2.test.", "s3.test."};

static void waits(void *number) {
    int n = *(int *)number;
    results[n] = resolve(silent[n]);
}

static void in_the_child(void) {
    struct dns other;
    alarm(60);
    dns_open(&other);
    fin_finish {
        fin_async_call(dns_serve, &other);
        use_server(&other, 2000, 2);
        CHECK_EQ(resolve("a.test."), 0);
        CHECK_EQ(resolve("l.test."), 0);
        fin_cancel();
    }
}

int main(void) {
    int number[3] = {0, 1, 2}, status;
    pid_t child = -1;
    skip_without_forks_of_threads();
    dns_open(&server);
    use_server(&server, 10000, 2);
    fin_finish_as(all) {
        fin_async_call(dns_serve, &server);
        fin_finish_as(look_ups) {
            for (int i = 0; i < 3; i++)
                fin_async_call(waits, &number[i]);
            while (server.asked < 3)
                fin_yield();
            child = fork();
            if (child == 0)
                in_the_child();
            else
                CHECK_EQ(fin_sleep(100 * FIN_MS), 0);
            fin_cancel_as(look_ups);
        }
        if (child == 0) {
            for (int i = 0; i < 3; i++)
                CHECK_EQ(results[i], -ECANCELED);
            execl("/bin/true", "true", NULL); // no search for leaks: what was its parent's is not given back
            _exit(1);
        }
        fin_cancel_as(all);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(results[0], 0);
    CHECK_EQ(results[1], 0);
    CHECK_EQ(results[2], -ECANCELED);
    return 0;
}
