// SPDX-License-Identifier: BSD-2-Clause
// Conversations by readers and writers of all kinds of streams, by AWEs with stacks and without, of two threads, in blocks
// that are cancelled at random: what an end reads is what the other one's calls have said that they took, in order, and each
// piece is the one that the bytes before it make it.
// FIN_SEED=n FIN_ROUNDS=n in the environment: others, and more.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>

#include "../io/attempts.h"

#include <fin/bufio.h>

enum { LONGEST = 6000, SPACE = 4096, GUARD = 16 };
enum kind { SOCKETS, TCP, PIPES, FILES, KINDS };

struct end {
    struct end *peer;
    struct fin_reader r;
    struct fin_writer w;
    struct act *reads, *writes;
    int in, out, thread;
    size_t taken, read; // of what it writes, by the writer; of what the peer does
    size_t length;      // of all that it writes
    size_t most, room;  // what the buffers keep
    bool skips;         // has been cancelled in that
    bool calls, calls_on; // streams of functions; those have forms without a stack
    _Atomic bool ended;
    unsigned failures;                 // that its calls made up
    char before[SPACE + GUARD], behind[SPACE + GUARD], bytes[LONGEST];
    char *piece;
    struct fin_reader_on reader_on;
    struct fin_writer_on writer_on;
    unsigned what, byte;
    size_t count;
};

static struct end ends[2];
static enum kind kind;
static bool may_fail;

// ---- streams of functions, which take their time and do less than they are asked for

static size_t some_of(size_t n) { return chance(2) ? n : 1 + chance((unsigned)n); }

static FIN_BLOCKING ssize_t delays(struct end *e) {
    if (may_fail && chance(20) == 0) {
        e->failures++;
        return -EIO;
    }
    return chance(8) == 0 ? fin_sleep(chance(50) * FIN_US) : 0;
}

static FIN_BLOCKING ssize_t reads_some(void *end, void *buffer, size_t size) {
    struct end *e = end;
    ssize_t error = delays(e);
    return error ? error : fin_read(e->in, buffer, some_of(size));
}

static FIN_BLOCKING ssize_t writes_some(void *end, const void *data, size_t size) {
    struct end *e = end;
    ssize_t error = delays(e);
    return error ? error : fin_write(e->out, data, some_of(size));
}

static int reads_some_on(void *end, void *buffer, size_t bytes, struct fin_more_on *on, fin_cont *cont, const void *state,
                         size_t size) {
    return fin_read_on((struct fin_on *)(void *)on, ((struct end *)end)->in, buffer, some_of(bytes), cont, state, size);
}

static int writes_some_on(void *end, const void *data, size_t bytes, struct fin_more_on *on, fin_cont *cont,
                          const void *state, size_t size) {
    return fin_write_on((struct fin_on *)(void *)on, ((struct end *)end)->out, data, some_of(bytes), cont, state, size);
}

static FIN_BLOCKING int flushes(void *end) {
    struct end *e = end;
    return (int)delays(e);
}

static const struct fin_stream_calls with_stack = {.read = reads_some, .write = writes_some},
                                     without_stack = {.read = reads_some, .write = writes_some, .read_on = reads_some_on,
                                                      .write_on = writes_some_on, .flush = flushes};

// ---- what a reader is to say

static const char *at(const struct end *e) { return e->peer->bytes + e->read; }
static size_t left(const struct end *e) { return e->peer->length - e->read; }

static bool made_up(struct end *e, ssize_t result) {
    if (result != -EIO)
        return false;
    HOLDS_OF(e->reads, e->failures > 0);
    return true;
}

// How long the piece is that ends with that byte, or why there is none.
static ssize_t length_of_piece(const struct end *e, unsigned byte) {
    size_t in_sight = left(e) < e->most ? left(e) : e->most;
    const char *end = memchr(at(e), (int)byte, in_sight);
    return end ? end - at(e) + 1 : in_sight == e->most ? -EMSGSIZE : in_sight ? (ssize_t)in_sight : -ENODATA;
}

static void heard_line(struct act *a) {
    struct end *e = a->object;
    ssize_t whole = length_of_piece(e, '\n'), n = whole;
    if (a->result == -ECANCELED || made_up(e, a->result))
        return;
    if (whole > 0 && at(e)[whole - 1] == '\n')
        n -= whole > 1 && at(e)[whole - 2] == '\r' ? 2 : 1;
    HOLDS_OF(a, a->result == n);
    if (n < 0)
        return;
    HOLDS_OF(a, memcmp(e->piece, at(e), (size_t)n) == 0 && e->piece[n] == 0);
    e->read += (size_t)whole;
}

