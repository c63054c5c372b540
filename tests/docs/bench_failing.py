#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A benchmark of I/O whose set-up fails says why, in a line, and ends with 1: bench_failing.py SOURCE"""
import os
import resource
import subprocess
import sys
import tempfile

from stand_in import program

# Stand for the programs that are measured.
FULL = '#!/bin/sh\necho "$2: the disk is full" >&2\nexit 1\n'
NOTHING = '#!/bin/sh\n[ "$1" != --make ] || { : >"$2"; : >"$3"; exit; }\necho 1000 0 0\n'
KILLED = '#!/bin/sh\nkill -9 $$\n'
LOAD = '#!/bin/sh\nexit\n'


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))


def case(part, programs, said, *options, before=None):
    with tempfile.TemporaryDirectory() as build:
        for path, text in programs.items():
            program(build, path, text)
        bench = os.path.join(sys.argv[1], 'bench', 'io', 'bench.py')
        done = subprocess.run([sys.executable, bench, part, '--build', build, *options], capture_output=True, text=True,
                              check=False, timeout=60, preexec_fn=before)
    printed = done.stdout + done.stderr
    if done.returncode != 1 or said not in printed or 'Traceback' in printed:
        sys.exit(f'{part}: status {done.returncode}, and it should say "{said}":\n{printed}')


def main():
    servers = {'examples/quotes': KILLED, 'bench/io/fin-load': LOAD}
    case('reads', {'examples/reads': FULL}, 'the disk is full')
    case('reads', {'examples/reads': NOTHING}, "it printed no 3 times: '1000 0 0'")
    case('reads', {'examples/reads': KILLED}, 'ended by SIGKILL')
    case('quotes', servers, 'Fin: ended by SIGKILL', '--only', 'Fin', '--clients', '10')
    case('quotes', servers, 'there is room for', '--clients', '1000000000')
    case('quotes', servers, 'a process gets 100 descriptors', '--clients', '10', before=few_descriptors)
    case('http', {'examples/hello': KILLED, 'bench/io/fin-load': LOAD}, 'Fin: ended by SIGKILL', '--only', 'Fin')


if __name__ == '__main__':
    main()
