# SPDX-License-Identifier: BSD-2-Clause
"""Instructions of a read outside the kernel, and what of them misses a first-level cache, counted by callgrind: each program
is run with some reads and with more, and the difference is taken, without what Fin tells valgrind alone."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from callgrind import processes  # noqa: E402

CACHE = '32768,8,64'  # bytes, ways, bytes of a line
ONLY_UNDER_VALGRIND = 'fin_uring_written', 'fin_track_written'


def costs(command):
    """[instructions, misses] of all functions themselves."""
    sums = [0, 0]
    for process in processes(command, ('Ir', 'D1mr', 'D1mw'), '--D1=' + CACHE):
        for function, (instructions, *misses) in process.own.items():
            if function not in ONLY_UNDER_VALGRIND:
                sums = [sums[0] + instructions, sums[1] + sum(misses)]
    return sums


def of_a_read(command, few):
    """command(reads): the program's, to be run."""
    if not shutil.which('valgrind'):
        raise RuntimeError('valgrind is not installed')
    found = [(b - a) / (2 * few) for a, b in zip(costs(command(few)), costs(command(3 * few)))]
    if found[0] <= 0:
        raise RuntimeError('more reads took no more instructions')
    return found


def print_counted(programs):
    """programs: {(name, depth): command}; with a depth of 1, before the others, the loop with pread."""
    print('\nInstructions of a read of 4096 bytes, cached, outside the kernel, and misses of a cache of 32 KiB, by '
          'callgrind; beyond those of the loop with pread [instructions]')
    print(f'  {"in flight":>9}  {"":31}{"instructions":>13}{"beyond":>9}{"misses":>9}')
    base = None
    for (name, depth), command in programs.items():
        try:
            instructions, misses = of_a_read(command, max(1000, 8 * depth))
        except RuntimeError as e:
            print(f'  {depth:>9}  {name:31} skipped: {e}')
            continue
        base = instructions if base is None and depth == 1 else base
        beyond = f'{instructions - base:9.0f}' if base is not None else f'{"":9}'
        print(f'  {depth:>9}  {name:31}{instructions:13.0f}{beyond}{misses:9.1f}')
