#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# header_unit.sh INCLUDE LIBRARY CLANG...: a program that imports fin.hpp and does not include it.
include=$1
library=$(realpath "$2")
shift 2
folder=$(mktemp -d) && cd "$folder" || exit 1
trap 'rm -r "$folder"' EXIT
cat >program.cpp <<'END'
import <fin.hpp>;
static FIN_BLOCKING int work(int n) {
    fin_yield();
    return n;
}
FIN_BLOCKING int main() {
    int n = 0;
    fin_finish {
        fin_async { n += work(1); };
        fin_timeout(FIN_S) { n += work(2); }
    }
    fin::finish([&](fin::scope &s) { s.async([&]() FIN_BLOCKING { n += work(3); }); });
    return n != 6;
}
END
"$@" -std=c++20 -I"$include" -xc++-system-header --precompile fin.hpp -o fin.pcm 2>err &&
    "$@" -std=c++20 -I"$include" -fmodule-file=fin.pcm -w program.cpp "$library" -o program 2>err &&
    LD_LIBRARY_PATH=$(dirname "$library") ./program || {
    cat err
    exit 1
}
