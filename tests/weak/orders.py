#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Are the scenarios hard enough? Each memory order in the library that is more than relaxed and that they come by is made
relaxed in turn: one of them must fail then. Of those in REDUNDANT none does, for the reason given there: it holds by
another access as well.

orders.py PROGRAM... says what is wrong; orders.py --all PROGRAM... tries also those in REDUNDANT, and says of each which
program finds it."""
import collections
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
RUNS = {'asleep': 5000, 'channel': 600, 'room': 1500, 'ends': 12000, 'on': 300, 'shared': 600, 'waitset': 600}
# That find at once what shows once in some 100,000 runs: its orders that nobody else has.
SEEDS = {'ends': (16356, 27601)}
KINDS = {'inbox': ([], ['io=1']), 'asleep': ([], ['barriers=0'], ['io=1']), 'claims': ([],), 'locks': ([],), 'counts': ([],)}
FEW = 50  # passes in 300 runs, below which it belongs to the beginning of a thread or of a channel

# In a line of which file, and why nothing shows.
REDUNDANT = (
    ('src/core/awe.c', '&a->state, &from', 'what goes with an AWE goes by the slot that named it, and by the inbox'),
    ('src/core/dispatch.h', '&a->state, from', 'the same'),
    ('src/core/cont.h', 'tag | kind | FIN_AWE_EXPLICIT', 'the same'),
    ('src/core/thread.c', '&rt->poller', 'here threads begin to use I/O before the first run'),
    ('src/host/linux/host.c', '&rt->futex', 'who was woken looks into the inbox, which says it'),
    ('src/io/io.c', '&io->woken', 'before it sleeps again the thread looks at the inbox, with an order of its own'),
    ('src/chan/ump.c', '&asked', 'what it is about was asked before the first run'),
    ('src/forks.h', 'watched', 'the same'),
    ('src/chan/bell.c', 'bool gone = ', 'fin_bell_empty looks again'),
    ('src/chan/recv_on.c', 'closed, __ATOMIC_ACQUIRE)', 'the same'),
    ('src/chan/waitset.c', '&w->users', 'here nobody waits in a set that is closed'),
)


def name_of(program):
    return os.path.basename(program).removeprefix('weak_')


def run(program, *options):
    return subprocess.run([program, *options], capture_output=True, text=True)


def sites(program, options):
    """Where the code goes on behind an access, and what the access was: the line, and those that it was inlined into."""
    listed = [line.split() for line in run(program, 'sites', 'runs=300', *options).stdout.splitlines()]
    offsets = [int(at, 16) for at, _, passed in listed if int(passed) >= FEW and len(at) < 12]
    out = subprocess.run(['addr2line', '-aie', program], input='\n'.join(hex(at - 1) for at in offsets), capture_output=True,
                         text=True, check=True).stdout
    for at, text in zip(offsets, re.split(r'^0x.*\n', out, flags=re.M)[1:]):
        lines = [line for line in text.split() if ':' in line]
        path = os.path.realpath(lines[0].rpartition(':')[0]) if lines else ''
        if path.startswith((f'{TOP}/src/', f'{TOP}/include/')):
            yield at, (os.path.relpath(path, TOP), int(lines[0].rpartition(':')[2]))


def reason(path, line):
    text = (TOP / path).read_text().splitlines()[line - 1]
    return next((why for file, part, why in REDUNDANT if path == file and part in text), None)


def runs_of(program):
    return RUNS.get(name_of(program), 2000)


def fails(program, at, options, times=1):
    runs, seeds = round(runs_of(program) * times), [seed * max(times, 1) for seed in SEEDS.get(name_of(program), (1,))]
    return any(run(program, f'runs={runs}', f'seed={seed}', f'weaken={at:#x}', *options).returncode for seed in seeds)


def main(programs, everything):
    ways = collections.defaultdict(list)  # of each line, where in which program
    for program in programs:
        for options in KINDS.get(name_of(program), ([], ['barriers=0'])):
            for at, line in sites(program, options):
                ways[line].append((program, at, options))
    wrong = redundant = 0
    for (path, line), tries in sorted(ways.items()):
        why = reason(path, line)
        redundant += why is not None
        if why and not everything:
            continue
        if everything:
            found = [t for t in tries if fails(*t)]
        else: # Most are found at once by some program: a few runs of each come first, and of those with many runs last. A
            # change somewhere else makes other runs of the same seeds: chance is given more of them before it is blamed.
            tries.sort(key=lambda t: runs_of(t[0]))
            found = next(([t] for times in (0.05, 1, 10) for t in tries if fails(*t, times)), [])
        names = sorted({name_of(program) for program, _, _ in found})
        if everything:
            print(f'{path}:{line}: {", ".join(names) or "nobody"}; {why or ""}')
        if bool(found) == bool(why):
            wrong += 1
            print(f'{path}:{line}: ' + ('no scenario needs its order' if not found else 'it is needed after all'))
    print(f'{len(ways)} lines with an order; {redundant} redundant')
    return wrong != 0


if __name__ == '__main__':
    sys.exit(main([p for p in sys.argv[1:] if p != '--all'], '--all' in sys.argv))
