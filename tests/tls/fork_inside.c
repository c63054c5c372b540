// SPDX-License-Identifier: BSD-2-Clause
// The child of a fork has TLS, though another thread of its parent was at its first connection of all.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <openssl/bio.h>

#include "inside.h"
#include "pair.h"

static SSL_CTX *context;

// In place of OpenSSL's.
BIO_METHOD *BIO_meth_new(int type, const char *name) {
    BIO_METHOD *(*new)(int, const char *);
    *(void **)&new = dlsym(RTLD_NEXT, "BIO_meth_new");
    if (strcmp(name, "fin") == 0)
        stay_inside();
    return new (type, name);
}

static void connects(void) {
    struct fin_tls *t;
    CHECK_EQ(fin_tls_new(&t, context, -1), 0);
    fin_tls_free(t);
}

int main(void) {
    context = client_context(NULL);
    fork_while_inside(connects, connects);
    connects();
    SSL_CTX_free(context);
    return 0;
}
