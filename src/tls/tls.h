// SPDX-License-Identifier: BSD-2-Clause
// What the files of libfin-tls share. They see of libfin what programs see.
#ifndef FIN_TLS_TLS_H
#define FIN_TLS_TLS_H

#include <fin/tls.h>

#include <openssl/ssl.h>

#include <fin/sync.h>

struct fin_tls {
    SSL *ssl;
    int fd, error;
    int in_error; // of the socket, until somebody has heard of it
    bool begun, ready, ended, in_eof;
    bool in_more; // the last receive got all that it had room for
    bool has_data, has_answers; // in what is to be sent: the program's, and of reads
    struct fin_mutex reading, sending;
    struct fin_event received; // advanced when there is more, or nobody receives any more
    size_t in_at, in_end, out_at, out_end, out_size, behind_end, behind_size;
    char *out;    // while there is something in it
    char *behind; // what had no room in `out`, and is sent after it; or NULL
    char *host; // that the peer has to be, without a dot at its end
    char in[256], text[160];
};

// bio.c. NULL: no memory
BIO *fin_tls_bio(struct fin_tls *t);
bool fin_tls_has_out(struct fin_tls *t);  // makes room for what OpenSSL writes; false: no memory
bool fin_tls_all_sent(struct fin_tls *t); // then it has no buffer for it any more

// tls.c. What has no room for a wait says what is to be waited for: -EAGAIN, something is to be received into t->in;
// -ENOBUFS, all is to be sent first.
int fin_tls_begin_connect(struct fin_tls *t, const char *host);
int fin_tls_begin_accept(struct fin_tls *t);
int fin_tls_handshake_step(struct fin_tls *t); // pre: t->reading is held. Of the latter, all is to be sent for -EAGAIN, too
int fin_tls_room_step(struct fin_tls *t);      // 0: OpenSSL takes data, and there is room for a record
ssize_t fin_tls_take(struct fin_tls *t, const void *data, size_t size); // pre: just that. A count, to be sent; or an error
ssize_t fin_tls_written(const struct fin_tls *t, ssize_t n, int r); // what there is to say of that, where sending came to r
int fin_tls_take_end(struct fin_tls *t);
int fin_tls_socket_error(struct fin_tls *t); // or 0
// What sending came to; but of who is gone, and was to get no more than OpenSSL's own, such as tickets, it is 0.
int fin_tls_flushed(struct fin_tls *t, int r);
void fin_tls_leave_sending(struct fin_tls *t, int r); // t->sending; that is given up then

// The same. Pre: t->reading is held.
// As much as can be sent without waiting. Returns whether there is more, which nobody else is sending, or may not send to
// its end: as soon as there is room for it, it is to be called again.
bool fin_tls_send_some(struct fin_tls *t);
// One attempt to take data. Returns as fin_tls_read; -EAGAIN: something is to be received into t->in first. It seldom
// blocks: where OpenSSL's answers to the peer have no room.
FIN_BLOCKING ssize_t fin_tls_try_read(struct fin_tls *t, void *buffer, size_t size);
void fin_tls_received(struct fin_tls *t, size_t n); // in t->in; 0: the end
void fin_tls_leave_reading(struct fin_tls *t);

#endif
