#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A benchmark whose set-up fails, or whose figures cannot be written, says which call failed and why, and ends with 1; it
prints no figure of what has not run: bench_setup.py CORE CHAN CONT NO-THREADS"""
import os
import re
import resource
import subprocess
import sys

CORE, CHAN, CONT, NO_THREADS = sys.argv[1:]
SKIPPED = 77  # there is one processor
NOTHING = re.compile(r'^  \S.* 0\.0 +0\.0-', re.M)  # a row of a figure that is none


def case(said, program, *options, descriptors=None, env=None, output=subprocess.PIPE):
    limit = descriptors and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)))
    done = subprocess.run([program, '--quick', *options], stdout=output, stderr=subprocess.PIPE, text=True, check=False,
                          timeout=60, preexec_fn=limit, env={**os.environ, **(env or {})})
    if done.returncode == SKIPPED:
        return
    if done.returncode != 1 or said not in done.stderr or NOTHING.search(done.stdout or ''):
        sys.exit(f'{program} {options}: status {done.returncode}, not "{said}":\n{done.stdout}\n{done.stderr}')


def main():
    case('/dev/full: No space left on device', CORE, '--table', 'async', '--csv', '/dev/full')
    case('/nowhere/x: open: No such file or directory', CORE, '--table', 'async', '--csv', '/nowhere/x')
    with open('/dev/full', 'w', encoding='ascii') as full:
        case('standard output: No space left on device', CORE, '--table', 'async', output=full)
    case('pthread_create', CORE, '--table', 'sync', env={'LD_PRELOAD': NO_THREADS})
    case('pthread_create', CHAN, '--table', 'trip', env={'LD_PRELOAD': NO_THREADS})
    case('Too many open files', CHAN, '--table', 'trip', descriptors=8)
    case('eventfd(0, EFD_CLOEXEC): Too many open files', CHAN, '--table', 'waits', descriptors=500)
    case('socketpair(', CONT, descriptors=24)


if __name__ == '__main__':
    main()
