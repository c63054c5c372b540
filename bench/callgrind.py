# SPDX-License-Identifier: BSD-2-Clause
"""What callgrind counts of a program: of each function its own events, and of each call what was called with what that
called."""
import collections
import pathlib
import re
import subprocess
import tempfile


def plus(a, b, times=1):
    return [x + times * y for x, y in zip(a, b)]


class Counted:
    """What callgrind wrote of one process: of each function its own cost, and {(caller, called): [calls, cost]}, where that
    is with what it called itself. A cost is a list, of the events in their order."""

    def __init__(self, file, events):
        zeros = [0] * len(events)
        self.own, self.calls = collections.defaultdict(lambda: zeros), collections.defaultdict(lambda: [0, zeros])
        names, caller, called, times, total = {}, '', '', None, None
        with open(file, encoding='utf-8', errors='replace') as f:
            for line in f:
                name = re.match(r'(c?)fn=(\(\d+\)) ?(.*)', line)
                if name:
                    names.setdefault(name[2], re.match(r"[^.']*", name[3])[0])
                    caller, called = (caller, names[name[2]]) if name[1] else (names[name[2]], called)
                elif line.startswith('events:'):
                    at = [line.split().index(event) for event in events]  # behind the position of a cost
                elif line.startswith('totals:'):
                    total = [int(line.split()[i]) for i in at]
                elif line.startswith('calls='):
                    times = int(line[6:].split()[0])
                elif re.match(r'[\d+*-]', line):
                    n = (line.split() + ['0'] * max(at))
                    n = [int(n[i]) for i in at]
                    if times is None:
                        self.own[caller] = plus(self.own[caller], n)
                    else:
                        before, cost = self.calls[caller, called]
                        self.calls[caller, called], times = [before + times, plus(cost, n)], None
        if total is None or any(sum(n) != m for n, m in zip(zip(*self.own.values()), total)):
            raise RuntimeError('the functions have not all that callgrind counted')


def processes(command, events, *options):
    """A Counted of each process of a command."""
    with tempfile.TemporaryDirectory() as out:
        try:
            done = subprocess.run(['valgrind', '--tool=callgrind', '--cache-sim=yes', *options,
                                   f'--callgrind-out-file={out}/%p', *command], capture_output=True, text=True, timeout=300,
                                  check=False)
        except subprocess.TimeoutExpired as e:
            raise RuntimeError(f'it does not end within {e.timeout:.0f} s') from None
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            raise RuntimeError(lines[-1] if lines else f'{command[0]} ended with status {done.returncode}')
        return [Counted(file, events) for file in pathlib.Path(out).iterdir()]
