// SPDX-License-Identifier: BSD-2-Clause
// A program that uses the libraries beside Fin.
#include <fin.h>
#include <fin/resolve.h>
#include <fin/tls.h>

#include <openssl/ssl.h>

int main(void) {
    struct addrinfo *a;
    struct fin_tls *t;
    int error = 1;
    fin_timeout(10 * FIN_S) { error = fin_getaddrinfo("127.0.0.1", "443", NULL, &a); }
    if (error != 0)
        return 1;
    fin_freeaddrinfo(a);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context || fin_tls_new(&t, context, -1) != 0)
        return 2;
    char c;
    int result = fin_tls_read(t, &c, 1) == -ENOTCONN && fin_tls_connect(t, "localhost") == -EBADF ? 0 : 3;
    fin_tls_free(t);
    SSL_CTX_free(context);
    return result;
}
