// SPDX-License-Identifier: BSD-2-Clause
// Servers that are dead: nobody at the port, or no answer in time. Threads that end, some in the middle of a look-up, leave
// no descriptor.
#include <poll.h>
#include <pthread.h>

#include "dns.h"

static struct dns server;

static void *some(void *name) {
    fin_finish {
        use_server(&server, 100, 1);
        fin_async_eager { resolve(name); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        if (*(char *)name == 's')
            pthread_exit(NULL);
    }
    return NULL;
}

static void run_thread(const char *name) {
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, some, (void *)name), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

int main(void) {
    dns_open(&server); // whose sockets nobody reads
    use_server(&server, 30, 2);
    uint64_t before = fin_now();
    CHECK_EQ(resolve("a.test."), -ETIMEDOUT);
    CHECK(fin_now() - before >= 30 * FIN_MS);
    run_thread("a.test.");
    int descriptors = open_descriptors();
    for (int i = 0; i < 10; i++)
        run_thread(i % 2 ? "silent.test." : "a.test.");
    CHECK_EQ(open_descriptors(), descriptors);

    close(server.udp);
    CHECK_EQ(resolve("a.test."), -ECONNREFUSED);
    return 0;
}
