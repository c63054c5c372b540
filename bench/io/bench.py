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
from servers import python_with

PARTS = {'reads': reads, 'quotes': quotes, 'http': web}


def options():
    p = argparse.ArgumentParser(description='Measures I/O: reads, quotes, http; all of them by default.')
    p.add_argument('parts', nargs='*', metavar='PART', help='reads, quotes, http')
    p.add_argument('--middle', action='store_true', help='enough to judge by; about a quarter of an hour on a quiet machine')
    p.add_argument('--full', action='store_true', help='all depths and numbers of clients; takes an hour or more')
    p.add_argument('--build', default='build', help='the build directory')
    p.add_argument('--out', help='for the samples and plots; in the build directory by default')
    p.add_argument('--scratch', help='directory of the files to read: on the file system to measure')
    p.add_argument('--clients', help='numbers of clients of the quote servers, with commas')
    p.add_argument('--every', type=int, default=1, help='seconds between two quotes to a client; servers in C only')
    p.add_argument('--only', help='names of the servers to compare, with commas')
    p.add_argument('--repetitions', type=int, help='how often each is measured')
    found = p.parse_args()
    unknown = [part for part in found.parts if part not in PARTS]
    if unknown:
        p.error('no such part: ' + ', '.join(unknown))
    return found


def main():
    bench = Bench(options())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as after ^C, no files are left
    print(f'  {machine()}; measured on CPU {bench.cpu}, load from CPU {bench.other_cpu}')
    if bench.cpu == bench.other_cpu:
        print('  one processor for both: rates mean little here, CPU times still do')
    failed = []
    for name, part in PARTS.items():
        if not bench.options.parts or name in bench.options.parts:
            if not part.run(bench):
                failed.append(name)
            sys.stdout.flush()
    python = python_with('matplotlib')
    print(f'\n  samples: {os.path.relpath(bench.out)}/*.csv')
    if python:
        plot = os.path.join(bench.source, 'bench', 'io', 'plot.py')
        if subprocess.run([python, plot, bench.out], check=False).returncode != 0:
            failed.append('plots')
    else:
        print('  plots: skipped: python3-matplotlib is not installed')
    if failed:
        print('  FAILED: ' + ', '.join(failed))
    return 1 if failed else 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
