// SPDX-License-Identifier: BSD-2-Clause
// Without descriptors a look-up says so, and the next one reads what it has to; a configuration that fails changes nothing.
#include <poll.h>
#include <sys/resource.h>

#include <fin/thread.h>

#include "dns.h"

static rlim_t usual;

// So many descriptors more can be opened; -1: as usual.
static void leave(int descriptors) {
    struct rlimit r;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &r), 0);
    r.rlim_cur = usual;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
    int next = dup(0);
    CHECK(next >= 0);
    close(next);
    r.rlim_cur = descriptors < 0 ? usual : (rlim_t)(next + descriptors);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
}

static void first_look_up(void *unused) {
    (void)unused;
    CHECK_EQ(fin_sleep(1), 0); // what the thread waits with is there
    for (int n = 0; n < 2; n++) {
        leave(n);
        CHECK_EQ(resolve("a.test."), -EMFILE);
    }
    leave(-1);
    CHECK_EQ(resolve("localhost"), 0);
}

static void configures(void *dns) {
    const struct dns *server = dns;
    use_server(server, 2000, 2);
    CHECK_EQ(resolve("a.test."), 0);
    leave(0);
    CHECK_EQ(fin_resolve_configure(NULL), -EMFILE);
    leave(-1);
    CHECK_EQ(fin_resolve_configure(&(struct fin_resolve_config){.servers = "not a server"}), -EINVAL);
    CHECK_EQ(resolve("a.test."), 0); // at the same server
}

static void looks_up(void *dns) {
    const struct dns *server = dns;
    use_server(server, 2000, 2);
    CHECK_EQ(resolve("localhost"), 0);
    leave(0);
    struct addrinfo *a;
    CHECK_EQ(resolve("a.test."), -EMFILE); // no socket
    CHECK_EQ(resolve("localhost"), -EMFILE);
    CHECK_EQ(fin_getaddrinfo("127.0.0.1", "http", &v4, &a), -EMFILE);
    CHECK_EQ(fin_getaddrinfo("fe80::1%lo", NULL, NULL, &a), -EMFILE);
    CHECK_EQ(resolve("127.0.0.1"), 0);
    leave(-1);
    CHECK_EQ(resolve("a.test."), 0);
}

// A name of /etc/hosts that c-ares would ask servers for if it were not there.
static bool known_name(char name[64]) {
    char line[256];
    bool found = false;
    FILE *f = fopen("/etc/hosts", "r");
    while (f && !found && fgets(line, sizeof line, f))
        found = sscanf(line, "%*[0-9.] %63[a-z0-9]", name) == 1 && strcmp(name, "localhost") != 0;
    if (f)
        fclose(f);
    return found;
}

// Nor does c-ares read /etc/hosts then: where a socket is there already, a server would be asked.
static void has_a_socket(void *dns) {
    static char name[64];
    static int asked;
    const struct dns *server = dns;
    if (!known_name(name))
        return;
    use_server(server, 2000, 2);
    asked = __atomic_load_n(&server->asked, __ATOMIC_RELAXED);
    fin_finish {
        fin_async { CHECK_EQ(resolve("silent.test."), -ECANCELED); };
        while (__atomic_load_n(&server->asked, __ATOMIC_RELAXED) == asked)
            CHECK_EQ(fin_sleep(FIN_MS), 0);
        leave(0);
        CHECK_EQ(resolve(name), -EMFILE);
        leave(-1);
        CHECK_EQ(resolve(name), 0);
        fin_cancel();
    }
    CHECK_EQ(__atomic_load_n(&server->asked, __ATOMIC_RELAXED), asked + 1);
}

static void in_a_thread(void (*fn)(void *), struct dns *server) {
    struct fin_thread_handle t;
    CHECK_EQ(fin_thread_start(&t, fn, server), 0);
    fin_thread_join(&t);
}

int main(void) {
    static struct dns server;
    struct rlimit r;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &r), 0);
    usual = r.rlim_cur;
    dns_open(&server);
    in_a_thread(first_look_up, NULL);
    fin_finish {
        fin_async_call(dns_serve, &server);
        in_a_thread(configures, &server);
        in_a_thread(looks_up, &server);
        in_a_thread(has_a_socket, &server);
        fin_cancel();
    }
    return 0;
}
