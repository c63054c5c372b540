// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "rows.h"

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            bench_options.quick = true;
        } else if (strcmp(argv[i], "--csv") == 0 && i + 1 < argc) {
            bench_options.csv = argv[++i];
        } else {
            printf("usage: %s [--quick] [--csv FILE]\n", argv[0]);
            return 2;
        }
    }
    bench_begin("fin-bench-cont");
    table_rpc();
    table_blocks();
    table_idle();
    bench_end();
    return 0;
}
