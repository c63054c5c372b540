// SPDX-License-Identifier: BSD-2-Clause
// What C++ compilers make of names (the Itanium C++ ABI, 5.1), as far as names of functions have it. Whatever is met that is
// not known here ends the attempt: the symbol itself, which c++filt reads, is better than a wrong name.
#include "host/linux/cxx_name.h"

#include <string.h>

enum { MOST_DEPTH = 40 }; // it runs on signal stacks
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct reader {
    const char *at;
    char out[256];
    size_t length, last; // `last` is where the last part of the name begins
    unsigned quiet;      // not 0: what is read is not part of the name
    unsigned depth;
};

static bool type(struct reader *r);
static bool encoding(struct reader *r);
static bool parameter(struct reader *r);
static bool arguments(struct reader *r);

static bool take(struct reader *r, const char *text) {
    size_t n = strlen(text);
    if (strncmp(r->at, text, n) != 0)
        return false;
    r->at += n;
    return true;
}

static bool any_of(struct reader *r, const char *set) {
    if (!*r->at || !strchr(set, *r->at))
        return false;
    r->at++;
    return true;
}

static void skip(struct reader *r, const char *set) { r->at += strspn(r->at, set); }

// As much as there is room for: the beginning of a long name.
static void add(struct reader *r, const char *text, size_t n) {
    size_t room = sizeof r->out - 1 - r->length;
    memcpy(r->out + r->length, text, n < room ? n : room);
    r->length += n < room ? n : room;
}

static bool part(struct reader *r, const char *text, size_t n) {
    if (r->quiet)
        return true;
    if (r->length > 0)
        add(r, "::", 2);
    r->last = r->length;
    add(r, text, n);
    return true;
}

static bool word(struct reader *r, const char *text) { return part(r, text, strlen(text)); }

static bool source_name(struct reader *r) {
    size_t n = 0;
    while (*r->at >= '0' && *r->at <= '9' && n < 10000)
        n = n * 10 + (size_t)(*r->at++ - '0');
    const char *text = r->at;
    if (n == 0 || strnlen(text, n) < n)
        return false;
    r->at += n;
    if (strncmp(text, "$_", 2) == 0) // Clang's name of a lambda
        return word(r, "{lambda}");
    return strncmp(text, "_GLOBAL__N", 10) == 0 ? word(r, "{anonymous}") : part(r, text, n);
}

static bool types(struct reader *r) {
    while (*r->at && *r->at != 'E')
        if (!type(r))
            return false;
    return true;
}

static bool quietly(struct reader *r, bool (*what)(struct reader *)) {
    r->quiet++;
    bool ok = what(r);
    r->quiet--;
    return ok;
}

// A constant in a template: of a function, or of a number.
static bool literal(struct reader *r) {
    if (take(r, "_Z"))
        return encoding(r) && take(r, "E");
    if (!type(r))
        return false;
    skip(r, "0123456789n");
    return take(r, "E");
}

static bool argument(struct reader *r) {
    if (take(r, "L"))
        return literal(r);
    if (take(r, "XadL_Z"))
        return encoding(r) && take(r, "EE");
    if (take(r, "J"))
        return arguments(r);
    take(r, "Tn"); // the type of the constant that follows
    return type(r);
}

static bool arguments(struct reader *r) {
    bool ok = ++r->depth < MOST_DEPTH;
    while (ok && *r->at && *r->at != 'E')
        ok = argument(r);
    r->depth--;
    return ok && take(r, "E");
}

