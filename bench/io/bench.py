#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The evaluation of ac 5.3: I/O with Fin against callbacks written by hand and against other runtimes, in the same run, in
turns. Prints tables; writes each sample to reads.csv, quotes.csv and http.csv, and plots of them beside those.

What is measured runs on one processor, the load on another. Speed fails nothing: the tables say which targets were met."""
import argparse
import os
import signal
import subprocess
import sys

import quotes
import reads
import web
from common import Bench, machine
from servers import all_servers, python_with

PARTS = {'reads': reads, 'quotes': quotes, 'http': web}
NEEDS = {'reads': ['examples/reads'], 'quotes': ['examples/quotes', 'bench/io/fin-load'],
         'http': ['examples/hello', 'bench/io/fin-load']}


def positive(text):
    if int(text) < 1:
        raise ValueError
    return int(text)


def positives(text):
    return [positive(n) for n in text.split(',')]


def options():
    p = argparse.ArgumentParser(description='Measures I/O: reads, quotes, http; all of them by default.')
    p.add_argument('parts', nargs='*', metavar='PART', help='reads, quotes, http')
    p.add_argument('--middle', action='store_true', help='enough to judge by; about a quarter of an hour on a quiet machine')
    p.add_argument('--full', action='store_true', help='all depths and numbers of clients; takes an hour or more')
    p.add_argument('--build', default='build', help='the build directory')
    p.add_argument('--out', help='for the samples and plots; in the build directory by default')
    p.add_argument('--scratch', help='directory of the files to read: on the file system to measure')
    p.add_argument('--clients', type=positives, help='numbers of clients of the quote servers, with commas')
    p.add_argument('--every', type=positive, default=1, help='seconds between two quotes to a client; servers in C only')
    p.add_argument('--only', help='names of the servers to compare, with commas')
    p.add_argument('--repetitions', type=positive, help='how often each is measured')
    found = p.parse_args()
    unknown = [part for part in found.parts if part not in PARTS]
    if unknown:
        p.error('no such part: ' + ', '.join(unknown))
    return found


def unknown_servers(bench):
    names = [s.name for s in all_servers(bench)]
    unknown = [name for name in (bench.options.only or names[0]).split(',') if name not in names]
    return f'bench.py: no such server: {", ".join(unknown)}; there are {", ".join(names)}' if unknown else None


def run(bench, name):
    missing = [path for path in NEEDS[name] if not os.access(bench.program(path), os.X_OK)]
    if missing:
        print(f'  {name}: {", ".join(missing)}: not built in {bench.build}')
    try:
        return not missing and PARTS[name].run(bench)
    except (RuntimeError, OSError) as e:
        print(f'\n  {name}: {e}')
        return False


def main():
    try:
        bench = Bench(options())
    except OSError as e:
        sys.exit(f'bench.py: {e}')
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as after ^C, no files are left
    wrong = unknown_servers(bench)
    if wrong:
        sys.exit(wrong)
    print(f'  {machine()}; measured on CPU {bench.cpu}, load from CPU {bench.other_cpu}')
    if os.environ.get('FIN_IO'):
        print(f'  FIN_IO={os.environ["FIN_IO"]}: what Fin\'s rows run on')
    if bench.cpu == bench.other_cpu:
        print('  one processor for both: rates mean little here, CPU times still do')
    wanted = [name for name in PARTS if not bench.options.parts or name in bench.options.parts]
    failed = []
    for name in wanted:
        if not run(bench, name):
            failed.append(name)
        sys.stdout.flush()
    plotted = [name for name in wanted if name not in failed]
    python = python_with('matplotlib')
    print(f'\n  samples: {os.path.relpath(bench.out)}/*.csv')
    if python and plotted:
        plot = os.path.join(bench.source, 'bench', 'io', 'plot.py')
        if subprocess.run([python, plot, bench.out, *plotted], check=False).returncode != 0:
            failed.append('plots')
    elif not python:
        print('  plots: skipped: python3-matplotlib is not installed')
    if failed:
        print('  FAILED: ' + ', '.join(failed))
    return 1 if failed else 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
