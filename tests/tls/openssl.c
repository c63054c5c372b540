// SPDX-License-Identifier: BSD-2-Clause
// Against another TLS: the openssl program as client and as server, over TCP.
#include <fcntl.h>
#include <openssl/pem.h>

#include "child.h"
#include "pair.h"

static struct certificate certificate;
static char directory[] = "/tmp/fin-tls-XXXXXX", file[64];

static void write_files(void) {
    CHECK(mkdtemp(directory));
    snprintf(file, sizeof file, "%s/both.pem", directory);
    FILE *f = fopen(file, "w");
    CHECK(f);
    CHECK_EQ(PEM_write_X509(f, certificate.x509), 1);
    CHECK_EQ(PEM_write_PrivateKey(f, certificate.key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(f);
}

static void serve(int listener) {
    char buffer[64];
    int fd = fin_accept(listener, NULL, NULL);
    CHECK(fd >= 0);
    struct fin_tls *t;
    SSL_CTX *context = server_context(&certificate);
    CHECK_EQ(fin_tls_new(&t, context, fd), 0);
    SSL_CTX_free(context);
    CHECK_EQ(fin_tls_accept(t), 0);
    ssize_t n = fin_tls_read(t, buffer, sizeof buffer);
    CHECK_EQ(n, 6);
    CHECK(memcmp(buffer, "hello\n", 6) == 0);
    CHECK_EQ(fin_tls_write(t, "welcome\n", 8), 8);
    CHECK_EQ(fin_tls_shutdown(t), 0);
    n = fin_tls_read(t, buffer, sizeof buffer);
    CHECK(n == 0 || n == -ECONNABORTED || n == -ECONNRESET); // it does not always say so
    fin_tls_free(t);
    close(fd);
}

static void their_client(void) {
    struct sockaddr_in address;
    static int listener, status;
    static char to[32], output[256];
    listener = tcp_listen(&address, 1);
    snprintf(to, sizeof to, "127.0.0.1:%d", ntohs(address.sin_port));
    fin_finish {
        fin_async { serve(listener); };
        struct fin_spawn how = {.path = "openssl"};
        how.argv = ARGV("openssl", "s_client", "-quiet", "-verify_return_error", "-verify_hostname", "localhost", "-CAfile",
                        file, "-connect", to);
        how.fds = &(struct fin_spawn_fd){STDERR_FILENO, FIN_SPAWN_NULL};
        how.fd_count = 1;
        CHECK_EQ(fin_run(&how, "hello\n", 6, output, sizeof output, &status), 8);
        CHECK(memcmp(output, "welcome\n", 8) == 0);
    }
    close(listener);
}

// It says when it can be reached; which may be late, so that its port may be another's by then only in theory.
static int connected(const struct sockaddr_in *address) {
    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int r = fin_connect(fd, (const struct sockaddr *)address, sizeof *address);
        if (r == 0)
            return fd;
        CHECK_EQ(r, -ECONNREFUSED);
        close(fd);
        CHECK_EQ(fin_sleep(5 * FIN_MS), 0);
    }
}

static void their_server(void) {
    struct sockaddr_in address;
    struct fin_process p;
    struct fin_tls *t;
    char port[16], buffer[64];
    close(tcp_listen(&address, -1));
    snprintf(port, sizeof port, "%d", ntohs(address.sin_port));
    struct fin_spawn how = {.path = "openssl"};
    how.argv = ARGV("openssl", "s_server", "-quiet", "-rev", "-cert", file, "-key", file, "-accept", port);
    how.fds = (struct fin_spawn_fd[]){{0, FIN_SPAWN_NULL}, {1, FIN_SPAWN_NULL}, {2, FIN_SPAWN_NULL}};
    how.fd_count = 3;
    CHECK_EQ(fin_spawn(&p, &how), 0);
    int fd = connected(&address);
    SSL_CTX *context = client_context(&certificate);
    CHECK_EQ(fin_tls_new(&t, context, fd), 0);
    SSL_CTX_free(context);
    CHECK_EQ(fin_tls_connect(t, "127.0.0.1"), 0);
    CHECK_EQ(fin_tls_write(t, "hello\n", 6), 6);
    size_t at = 0;
    while (at < 6) {
        ssize_t n = fin_tls_read(t, buffer + at, 6 - at);
        CHECK(n > 0);
        at += (size_t)n;
    }
    CHECK(memcmp(buffer, "olleh\n", 6) == 0);
    CHECK_EQ(fin_tls_shutdown(t), 0);
    fin_tls_free(t);
    close(fd);
    CHECK_EQ(fin_kill(&p, SIGKILL), 0);
    CHECK_EQ(fin_wait(&p, NULL), 0);
}

int main(void) {
    char version[64];
    if (fin_run(&(struct fin_spawn){.path = "openssl", .argv = ARGV("openssl", "version")}, NULL, 0, version, 64, NULL) < 0)
        SKIP("there is no openssl program");
    CHECK(certificate_make(&certificate));
    write_files();
    their_client();
    their_server();
    unlink(file);
    rmdir(directory);
    certificate_free(&certificate);
    return 0;
}