// Something that was named before, and is not repeated: in a name that is to be written, only std can be told.
static bool substitution(struct reader *r) {
    if (take(r, "t"))
        return word(r, "std");
    if (!any_of(r, "absiod")) {
        skip(r, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        if (!take(r, "_"))
            return false;
    }
    return r->quiet;
}

static bool numbered(struct reader *r, const char *name) {
    skip(r, "0123456789");
    return take(r, "_") && word(r, name);
}

static bool operator(struct reader *r) {
    if (take(r, "cl")) // of a lambda it is its body
        return r->quiet || strncmp(r->out + r->last, "{lambda}", r->length - r->last) == 0 || word(r, "operator()");
    const char *code = r->at;
    bool conversion = take(r, "cv") || take(r, "li"); // a type or a name follows
    if (conversion || !any_of(r, LOWER) || !any_of(r, LOWER UPPER))
        return r->at = code, false;
    return word(r, "operator");
}

static bool constructor(struct reader *r, bool ends) {
    char name[sizeof r->out];
    size_t n = r->length - r->last;
    name[0] = '~';
    memcpy(name + 1, r->out + r->last, n);
    return any_of(r, "012345") && (ends ? part(r, name, n + 1) : part(r, name + 1, n));
}

static bool unqualified(struct reader *r) {
    bool ok;
    skip(r, "L");
    if (*r->at >= '0' && *r->at <= '9')
        ok = source_name(r);
    else if (take(r, "Ul"))
        ok = quietly(r, types) && take(r, "E") && numbered(r, "{lambda}");
    else if (take(r, "Ut"))
        ok = numbered(r, "{unnamed}");
    else if (*r->at == 'C' || *r->at == 'D')
        ok = constructor(r, *r->at++ == 'D');
    else
        ok = operator(r);
    while (ok && take(r, "B")) // a tag
        ok = quietly(r, source_name);
    return ok;
}

static bool part_of_name(struct reader *r) {
    if (take(r, "I"))
        return quietly(r, arguments);
    if (take(r, "S"))
        return substitution(r);
    if (take(r, "T"))
        return quietly(r, parameter);
    return unqualified(r);
}

static bool nested(struct reader *r) {
    skip(r, "rVKRO");
    while (*r->at && *r->at != 'E')
        if (!part_of_name(r))
            return false;
    return take(r, "E");
}

static bool name(struct reader *r);

// What is inside a function: a lambda, or a class.
static bool local(struct reader *r) {
    if (!encoding(r) || !take(r, "E"))
        return false;
    if (take(r, "s")) {
        skip(r, "_0123456789");
        return r->quiet;
    }
    if (take(r, "d")) { // in a default argument
        skip(r, "0123456789");
        if (!take(r, "_"))
            return false;
    }
    if (!name(r))
        return false;
    if (*r->at == '_') // which of several of that name
        skip(r, "_0123456789");
    return true;
}

static bool whole_name(struct reader *r) {
    if (take(r, "N"))
        return nested(r);
    if (take(r, "Z"))
        return local(r);
    if (take(r, "S")) {
        bool in_std = *r->at == 't';
        if (!substitution(r) || (in_std && !unqualified(r)))
            return false;
    } else if (!unqualified(r)) {
        return false;
    }
    return !take(r, "I") || quietly(r, arguments);
}

static bool name(struct reader *r) {
    bool ok = ++r->depth < MOST_DEPTH && whole_name(r);
    r->depth--;
    return ok;
}

static bool encoding(struct reader *r) { return name(r) && quietly(r, types); }

static bool function_type(struct reader *r) {
    skip(r, "Y");
    return types(r) && take(r, "E");
}

static bool array_type(struct reader *r) {
    skip(r, "0123456789");
    return take(r, "_") && type(r);
}

static bool parameter(struct reader *r) {
    skip(r, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return take(r, "_") && (!take(r, "I") || quietly(r, arguments));
}

static bool one_type(struct reader *r) {
    skip(r, "rPROKVCG");
    if (take(r, "F"))
        return function_type(r);
    if (take(r, "A"))
        return array_type(r);
    if (take(r, "M"))
        return type(r) && type(r);
    if (take(r, "T"))
        return parameter(r);
    if (take(r, "Dp"))
        return type(r);
    if (take(r, "D"))
        return any_of(r, "nacisuhfde");
    if (*r->at && strchr("SNZU0123456789", *r->at))
        return name(r);
    return any_of(r, "vwbcahstijlmxynofdegz");
}

static bool type(struct reader *r) {
    bool ok = ++r->depth < MOST_DEPTH && one_type(r);
    r->depth--;
    return ok;
}

// The headers wrap a body, and the function of a continuation, in a template with it as argument.
static bool function(struct reader *r) {
    if (take(r, "N3fin6detail3runI"))
        return type(r);
    if (!take(r, "N3fin6detail4stepI"))
        return name(r);
    take(r, "TnDa");
    return take(r, "XadL_Z") && encoding(r);
}

bool fin_cxx_name(const char *symbol, char *out, size_t size) {
    struct reader r = {.at = symbol};
    if (!take(&r, "_Z") || !function(&r) || r.length == 0 || size == 0)
        return false;
    size_t n = r.length < size ? r.length : size - 1;
    memcpy(out, r.out, n);
    out[n] = 0;
    return true;
}
