// SPDX-License-Identifier: BSD-2-Clause
// Which names a server may have: the one asked for, also where that is written as a name server wants it, with a dot at its
// end; and no other, whatever OpenSSL takes a name for.
#include "pair.h"

static struct pair p;
static char told[64];

static int note_name(SSL *ssl, int *alert, void *unused) {
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    (void)alert;
    (void)unused;
    snprintf(told, sizeof told, "%s", name ? name : "none");
    return SSL_TLSEXT_ERR_OK;
}

// The server's certificate is for a.example.org as well.
static void open_named(void) {
    pair_open(&p, false, 0);
    X509 *x = X509_dup(p.certificate.x509);
    CHECK(x);
    X509_EXTENSION_free(X509_delete_ext(x, X509_get_ext_by_NID(x, NID_subject_alt_name, -1)));
    X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:localhost,DNS:a.example.org");
    CHECK(names && X509_add_ext(x, names, -1) == 1);
    X509_EXTENSION_free(names);
    CHECK(X509_sign(x, p.certificate.key, EVP_sha256()) > 0);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(p.contexts[0]), x);
    SSL_CTX_use_certificate(p.contexts[1], x);
    X509_free(x);
    SSL_CTX_set_tlsext_servername_callback(p.contexts[1], note_name);
    fin_tls_free(p.client);
    fin_tls_free(p.server);
    CHECK_EQ(fin_tls_new(&p.client, p.contexts[0], p.fd[0]), 0);
    CHECK_EQ(fin_tls_new(&p.server, p.contexts[1], p.fd[1]), 0);
    strcpy(told, "nothing");
}

static void asks_for(const char *host, int expected, const char *name) {
    open_named();
    fin_finish {
        fin_async { fin_tls_accept(p.server); };
        CHECK_EQ(fin_tls_connect(p.client, host), expected);
        fin_cancel();
    }
    if (strcmp(told, name) != 0)
        fprintf(stderr, "told: %s\n", told);
    CHECK(strcmp(told, name) == 0);
    pair_close(&p);
}

// Goes on where a cancel ended the call before.
static void goes_on(const char *first, const char *then, int expected) {
    open_named();
    fin_finish {
        fin_async { CHECK_EQ(fin_tls_connect(p.client, first), -ECANCELED); };
        fin_cancel();
    }
    fin_finish {
        fin_async { fin_tls_accept(p.server); };
        CHECK_EQ(fin_tls_connect(p.client, then), expected);
        fin_cancel();
    }
    pair_close(&p);
}

int main(void) {
    asks_for("a.example.org", 0, "a.example.org");
    asks_for("a.example.org.", 0, "a.example.org");
    asks_for("example.org.", -EKEYREJECTED, "example.org");
    asks_for("a.example.org..", -EINVAL, "nothing");
    asks_for(".example.org", -EINVAL, "nothing"); // to OpenSSL any name that ends so
    asks_for(".", -EINVAL, "nothing");
    goes_on("a.example.org", "a.example.org.", 0);
    goes_on("a.example.org.", "a.example.org", 0);
    goes_on("a.example.org.", "a.example.or", -EINVAL);
    goes_on("a.example.org", "a.example.org..", -EINVAL);
    return 0;
}
