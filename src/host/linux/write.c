// SPDX-License-Identifier: BSD-2-Clause
// A trace as JSON, in the form of an array without its end, which Perfetto and Chrome take: so processes can append to it.
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

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

static size_t place(uint64_t key) { return key * 0x9e3779b97f4a7c15u >> 55; }

static void quoted(FILE *f, const char *text) {
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(f, "\\%c", *text);
        else
            fputc((unsigned char)*text < ' ' ? '?' : *text, f);
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

static void head(FILE *f, const struct fin_trace_ring *r, const struct fin_trace_event *e, char phase) {
    fprintf(f, "{\"ph\":\"%c\",\"pid\":%d,\"tid\":%u,\"ts\":%llu.%03u,\"name\":\"", phase, (int)getpid(), track(r, e),
            (unsigned long long)(e->at / 1000), (unsigned)(e->at % 1000));
}

static void name(FILE *f, const struct fin_trace_event *e) {
    quoted(f, e->name[0] ? e->name : e->fn ? function(e->fn) : "outside any async");
}

static void name_track(FILE *f, const struct fin_trace_ring *r, const struct fin_trace_event *e) {
    size_t i = place(e->who);
    if (tracks[i].who == e->who && tracks[i].fn == e->fn)
        return;
    tracks[i].who = e->who;
    tracks[i].fn = e->fn;
    fprintf(f, "{\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":\"", (int)getpid(),
            track(r, e));
    name(f, e);
    fprintf(f, "\"}},\n");
}

static void arrow(FILE *f, const struct fin_trace_ring *r, const struct fin_trace_event *e, const char *what) {
    bool begins = e->kind == FIN_TRACE_WAKES || e->kind == FIN_TRACE_SENDS;
    head(f, r, e, begins ? 's' : 'f');
    fprintf(f, "%s\",\"cat\":\"%s\",\"id\":\"%llx.%llx\"%s},\n", what, what, (unsigned long long)e->arg,
            (unsigned long long)e->who2, begins ? "" : ",\"bp\":\"e\"");
}

static void event(FILE *f, const struct fin_trace_ring *r, const struct fin_trace_event *e) {
    switch (e->kind) {
    case FIN_TRACE_RUN:
        if (e->who)
            name_track(f, r, e);
        head(f, r, e, 'X');
        name(f, e);
        fprintf(f, "\",\"dur\":%llu.%03u,\"args\":{\"thread\":%d}},\n", (unsigned long long)(e->arg / 1000),
                (unsigned)(e->arg % 1000), r->tid);
        break;
    case FIN_TRACE_MARK:
        head(f, r, e, 'i');
        quoted(f, e->name);
        fprintf(f, "\",\"s\":\"t\"},\n");
        break;
    default:
        arrow(f, r, e, e->kind == FIN_TRACE_WAKES || e->kind == FIN_TRACE_GOES_ON ? "wake" : "message");
    }
}

int fin_trace_write(const struct fin_trace_ring *rings, const char *path) {
    FILE *f = fopen(path + 1, "ae");
    if (!f)
        return -errno;
    flock(fileno(f), LOCK_EX); // where that fails the parts of processes may be mixed, but not their lines
    for (const struct fin_trace_ring *r = rings; r; r = r->next) {
        uint64_t end = __atomic_load_n(&r->count, __ATOMIC_ACQUIRE), n = end > r->size ? end - r->size : 0;
        if (end)
            fprintf(f, "{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"thread %d\"}},\n",
                    (int)getpid(), r->tid, r->tid);
        for (; n < end; n++)
            event(f, r, &r->events[n & (r->size - 1)]);
    }
    bool bad = ferror(f);
    return fclose(f) != 0 || bad ? -EIO : 0;
}
