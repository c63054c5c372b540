#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark of I/O names what it cannot do: numbers and servers that there are not, and programs that are not built:
bench_options.py SOURCE"""
import os
import subprocess
import sys
import tempfile

CASES = [(['--clients', '10,x'], 2, 'argument --clients: '), (['--clients', '0'], 2, 'argument --clients: '),
         (['--every', '0'], 2, 'argument --every: '), (['--repetitions', '-1'], 2, 'argument --repetitions: '),
         (['--only', 'Fin,Nobody'], 1, 'no such server: Nobody; there are Fin, '),
         (['--only', 'asyncio on uvloop'], 1, 'quotes: examples/quotes, bench/io/fin-load: not built in '),
         ([], 1, 'FAILED: quotes')]


def main():
    with tempfile.TemporaryDirectory() as build:
        for options, status, said in CASES:
            command = [sys.executable, os.path.join(sys.argv[1], 'bench', 'io', 'bench.py'), 'quotes', '--build', build]
            done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
            printed = done.stdout + done.stderr
            if done.returncode != status or said not in printed or 'Traceback' in printed or 'did better' in printed:
                sys.exit(f'{options}: status {done.returncode}:\n{printed}')


if __name__ == '__main__':
    main()
