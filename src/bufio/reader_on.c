// SPDX-License-Identifier: BSD-2-Clause
// Reading with a continuation, as fin_reader_line and its like.
#include "bufio/bufio.h"

#include <errno.h>
#include <limits.h>

#include "core/told.h"

// In the program's struct fin_reader_on.
struct reading {
    struct fin_kept kept; // first: the address of this is the state of our continuations
    struct fin_reader *r;
    struct wanted wanted;
    union {
        struct fin_on descriptor;
        struct fin_more_on stream;
    } wait; // one after the other
};
_Static_assert(sizeof(struct reading) <= sizeof(struct fin_reader_on), "room for a wait");

static FIN_BLOCKING FIN_INNER void received(void *state, int n);

static void over(struct reading *g, ssize_t n) {
    g->r->busy = false;
    if (g->wanted.done)
        *g->wanted.done = g->wanted.got;
    fin_cont_tell(&g->kept, (int)n);
}

// Returns what was read where that was not waited for, or with the stack of the step: where what is tied has to wait as
// well, or the stream has no function for the other way. Or why it is refused.
static FIN_BLOCKING ssize_t read_some(struct reading *g) {
    struct fin_reader *r = g->r;
    ssize_t n;
    fin_reader_make_room(r, &g->wanted);
    char *to = g->wanted.to;
    size_t room = g->wanted.room;
    if (r->tied && !fin_writer_is_flushed(r->tied) && !fin_reader_flush_tied(r, to, room, true, &n))
        return n;
    if (fin_reader_take_end(r))
        return 0;
    if (r->fd < 0)
        return r->calls->read_on ? r->calls->read_on(r->stream, to, room, &g->wait.stream, received, &g, sizeof g)
                                 : fin_reader_source(r, to, room);
    return r->is_file ? fin_read_on(&g->wait.descriptor, r->fd, to, room, received, &g, sizeof g)
                      : fin_recv_on(&g->wait.descriptor, r->fd, to, room, 0, received, &g, sizeof g);
}

// `more` was read, or is why nothing was.
static FIN_BLOCKING void go_on(struct reading *g, ssize_t more) {
    while ((more = fin_reader_has(g->r, &g->wanted, more)) >= 0) {
        ssize_t n = fin_reader_find(g->r, &g->wanted, more == 0);
        if (n != -EAGAIN) {
            over(g, n);
            return;
        }
        more = read_some(g);
    }
    over(g, more);
}

static FIN_BLOCKING FIN_INNER void received(void *state, int n) {
    struct reading *g = *(struct reading **)state;
    bool is_file = n == -ENOTSOCK && g->r->fd >= 0 && !g->r->is_file;
    g->r->is_file |= is_file;
    go_on(g, is_file ? read_some(g) : n);
}

static FIN_BLOCKING FIN_INNER void begins(void *state, int result) {
    struct reading *g = *(struct reading **)state;
    (void)result;
    ssize_t n = fin_reader_find(g->r, &g->wanted, false);
    if (n != -EAGAIN)
        over(g, n);
    else
        go_on(g, read_some(g));
}

static int get_on(struct fin_reader *r, struct wanted wanted, struct fin_reader_on *on, fin_cont *cont, const void *state,
                  size_t size) {
    struct reading *g = (struct reading *)(void *)on;
    int error = fin_cont_may_wait(cont, state, size);
    if (error || r->busy)
        return error ? error : -EBUSY;
    fin_keep(&g->kept, cont, state, size);
    g->r = r;
    g->wanted = wanted;
    r->busy = true;
    return fin_cont_call(begins, &g, sizeof g, 0); // others may run before that
}

int fin_reader_line_on(struct fin_reader *r, char **line, struct fin_reader_on *on, fin_cont *cont, const void *state,
                       size_t size) {
    return get_on(r, (struct wanted){.what = LINE, .end = '\n', .piece = line}, on, cont, state, size);
}

int fin_reader_until_on(struct fin_reader *r, unsigned char end, char **piece, struct fin_reader_on *on, fin_cont *cont,
                        const void *state, size_t size) {
    return get_on(r, (struct wanted){.what = UNTIL, .end = end, .piece = piece}, on, cont, state, size);
}

int fin_reader_peek_on(struct fin_reader *r, size_t count, char **piece, struct fin_reader_on *on, fin_cont *cont,
                       const void *state, size_t size) {
    return get_on(r, (struct wanted){.what = PEEK, .count = count, .piece = piece}, on, cont, state, size);
}

int fin_reader_skip_on(struct fin_reader *r, unsigned char end, struct fin_reader_on *on, fin_cont *cont, const void *state,
                       size_t size) {
    return get_on(r, (struct wanted){.what = SKIP, .end = end}, on, cont, state, size);
}

int fin_reader_read_on(struct fin_reader *r, void *buffer, size_t bytes, struct fin_reader_on *on, fin_cont *cont,
                       const void *state, size_t size) {
    size_t most = bytes < INT_MAX ? bytes : INT_MAX; // that a continuation can be told
    return get_on(r, (struct wanted){.what = READ, .count = most, .buffer = buffer}, on, cont, state, size);
}

int fin_reader_read_all_on(struct fin_reader *r, void *buffer, size_t bytes, size_t *done, struct fin_reader_on *on,
                           fin_cont *cont, const void *state, size_t size) {
    struct wanted all = {.what = READ_ALL, .count = bytes, .buffer = buffer, .done = done};
    if (done)
        *done = 0;
    return get_on(r, all, on, cont, state, size);
}