static void heard_until(struct act *a) {
    struct end *e = a->object;
    ssize_t n = length_of_piece(e, e->byte);
    if (a->result == -ECANCELED || made_up(e, a->result))
        return;
    HOLDS_OF(a, a->result == n);
    if (n < 0)
        return;
    HOLDS_OF(a, memcmp(e->piece, at(e), (size_t)n) == 0);
    e->read += (size_t)n;
}

static void heard_peek(struct act *a) {
    struct end *e = a->object;
    if (a->result == -ECANCELED || made_up(e, a->result))
        return;
    if (e->count > e->most) {
        HOLDS_OF(a, a->result == -EMSGSIZE);
        return;
    }
    size_t n = (size_t)a->result;
    HOLDS_OF(a, a->result >= 0 && n <= left(e) && (n >= e->count || n == left(e)) && n <= e->most);
    HOLDS_OF(a, n == 0 || memcmp(e->piece, at(e), n) == 0);
    HOLDS_OF(a, fin_reader_take(&e->r, n + 1) == -EINVAL);
    n = n ? chance((unsigned)n + 1) : 0;
    HOLDS_OF(a, fin_reader_take(&e->r, n) == 0);
    e->read += n;
}

static void heard_read(struct act *a) {
    struct end *e = a->object;
    if (a->result == -ECANCELED || made_up(e, a->result))
        return;
    size_t n = (size_t)a->result;
    HOLDS_OF(a, a->result >= 0 && n <= a->size && n <= left(e) && (n > 0 || left(e) == 0 || a->size == 0));
    HOLDS_OF(a, memcmp(a->data, at(e), n) == 0);
    e->read += n;
}

static void heard_read_all(struct act *a) {
    struct end *e = a->object;
    HOLDS_OF(a, a->moved <= left(e) && memcmp(a->data, at(e), a->moved) == 0);
    if (a->result == 0)
        HOLDS_OF(a, a->moved == a->size);
    else if (a->result == -ENODATA)
        HOLDS_OF(a, a->moved == left(e));
    else
        HOLDS_OF(a, a->result == -ECANCELED || made_up(e, a->result));
    e->read += a->moved;
}

static void skipped(struct act *a, ssize_t result) {
    struct end *e = a->object;
    const char *end = memchr(at(e), (int)e->byte, left(e));
    HOLDS_OF(a, result == (end ? 0 : -ENODATA));
    e->read += end ? (size_t)(end - at(e)) + 1 : left(e);
}

static void heard_skip(struct act *a) {
    struct end *e = a->object;
    e->skips = a->result == -ECANCELED || made_up(e, a->result);
    if (!e->skips)
        skipped(a, a->result);
}

// One that was cancelled, or failed, has passed over something, but no such byte: what, nobody knows before it is gone on
// with.
static FIN_BLOCKING void skips_on_to_the_end(struct act *a) {
    struct end *e = a->object;
    int r;
    while ((r = fin_reader_skip_nc(&e->r, (unsigned char)e->byte)) == -EIO)
        HOLDS_OF(a, e->failures > 0);
    skipped(a, r);
    e->skips = false;
}

// ---- calls

static ssize_t lines(struct act *a) {
    struct end *e = a->object;
    return fin_reader_line(&e->r, &e->piece);
}
static int lines_on(struct act *a) {
    struct end *e = a->object;
    return fin_reader_line_on(&e->r, &e->piece, &e->reader_on, REST);
}
static ssize_t untils(struct act *a) {
    struct end *e = a->object;
    return fin_reader_until(&e->r, (unsigned char)e->byte, &e->piece);
}
static int untils_on(struct act *a) {
    struct end *e = a->object;
    return fin_reader_until_on(&e->r, (unsigned char)e->byte, &e->piece, &e->reader_on, REST);
}
static ssize_t peeks(struct act *a) {
    struct end *e = a->object;
    return fin_reader_peek(&e->r, e->count, &e->piece);
}
static int peeks_on(struct act *a) {
    struct end *e = a->object;
    return fin_reader_peek_on(&e->r, e->count, &e->piece, &e->reader_on, REST);
}
static ssize_t reads(struct act *a) {
    struct end *e = a->object;
    return fin_reader_read(&e->r, a->data, a->size);
}
static int reads_on(struct act *a) {
    struct end *e = a->object;
    return fin_reader_read_on(&e->r, a->data, a->size, &e->reader_on, REST);
}
static ssize_t reads_all(struct act *a) {
    struct end *e = a->object;
    a->counts = true;
    return fin_reader_read_all(&e->r, a->data, a->size, &a->moved);
}
static int reads_all_on(struct act *a) {
    struct end *e = a->object;
    a->counts = true;
    return fin_reader_read_all_on(&e->r, a->data, a->size, &a->moved, &e->reader_on, REST);
}
static ssize_t skips(struct act *a) {
    struct end *e = a->object;
    return fin_reader_skip(&e->r, (unsigned char)e->byte);
}
static int skips_on(struct act *a) {
    struct end *e = a->object;
    return fin_reader_skip_on(&e->r, (unsigned char)e->byte, &e->reader_on, REST);
}

