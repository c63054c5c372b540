// SPDX-License-Identifier: BSD-2-Clause
// A connection as a stream with buffers.
#include "tls/tls.h"

static FIN_BLOCKING ssize_t read_some(void *t, void *buffer, size_t size) { return fin_tls_read(t, buffer, size); }
static FIN_BLOCKING ssize_t write_some(void *t, const void *data, size_t size) { return fin_tls_write(t, data, size); }
static FIN_BLOCKING int flush(void *t) { return fin_tls_flush(t); }
static int read_some_on(void *t, void *buffer, size_t bytes, struct fin_more_on *on, fin_cont *cont, const void *state,
                        size_t size) {
    return fin_tls_read_on(t, buffer, bytes, on, cont, state, size);
}
static int write_some_on(void *t, const void *data, size_t bytes, struct fin_more_on *on, fin_cont *cont, const void *state,
                         size_t size) {
    return fin_tls_write_on(t, data, bytes, on, cont, state, size);
}

static const struct fin_stream_calls calls = {.read = read_some, .write = write_some, .read_on = read_some_on,
                                              .write_on = write_some_on, .flush = flush};

const struct fin_stream_calls *fin_tls_calls(void) { return &calls; }

int fin_tls_reader_init(struct fin_reader *r, struct fin_tls *t, void *space, size_t size) {
    return fin_reader_init_from(r, &calls, t, space, size);
}

int fin_tls_writer_init(struct fin_writer *w, struct fin_tls *t, void *space, size_t size) {
    return fin_writer_init_to(w, &calls, t, space, size);
}
