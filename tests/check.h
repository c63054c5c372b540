// SPDX-License-Identifier: BSD-2-Clause
// One scenario a file, one program a scenario: it returns 0, or CHECK ends it. SKIP (exit 77) is not a pass.
#ifndef FIN_TESTS_CHECK_H
#define FIN_TESTS_CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                                    \
    do {                                                                                                                    \
        if (!(condition)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                         \
            _Exit(1);                                                                                                       \
        }                                                                                                                   \
    } while (0)

#define CHECK_EQ(a, b)                                                                                                      \
    do {                                                                                                                    \
        long long check_a_ = (long long)(a), check_b_ = (long long)(b);                                                     \
        if (check_a_ != check_b_) {                                                                                         \
            fprintf(stderr, "%s:%d: %s is %lld, not %lld (%s)\n", __FILE__, __LINE__, #a, check_a_, check_b_, #b);          \
            _Exit(1);                                                                                                       \
        }                                                                                                                   \
    } while (0)

#define SKIP(why)                                                                                                           \
    do {                                                                                                                    \
        fprintf(stderr, "skipped: %s\n", why);                                                                              \
        _Exit(77);                                                                                                          \
    } while (0)

#if defined(__SANITIZE_THREAD__)
#define ON_TSAN true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ON_TSAN true
#endif
#endif
#ifndef ON_TSAN
#define ON_TSAN false
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ON_ASAN true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ON_ASAN true
#endif
#endif
#ifndef ON_ASAN
#define ON_ASAN false
#endif

// A string that a scenario appends to, to compare the order of events with the one expected.
static char check_log[4096] __attribute__((unused));
#define LOG(...)                                                                                                            \
    do {                                                                                                                    \
        size_t check_n_ = strlen(check_log);                                                                                \
        snprintf(check_log + check_n_, sizeof check_log - check_n_, __VA_ARGS__);                                           \
    } while (0)
#define CHECK_LOG(expected)                                                                                                 \
    do {                                                                                                                    \
        if (strcmp(check_log, expected) != 0) {                                                                             \
            fprintf(stderr, "%s:%d: events\n  %s\nnot\n  %s\n", __FILE__, __LINE__, check_log, expected);                   \
            _Exit(1);                                                                                                       \
        }                                                                                                                   \
    } while (0)

#endif
