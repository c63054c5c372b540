// SPDX-License-Identifier: BSD-2-Clause
// A certificate that is made on the spot, signed by itself, for "localhost" and 127.0.0.1; and the contexts of the two
// sides.
#ifndef FIN_EXAMPLES_CERTIFICATE_H
#define FIN_EXAMPLES_CERTIFICATE_H

#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>

struct certificate {
    EVP_PKEY *key;
    X509 *x509;
};

// Returns false where OpenSSL cannot.
static inline bool certificate_make(struct certificate *c) {
    c->key = EVP_EC_gen("P-256");
    X509 *x = c->x509 = X509_new();
    if (!c->key || !x)
        return false;
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, c->key);
    X509_NAME *name = X509_get_subject_name(x);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1, 0);
    X509_set_issuer_name(x, name);
    X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    bool done = names && X509_add_ext(x, names, -1) == 1 && X509_sign(x, c->key, EVP_sha256()) > 0;
    X509_EXTENSION_free(names);
    return done;
}

static inline void certificate_free(struct certificate *c) {
    EVP_PKEY_free(c->key);
    X509_free(c->x509);
}

static inline SSL_CTX *server_context(const struct certificate *c) {
    SSL_CTX *x = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(x, c->x509);
    SSL_CTX_use_PrivateKey(x, c->key);
    return x;
}

// Trusts that certificate; NULL: no one.
static inline SSL_CTX *client_context(const struct certificate *trusted) {
    SSL_CTX *x = SSL_CTX_new(TLS_client_method());
    if (trusted)
        X509_STORE_add_cert(SSL_CTX_get_cert_store(x), trusted->x509);
    return x;
}

#endif
