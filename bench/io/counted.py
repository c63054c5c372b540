# SPDX-License-Identifier: BSD-2-Clause
"""Instructions of a read outside the kernel, and what of them misses a first-level cache, counted by callgrind: each program
is run with some reads and with more, and the difference is taken, without what Fin tells valgrind alone."""
import os
import re
import shutil
import tempfile

from common import output_of

CACHE = '32768,8,64'  # bytes, ways, bytes of a line
ONLY_UNDER_VALGRIND = 'fin_uring_written', 'fin_track_written'


def costs(path):
    """[instructions, misses] of all functions themselves, of what callgrind wrote."""
    sums, names, function, skip = [0, 0], {}, '', False
    with open(path, encoding='utf-8', errors='replace') as f:
        for line in f:
            name = re.match(r'fn=(\(\d+\)) ?(.*)', line)
            if name:
                function = names.setdefault(name[1], name[2].split("'")[0])
            elif re.match(r'cfn=', line):
                called = re.match(r'cfn=(\(\d+\)) ?(.*)', line)
                names.setdefault(called[1], called[2].split("'")[0])
            elif line.startswith('events:'):
                events = line.split()[1:]
            elif line.startswith('calls='):
                skip = True  # the line behind it is of what was called
            elif re.match(r'[\d+*-]', line):
                if not skip and function not in ONLY_UNDER_VALGRIND:
                    cost = dict(zip(events, map(int, line.split()[1:])))
                    sums[0] += cost.get('Ir', 0)
                    sums[1] += cost.get('D1mr', 0) + cost.get('D1mw', 0)
                skip = False
    return sums


def of_a_read(command, few):
    """command(reads): the program's, to be run."""
    if not shutil.which('valgrind'):
        raise RuntimeError('valgrind is not installed')
    sums = []
    for reads in (few, 3 * few):
        with tempfile.TemporaryDirectory() as directory:
            out = os.path.join(directory, 'out')
            output_of(['valgrind', '--tool=callgrind', '--cache-sim=yes', '--D1=' + CACHE, '--callgrind-out-file=' + out,
                       *command(reads)])
            sums.append(costs(out))
    found = [(b - a) / (2 * few) for a, b in zip(*sums)]
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
