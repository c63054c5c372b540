#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# hostile.sh PROGRAM ARGUMENT...: what an example does where nothing can be said, or with arguments that it does not have.
program=$(realpath "$1")
shift
folder=$(mktemp -d) && cd "$folder" || exit 1
trap 'rm -r "$folder"' EXIT

fails() {
    echo "$program: $1"
    exit 1
}

"$program" "$@" >/dev/full 2>err && fails "a full disk is no error"
grep -q "standard output: No space left" err || fails "a full disk: $(cat err)"
"$program" "$@" >&- 2>err && fails "to be without output is no error"
grep -q "standard output: Bad file descriptor" err || fails "no output: $(cat err)"
("$program" "$@" 2>err | head -1 >line)
[ -s err ] && fails "nobody reads on: $(cat err)"
"$program" "$@" <&- >/dev/null 2>&- || fails "without input and errors it ends with $?"
case $program in
*/curl) ;; # all that is no option is an address
*)
    "$program" --no-such 2>err
    [ $? = 2 ] || fails "an option that it does not have: $(cat err)"
    ;;
esac
rm err line
[ -z "$(ls -A)" ] || fails "it leaves $(ls)"
