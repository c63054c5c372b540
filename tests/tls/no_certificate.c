// SPDX-License-Identifier: BSD-2-Clause
// Where both sides do without certificates, nobody has shown that he is the host that the client names. It may name none.
#include "pair.h"

static struct fin_tls *client, *server;

static unsigned key_of_client(SSL *ssl, const char *hint, char *name, unsigned room, unsigned char *key, unsigned size) {
    (void)ssl, (void)hint, (void)room, (void)size;
    strcpy(name, "client");
    memset(key, 7, 16);
    return 16;
}

static unsigned key_of_server(SSL *ssl, const char *name, unsigned char *key, unsigned size) {
    (void)ssl, (void)size;
    CHECK_EQ(strcmp(name, "client"), 0);
    memset(key, 7, 16);
    return 16;
}

static SSL_CTX *context(const SSL_METHOD *method, int version, const char *suites) {
    SSL_CTX *c = SSL_CTX_new(method);
    CHECK(c);
    CHECK_EQ(SSL_CTX_set_cipher_list(c, suites), 1);
    CHECK_EQ(SSL_CTX_set_min_proto_version(c, version), 1);
    CHECK_EQ(SSL_CTX_set_max_proto_version(c, version), 1);
    SSL_CTX_set_psk_client_callback(c, key_of_client);
    SSL_CTX_set_psk_server_callback(c, key_of_server);
    return c;
}

static void connect_to(int version, const char *suites, const char *host, int expected) {
    SSL_CTX *contexts[2] = {context(TLS_client_method(), version, suites), context(TLS_server_method(), version, suites)};
    int fd[2];
    char byte;
    stream_pair(fd);
    CHECK_EQ(fin_tls_new(&client, contexts[0], fd[0]), 0);
    CHECK_EQ(fin_tls_new(&server, contexts[1], fd[1]), 0);
    fin_finish {
        fin_async { fin_tls_accept(server); };
        CHECK_EQ(fin_tls_connect(client, host), expected);
        CHECK_EQ(fin_tls_connect(client, host), expected);
        CHECK_EQ(fin_tls_write(client, "x", 1), expected == 0 ? 1 : -ENOTCONN);
        if (expected != 0)
            fin_cancel();
    }
    if (expected == 0)
        CHECK_EQ(fin_tls_read(server, &byte, 1), 1);
    else
        CHECK(strstr(fin_tls_error(client), "no certificate"));
    fin_tls_free(client);
    fin_tls_free(server);
    for (int i = 0; i < 2; i++) {
        close(fd[i]);
        SSL_CTX_free(contexts[i]);
    }
}

static void both(int version, const char *suites) {
    connect_to(version, suites, NULL, 0);
    connect_to(version, suites, "localhost", -EKEYREJECTED);
    connect_to(version, suites, "127.0.0.1", -EKEYREJECTED);
}

int main(void) {
    alarm(60);
    both(TLS1_2_VERSION, "AECDH:@SECLEVEL=0");
    both(TLS1_2_VERSION, "kPSK");
    both(TLS1_3_VERSION, "kPSK");
    return 0;
}
