#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# outside.sh BUILD PROGRAM shared|static [LIBRARY...]: compiles a program far from the tree, without warnings, and runs it.
# Of a text, the first example in C is the program. The libraries are named as by pkg-config; it is fin if none is.
set -eu
build=$1 program=$2 linking=$3
shift 3
libraries=
for library in "${@:-fin}"; do
    libraries="$libraries $library-uninstalled"
done
export PKG_CONFIG_PATH="$build/meson-uninstalled"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
case $program in
*.md)
    sed -n '/^```c$/,/^```$/p' "$program" | sed '/^```c$/d; /^```$/,$d' >example.c
    program=example.c
    ;;
*)
    cp "$program" .
    program=${program##*/}
    ;;
esac
case $program in
*.cpp) std=c++17 ;;
*) std=gnu11 ;;
esac
case $linking in
static) fin="-static $(pkg-config --static --cflags --libs $libraries)" ;;
shared) fin="$(pkg-config --cflags --libs $libraries) -Wl,-rpath,$build/src:$build/src/resolve:$build/src/tls" ;;
esac
# shellcheck disable=SC2086
$COMPILER -std=$std -O2 -Wall -Wextra -Werror "$program" -o outside $fin
case $linking in
static) ! readelf -d outside | grep NEEDED ;;
shared) readelf -d outside | grep -q 'NEEDED.*libfin\.so\.0' ;;
esac
./outside
