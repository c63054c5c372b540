// SPDX-License-Identifier: BSD-2-Clause
// Targets for libFuzzer: what a hostile process can do, as bytes. Built by Clang they are libFuzzer's programs, with its
// options: PROGRAM -max_total_time=600 searches for ten minutes. Built by another compiler they take random bytes: PROGRAM
// runs that many times. Either way, PROGRAM FILE repeats what a file says.
#ifndef FIN_TESTS_FUZZ_H
#define FIN_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// What is left of the input. It ends in zeroes.
struct input {
    const uint8_t *at, *end;
};

static inline uint64_t number(struct input *in, size_t bytes) {
    uint64_t x = 0;
    for (size_t i = 0; i < bytes && in->at < in->end; i++)
        x |= (uint64_t)*in->at++ << 8 * i;
    return x;
}

// `room` bytes at buffer are for the callee, those behind are not.
enum { GUARD = 32 };
static inline void guard(unsigned char *buffer, size_t room) { memset(buffer + room, 0x5a, GUARD); }
static inline void guarded(const unsigned char *buffer, size_t room) {
    for (size_t i = 0; i < GUARD; i++)
        CHECK_EQ(buffer[room + i], 0x5a);
}

#endif
