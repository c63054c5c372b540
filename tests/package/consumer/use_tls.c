// SPDX-License-Identifier: BSD-2-Clause
// As each program with TLS does, it makes its SSL_CTX by OpenSSL's own functions, and uses libfin, too.
#include <fin/io.h>
#include <fin/tls.h>
#include <openssl/ssl.h>

FIN_BLOCKING int main(void) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    struct fin_tls *t = NULL;
    int error = context ? fin_tls_new(&t, context, 0) : 1;
    fin_tls_free(t);
    SSL_CTX_free(context);
    return error != 0 || fin_sleep(FIN_MS) != 0;
}
