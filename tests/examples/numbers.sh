#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# numbers.sh FOLDER: numbers that examples cannot use are refused, and so is a folder where no file can be made; one that is
# killed leaves no file.
folder=$(mktemp -d) && cd "$folder" || exit 1
trap 'rm -r "$folder"' EXIT

fails() {
    echo "$1"
    exit 1
}

refused() {
    name=$1
    shift
    timeout 10 "$programs/$name" "$@" >out 2>err
    status=$?
    [ $status = 2 ] && grep -q "is a number from\|there is no" err || fails "$name $*: $status $(cat err)"
}

programs=$1
refused hello --serve 70000
refused hello --serve 0
refused hello --serve -1
refused quotes --serve 65536
refused quotes --clients -5
refused quotes --clients 99999999999
refused quotes --seconds 0
refused relay --rounds -1
refused relay --rounds 99999999999999999999999
refused reads a b --block 5
refused reads a b --depth 0
refused reads a b --bogus
refused reads --make a b --size -1
rm out err

timeout -s KILL 0.5 "$programs/reads" >/dev/null
[ -z "$(ls -A)" ] || fails "reads leaves $(ls)"
if [ "$(id -u)" != 0 ]; then # who may write everywhere
    chmod a-w .
    "$programs/reads" --short 2>&1 | grep -q "made here: Permission denied" || fails "reads where it may not write"
    chmod u+w .
fi
