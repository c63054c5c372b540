// SPDX-License-Identifier: BSD-2-Clause
// A trace as JSON, in the form of an array without its end, which Perfetto and Chrome take: so processes can append to it.
// Nothing is allocated, because a program that crashes writes its trace, too.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/linux/quiet.h"
#include "host/linux/symbol.h"
#include "host/linux/trace.h"

// Names of functions are looked up in files: once each, as a rule. And tracks that have been named.
enum { CACHED = 512, TEXT = 120 };
static struct {
    const void *fn;
    char text[TEXT];
} names[CACHED];
static struct {
    uint64_t who;
    const void *fn;
} tracks[CACHED];

struct out {
    int fd, error;
    size_t n;
    char text[4096];
};

static void flush(struct out *o) {
    for (size_t done = 0; done < o->n && o->error == 0;) {
        ssize_t n = write(o->fd, o->text + done, o->n - done);
        done += n > 0 ? (size_t)n : 0;
        if (n < 0 && errno != EINTR)
            o->error = -errno;
    }
    o->n = 0;
}

static void make_room(struct out *o) { // for half of what it holds
    if (o->n > sizeof o->text / 2)
        flush(o);
}

static __attribute__((format(printf, 2, 3))) void put(struct out *o, const char *format, ...) {
    va_list args;
    make_room(o);
    va_start(args, format);
    int n = vsnprintf(o->text + o->n, sizeof o->text - o->n, format, args);
    va_end(args);
    o->n += n > 0 ? (size_t)n : 0;
}

static size_t place(uint64_t key) { return key * 0x9e3779b97f4a7c15u >> 55; }

// The length of the character of UTF-8 there; 0: it is none, as where a name was cut.
static size_t character(const unsigned char *t) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *t < 0x80 ? 1 : *t < 0xc0 ? 0 : *t < 0xe0 ? 2 : *t < 0xf0 ? 3 : *t < 0xf8 ? 4 : 0;
    uint32_t c = n < 2 ? 0 : *t & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((t[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (t[i] & 0x3f);
    }
    return n > 1 && (c < least[n] || c / 0x800 == 0xd800 / 0x800 || c > 0x10ffff) ? 0 : n;
}

static void quoted(struct out *o, const char *text) {
    for (size_t n; *text; text += n ? n : 1) {
        make_room(o);
        n = character((const unsigned char *)text);
        if (*text == '"' || *text == '\\')
            o->text[o->n++] = '\\';
        if (n == 0 || (unsigned char)*text < ' ')
            o->text[o->n++] = '?';
        else
            memcpy(o->text + o->n, text, n), o->n += n;
    }
}

static const char *function(const void *fn) {
    size_t i = place((uintptr_t)fn);
    if (names[i].fn != fn) {
        names[i].fn = fn;
        fin_symbol_at(fn, names[i].text, TEXT);
    }
    return names[i].text;
}

// The tracks of AWEs are threads of the process, with numbers that threads do not have.
static unsigned track(const struct fin_trace_ring *r, const struct fin_trace_event *e) {
    return e->who ? 0x40000000u | (unsigned)(e->who / 64 & 0x3fffffff) : (unsigned)r->tid;
}

static void head(struct out *o, const struct fin_trace_ring *r, const struct fin_trace_event *e, char phase) {
    put(o, "{\"ph\":\"%c\",\"pid\":%d,\"tid\":%u,\"ts\":%llu.%03u,\"name\":\"", phase, (int)getpid(), track(r, e),
        (unsigned long long)(e->at / 1000), (unsigned)(e->at % 1000));
}

static void name(struct out *o, const struct fin_trace_event *e) {
    quoted(o, e->name[0] ? e->name : e->fn ? function(e->fn) : "outside any async");
}

static void name_track(struct out *o, const struct fin_trace_ring *r, const struct fin_trace_event *e) {
    size_t i = place(e->who);
    if (tracks[i].who == e->who && tracks[i].fn == e->fn)
        return;
    tracks[i].who = e->who;
    tracks[i].fn = e->fn;
    put(o, "{\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":\"", (int)getpid(), track(r, e));
    name(o, e);
    put(o, "\"}},\n");
}

static void arrow(struct out *o, const struct fin_trace_ring *r, const struct fin_trace_event *e, const char *what) {
    bool begins = e->kind == FIN_TRACE_WAKES || e->kind == FIN_TRACE_SENDS;
    head(o, r, e, begins ? 's' : 'f');
    put(o, "%s\",\"cat\":\"%s\",\"id\":\"%llx.%llx\"%s},\n", what, what, (unsigned long long)e->arg,
        (unsigned long long)e->who2, begins ? "" : ",\"bp\":\"e\"");
}

static void event(struct out *o, const struct fin_trace_ring *r, const struct fin_trace_event *e) {
    switch (e->kind) {
    case FIN_TRACE_RUN:
        if (e->who)
            name_track(o, r, e);
        head(o, r, e, 'X');
        name(o, e);
        put(o, "\",\"dur\":%llu.%03u,\"args\":{\"thread\":%d}},\n", (unsigned long long)(e->arg / 1000),
            (unsigned)(e->arg % 1000), r->tid);
        break;
    case FIN_TRACE_MARK:
        head(o, r, e, 'i');
        quoted(o, e->name);
        put(o, "\",\"s\":\"t\"},\n");
        break;
    default:
        arrow(o, r, e, e->kind == FIN_TRACE_WAKES || e->kind == FIN_TRACE_GOES_ON ? "wake" : "message");
    }
}

// The oldest event of this trace that there still is. In the place of the one before it the next may be half written.
static uint64_t first(const struct fin_trace_ring *r, uint64_t end) {
    uint64_t kept = end >= r->size ? end - r->size + 1 : 0;
    return kept > r->before ? kept : r->before;
}

_Static_assert(sizeof(struct fin_trace_event) % sizeof(uint64_t) == 0, "it is copied in words");

// The event n, if it is whole: its thread, which may run on, has not come around to it.
__attribute__((no_sanitize("thread"))) static bool take(const struct fin_trace_ring *r, uint64_t n,
                                                        struct fin_trace_event *e) {
    typedef volatile uint64_t __attribute__((may_alias)) word;
    const word *from = (const word *)&r->events[n & (r->size - 1)];
    for (size_t i = 0; i < sizeof *e / sizeof *from; i++)
        ((word *)e)[i] = from[i];
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&r->begun, __ATOMIC_RELAXED) <= n + r->size;
}

