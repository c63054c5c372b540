// SPDX-License-Identifier: BSD-2-Clause
// Stands in for libFuzzer: inputs at random, or from files.
#include <stdlib.h>

#include "fuzz.h"
#include "valgrind.h"

enum { MOST = 600, TIMES = 600 };

static unsigned seed = 1;

static unsigned next_random(void) {
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static void from_file(const char *path) {
    static uint8_t data[1 << 20];
    FILE *f = fopen(path, "rb");
    CHECK(f);
    size_t n = fread(data, 1, sizeof data, f);
    fclose(f);
    LLVMFuzzerTestOneInput(data, n);
}

int main(int argc, char **argv) {
    uint8_t data[MOST];
    int times = TIMES;
    if (argc > 1 && argv[1][0] >= '0' && argv[1][0] <= '9')
        times = atoi(argv[1]);
    else if (argc > 1)
        return from_file(argv[1]), 0;
    if (getenv("FIN_FEW") || RUNNING_ON_VALGRIND)
        times /= 10;
    for (int i = 0; i < times; i++) {
        size_t size = next_random() % sizeof data;
        for (size_t k = 0; k < size; k++)
            data[k] = (uint8_t)(next_random() % 3 ? next_random() % 16 : next_random());
        LLVMFuzzerTestOneInput(data, size);
    }
    return 0;
}
