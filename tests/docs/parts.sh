#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a part of ./run starts is what ./run has built for it: each part is run in an empty tree, with a build tool that makes
# a program of each name it is asked for, and of no other. parts.sh SOURCE-ROOT
set -u
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{bin,tools/report,bench/{io,cont,rivals}}
cp "$1/run" "$tree/run"

printf '%s() { :; }\n' install missing >"$tree/tools/install.sh"
cat >"$tree/bin/meson" <<'END'
#!/bin/bash
[ "$1" != setup ] || { mkdir -p build/meson-info && touch build/build.ninja build/meson-info/intro-buildoptions.json; }
END
cat >"$tree/bin/ninja" <<'END'
#!/bin/bash
for target in "${@:3}"; do
    mkdir -p "$(dirname "build/$target")" && printf '#!/bin/sh\n' >"build/$target" && chmod +x "build/$target"
done
END
printf '#!/bin/sh\n' | tee "$tree"/bin/{go,cargo,node,valgrind} >"$tree/bench/rivals/build"
chmod +x "$tree"/bin/* "$tree/bench/rivals/build"

# What the programs in Python start: of the report the steps name it, of I/O it is one target, of continuations the argument.
cp "$1/tools/report/report.py" "$tree/tools/report/names"
cat >"$tree/tools/report/report.py" <<'END'
import os, re
names = set(re.findall(r"\['(?:\{build\}/)?((?:examples|bench)/[\w/-]+)'", open('tools/report/names').read()))
names |= set(re.findall(r"'\{build\}/([\w/-]+/[\w-]+)'", open('tools/report/names').read()))
names -= {'bench/rivals', 'bench/io/crowd'} # directories
assert len(names) > 4, names
missing = sorted(name for name in names if not os.path.exists('build/' + name))
assert not missing, missing
END
echo 'import os; assert os.path.exists("build/bench-io")' >"$tree/bench/io/bench.py"
echo 'import os, sys; assert os.path.exists(sys.argv[1])' >"$tree/bench/cont/components.py"

failed=0
parts=$(sed -n 's/^parts=(\(.*\))$/\1/p' "$tree/run")
[ "$(wc -w <<<"$parts")" -gt 15 ] || { echo "the parts of ./run are not found" && exit 1; }
for part in '' $parts; do
    rm -rf "$tree/build"
    # shellcheck disable=SC2086
    PATH=$tree/bin:$PATH FIN_BUILD=build "$tree/run" $part >"$tree/out" 2>&1 && continue
    echo "./run $part:" && cat "$tree/out"
    failed=1
done
exit $failed