void fin_trace_unwritten(const char *path, int error) {
    char text[512];
    struct fin_quiet q = fin_be_quiet();
    int n = snprintf(text, sizeof text, "fin: the trace cannot be written to %.200s: %s\n", path, strerror(-error));
    if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0)
        n = 0; // nobody hears of it
    fin_be_as_before(&q);
}

// A named pipe that nobody reads is an error.
static int open_to_append(const char *path, int flags) {
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | flags, 0666);
    if (fd >= 0)
        fcntl(fd, F_SETFL, O_APPEND); // from here on writing waits
    return fd < 0 ? -errno : fd;
}

// A lock of the process, which the child of a fork in the middle does not come to share, as it would one of the open file,
// to wait for itself. Where it fails the parts of processes may be mixed.
static void lock_file(int fd) {
    while (fcntl(fd, F_SETLKW, &(struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET}) != 0 && errno == EINTR) {
    }
}

// Of processes that come to an empty file at the same time one begins the array.
static bool is_to_begin(int fd, bool append) {
    struct stat s;
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
        return !append;
    if (s.st_size == 0)
        lock_file(fd);
    return s.st_size == 0 && fstat(fd, &s) == 0 && s.st_size == 0;
}

int fin_trace_make_file(const char *path, bool append) {
    struct fin_quiet q = fin_be_quiet();
    struct out o = {.fd = open_to_append(path, append ? 0 : O_TRUNC)};
    if (o.fd < 0) {
        o.error = o.fd;
    } else {
        if (is_to_begin(o.fd, append))
            put(&o, "[\n");
        flush(&o);
        close(o.fd);
    }
    fin_be_as_before(&q);
    return o.error;
}

static void write_rings(struct out *o, const struct fin_trace_ring *rings) {
    for (const struct fin_trace_ring *r = rings; r; r = r->next) {
        uint64_t end = __atomic_load_n(&r->count, __ATOMIC_ACQUIRE), n = first(r, end);
        if (n < end)
            put(o, "{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"thread %d\"}},\n",
                (int)getpid(), r->tid, r->tid);
        for (struct fin_trace_event e; n < end; n++)
            if (take(r, n, &e))
                event(o, r, &e);
    }
    flush(o);
}

int fin_trace_write(const struct fin_trace_ring *rings, const char *path) {
    struct out o = {.fd = open_to_append(path + 1, 0)};
    if (o.fd < 0)
        return o.fd;
    struct fin_quiet q = fin_be_quiet();
    memset(tracks, 0, sizeof tracks); // those were another file's
    lock_file(o.fd);
    write_rings(&o, rings);
    if (close(o.fd) != 0 && o.error == 0)
        o.error = -errno;
    fin_be_as_before(&q);
    return o.error;
}