static const struct {
    const char *name;
    ssize_t (*run)(struct act *a);
    int (*run_on)(struct act *a);
    void (*heard)(struct act *a);
} reading[] = {{"line", lines, lines_on, heard_line},
               {"until", untils, untils_on, heard_until},
               {"peek", peeks, peeks_on, heard_peek},
               {"read", reads, reads_on, heard_read},
               {"read_all", reads_all, reads_all_on, heard_read_all},
               {"skip", skips, skips_on, heard_skip}};

static size_t some_size(size_t space) { return chance(8) ? chance(1 + (unsigned)space) : chance(MOST); }

// The forms that do not wait: as the others, or nothing is there.
static void tries(struct end *e) {
    struct act *a = e->reads;
    a->name = "try";
    a->counts = false;
    a->result = e->what == 0   ? fin_reader_try_line(&e->r, &e->piece)
                : e->what == 1 ? fin_reader_try_until(&e->r, (unsigned char)e->byte, &e->piece)
                               : fin_reader_try_peek(&e->r, e->count, &e->piece);
    if (a->result != -EAGAIN)
        reading[e->what].heard(a);
}

static void check_guards(const struct end *e) {
    for (unsigned i = 0; i < GUARD; i++)
        HOLDS(e->before[e->most + i] == 'g' && e->behind[e->room + i] == 'g');
}

static FIN_BLOCKING void reads_everything(void *end) {
    struct end *e = end;
    struct act *a = e->reads;
    for (unsigned ends_seen = 0; ends_seen < 3;) {
        e->what = chance(12) ? chance(5) : 5;
        e->byte = "\nab\r"[chance(4)];
        e->count = some_size(e->most);
        a->size = some_size(e->most);
        if (e->what < 3 && chance(4) == 0) {
            tries(e);
            e->what = 3; // what it could not say is not waited for
            a->size = 1 + a->size % MOST;
        }
        a->name = reading[e->what].name;
        a->run = reading[e->what].run;
        a->run_on = reading[e->what].run_on;
        a->heard = reading[e->what].heard;
        attempt(a);
        if (e->skips)
            skips_on_to_the_end(a);
        check_guards(e);
        ends_seen += left(e) == 0 && e->ended;
    }
}

static ssize_t writes(struct act *a) {
    struct end *e = a->object;
    a->counts = true;
    return fin_writer_write(&e->w, e->bytes + e->taken, a->size, &a->moved);
}
static int writes_on(struct act *a) {
    struct end *e = a->object;
    a->counts = true;
    return fin_writer_write_on(&e->w, e->bytes + e->taken, a->size, &a->moved, &e->writer_on, REST);
}
static ssize_t prints(struct act *a) {
    struct end *e = a->object;
    return fin_writer_printf(&e->w, "%.*s", (int)a->size, e->bytes + e->taken);
}
static ssize_t flushes_all(struct act *a) {
    struct end *e = a->object;
    a->counts = true;
    return fin_writer_flush(&e->w);
}
static int flushes_all_on(struct act *a) {
    struct end *e = a->object;
    a->counts = true;
    return fin_writer_flush_on(&e->w, &e->writer_on, REST);
}

static void heard_write(struct act *a) {
    struct end *e = a->object;
    HOLDS_OF(a, a->moved <= a->size && (a->result != 0 || a->moved == a->size));
    HOLDS_OF(a, a->result == 0 || a->result == -ECANCELED || (a->result == -EIO && e->failures));
    e->taken += a->moved;
}

static void heard_print(struct act *a) {
    struct end *e = a->object;
    if (a->result == -EMSGSIZE)
        HOLDS_OF(a, a->size >= e->room);
    else
        HOLDS_OF(a, a->result == (ssize_t)a->size || a->result == -ECANCELED || (a->result == -EIO && e->failures));
    e->taken += a->moved;
}

static void heard_flush(struct act *a) {
    struct end *e = a->object;
    HOLDS_OF(a, a->result == 0 || a->result == -ECANCELED || (a->result == -EIO && e->failures));
}

