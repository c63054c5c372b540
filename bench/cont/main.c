// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "rows.h"

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--lock-step") == 0 && i + 1 < argc) {
            lock_step_begin(atoi(argv[++i]));
            continue;
        }
        if (strcmp(argv[i], "--only") == 0 && i + 2 < argc) { // a row of the tables of calls, N times, for callgrind
            long n = strtol(argv[i + 2], NULL, 10);
            return rpc_only(argv[i + 1], n) || calls_only(argv[i + 1], n) ? 0 : 2;
        }
        if (!bench_option(argv, &i) || bench_options.table) {
            printf("usage: %s [--quick] [--csv FILE] [--rivals DIR] [[--lock-step EACH] --only ROW N]\n", argv[0]);
            return 2;
        }
    }
    bench_begin("fin-bench-cont");
    far_begin();
    service_begin();
    table_rpc();
    table_calls();
    table_blocks();
    table_idle();
    return bench_end();
}
