// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "rows.h"

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            bench_options.quick = true;
        } else if (strcmp(argv[i], "--csv") == 0 && i + 1 < argc) {
            bench_options.csv = argv[++i];
        } else if (strcmp(argv[i], "--rivals") == 0 && i + 1 < argc) {
            bench_options.rivals = argv[++i];
        } else if (strcmp(argv[i], "--only") == 0 && i + 2 < argc) { // a row of the tables of calls, N times, for callgrind
            long n = strtol(argv[i + 2], NULL, 10);
            return rpc_only(argv[i + 1], n) || calls_only(argv[i + 1], n) ? 0 : 2;
        } else {
            printf("usage: %s [--quick] [--csv FILE] [--rivals DIR] [--only ROW N]\n", argv[0]);
            return 2;
        }
    }
    calls_begin();
    bench_begin("fin-bench-cont");
    table_rpc();
    table_calls();
    table_blocks();
    table_idle();
    bench_end();
    return 0;
}