static FIN_BLOCKING void writes_everything(void *end) {
    struct end *e = end;
    struct act *a = e->writes;
    while (e->taken < e->length) {
        unsigned what = chance(6);
        size_t rest = e->length - e->taken;
        a->size = some_size(e->room);
        a->size = a->size < rest ? a->size : rest;
        a->name = what < 3 ? "write" : what < 5 ? "printf" : "flush";
        a->run = what < 3 ? writes : what < 5 ? prints : flushes_all;
        a->run_on = what < 3 ? writes_on : what < 5 ? NULL : flushes_all_on;
        a->heard = what < 3 ? heard_write : what < 5 ? heard_print : heard_flush;
        attempt(a);
        check_guards(e);
    }
    while (fin_writer_flush_nc(&e->w) != 0)
        HOLDS_OF(a, e->failures > 0);
    e->peer->ended = true;
    if (kind == PIPES || kind == FILES)
        close(e->out);
    else
        shutdown(e->out, SHUT_WR);
}

// ---- a round

static void make_streams(void) {
    struct sockaddr_in address;
    int fd[2], few = 4096, listener;
    switch (kind) {
    case SOCKETS: HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0); break;
    case TCP:
        listener = tcp_listen(&address, 1);
        fd[0] = tcp_connect(&address);
        fd[1] = accept(listener, NULL, NULL);
        close(listener);
        break;
    default:
        for (unsigned i = 0; i < 2; i++) {
            HOLDS(kind == PIPES ? pipe(fd) == 0 : (fd[0] = memfd_create("lines", 0)) >= 0);
            if (kind == FILES) {
                char path[32];
                snprintf(path, sizeof path, "/proc/self/fd/%d", fd[0]);
                HOLDS((fd[1] = open(path, O_WRONLY)) >= 0);
            }
            ends[i].out = fd[1];
            ends[!i].in = fd[0];
        }
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        ends[i].in = ends[i].out = fd[i];
        setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &few, sizeof few);
    }
}

static void make_end(struct end *e) {
    static const char letters[] = "abcde\r\n\n";
    e->length = chance(4) ? chance(LONGEST) : chance(100);
    for (size_t i = 0; i < e->length; i++)
        e->bytes[i] = letters[chance(chance(3) ? 5 : 8)];
    e->taken = e->read = e->failures = 0;
    e->ended = false;
    e->calls = chance(2);
    e->calls_on = chance(2);
    memset(e->before, 'g', sizeof e->before);
    memset(e->behind, 'g', sizeof e->behind);
    size_t space = chance(2) ? 2 + chance(60) : SPACE;
    e->most = space;
    e->room = chance(2) ? 2 + chance(60) : SPACE;
    const struct fin_stream_calls *calls = e->calls_on ? &without_stack : &with_stack;
    HOLDS((e->calls ? fin_reader_init_from(&e->r, calls, e, e->before, space)
                    : fin_reader_init(&e->r, e->in, e->before, space)) == 0);
    HOLDS((e->calls ? fin_writer_init_to(&e->w, calls, e, e->behind, e->room)
                    : fin_writer_init(&e->w, e->out, e->behind, e->room)) == 0);
    e->reads = new_act("reads", e);
    e->writes = new_act("writes", e);
}

static void runs_ends(void *number) {
    int me = (int)(intptr_t)number;
    own_seed = seed * 2 + (unsigned)me;
    fin_finish {
        for (unsigned i = 0; i < 2; i++) {
            if (ends[i].thread == me) {
                fin_async_call(writes_everything, &ends[i]);
                fin_async_call(reads_everything, &ends[i]);
            }
        }
    }
}

static void one(void) {
    own_seed = seed;
    kind = chance(KINDS);
    may_fail = chance(4) == 0;
    thread_count = kind == FILES ? 1 : 1 + chance(2);
    for (unsigned i = 0; i < 2; i++) {
        ends[i].peer = &ends[!i];
        ends[i].thread = (int)(i % thread_count);
    }
    make_streams();
    make_end(&ends[0]);
    make_end(&ends[1]);
    if (kind == FILES) { // which end where they have been written up to
        for (unsigned i = 0; i < 2; i++)
            writes_everything(&ends[i]);
        for (unsigned i = 0; i < 2; i++)
            reads_everything(&ends[i]);
    } else {
        for (unsigned i = 0; i < 2; i++)
            fin_reader_tie(&ends[i].r, chance(2) ? &ends[i].w : NULL);
        on_all_threads(runs_ends);
    }
    for (unsigned i = 0; i < 2; i++) {
        HOLDS(ends[i].read == ends[!i].length);
        close(ends[i].in);
    }
    free_acts();
}

static void hangs(int unused) {
    (void)unused;
    for (int i = 0; i < act_count && i < ACTS; i++)
        show(acts[i]);
    fails(__FILE__, __LINE__, "it ends", NULL);
}

int main(void) {
    printf("%u rounds\n", run_rounds(1500, 150, 60, one, hangs));
    return 0;
}
