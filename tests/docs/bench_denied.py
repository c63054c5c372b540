#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Where io_uring is denied, and the file system has no direct reads, the benchmark of reads says what it leaves out, and
measures the rest: bench_denied.py SOURCE"""
import os
import subprocess
import sys
import tempfile

from stand_in import program

# Stand for the programs that are measured.
READS = '''#!/bin/sh
[ "$1" != --make ] || { : >"$2"; : >"$3"; exit; }
case "$*" in *--direct*) echo "reads: Invalid argument" >&2; exit 1 ;; esac
echo 1000 0.1 0.1
'''
REGISTERS = READS.replace(
    "case", 'case "$*" in *--fixed*) echo "reads: Operation not supported" >&2; exit 1 ;; esac\ncase', 1)
CALLBACKS = '#!/bin/sh\necho 1000 0.1 0.1\n'
DENIED = '#!/bin/sh\necho "io_uring: Operation not permitted" >&2\nexit 1\n'
SAID = ['direct reads: skipped: ', 'reads: Invalid argument',
        'io_uring callbacks: skipped: io_uring: Operation not permitted', 'fio: skipped: io_uring: Operation not permitted',
        '1  Fin  ', '1  pread  ']
SAID_OF_FIXED = ['Fin, registered: skipped: reads: Operation not supported', '1  io_uring callbacks  ', '1  Fin  ']


def case(programs, expected):
    with tempfile.TemporaryDirectory() as build:
        for path, text in programs:
            program(build, path, text)
        env = {**os.environ, 'PATH': os.path.join(build, 'bin') + ':' + os.environ['PATH']}
        bench = os.path.join(sys.argv[1], 'bench', 'io', 'bench.py')
        done = subprocess.run([sys.executable, bench, 'reads', '--build', build, '--repetitions', '2'], env=env,
                              capture_output=True, text=True, check=False)
        missing = [said for said in expected if said not in done.stdout]
        if done.returncode or missing:
            sys.exit(f'{done.stdout}{done.stderr}status {done.returncode}, and it does not say {missing}')


def main():
    left_out = ('bin/fio', DENIED), ('bin/valgrind', DENIED)  # the instructions of a stand-in tell nothing
    case((('examples/reads', READS), ('bench/io/rival-uring', DENIED), *left_out), SAID)
    case((('examples/reads', REGISTERS), ('bench/io/rival-uring', CALLBACKS), *left_out), SAID_OF_FIXED)


if __name__ == '__main__':
    main()
