// SPDX-License-Identifier: BSD-2-Clause
// Symbols that no compiler made are read to their end at most, with little stack, and nothing is written behind what there
// is room for.
#include "fuzz.h"
#include "host/linux/cxx_name.c"

// What names are made of; each byte of the input is one.
static const char *const pieces[] = {
    "N",  "E",  "I",      "J",  "Z",    "S_",  "St", "S1_", "T_",  "L",    "Li1E", "Ul",   "E_",  "Ut_", "C1",    "D2",
    "cl", "cv", "XadL_Z", "Tn", "1a",   "3fin", "2$_", "v",   "i",   "P",    "R",    "K",    "Dp",  "DnDa", "F",    "A4_",
    "M",  "B",  "_Z",     "s_", "d0_",  "99",  "0",  "q",   "plE", "_GLOBAL__N_1", "12_GLOBAL__N_1", "N3fin6detail3runI",
    "N3fin6detail4stepI"};
enum { PIECES = sizeof pieces / sizeof *pieces, MOST = 8192 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char symbol[MOST + 32];
    unsigned char out[64 + GUARD];
    size_t n = 2, room = size ? data[0] % 65 : 64;
    unsigned again = size > 1 && data[1] % 8 == 0 ? 400 : 1; // deep ones
    memcpy(symbol, "_Z", 2);
    for (unsigned round = 0; round < again; round++)
        for (size_t i = 2; i < size && n < MOST; i++)
            n += (size_t)snprintf(symbol + n, 32, "%s", pieces[data[i] % PIECES]);
    symbol[n] = 0;
    guard(out, room);
    if (fin_cxx_name(symbol, (char *)out, room))
        CHECK(room > 0 && memchr(out, 0, room));
    guarded(out, room);
    return 0;
}
