# SPDX-License-Identifier: BSD-2-Clause
"""What the I/O benchmarks share: where programs are, which processor is whose, progress, medians, files of samples."""
import csv
import functools
import os
import signal
import statistics
import subprocess
import sys
import time


class Bench:
    """One run: its options, its directories, and the processors of what is measured and of what measures."""

    def __init__(self, options):
        here = os.path.dirname(os.path.abspath(__file__))
        self.options = options
        self.level = 2 if options.full else 1 if options.middle else 0
        self.build = os.path.abspath(options.build)
        self.source = os.path.dirname(os.path.dirname(here))
        self.out = os.path.abspath(options.out or os.path.join(self.build, 'bench', 'io', 'results'))
        self.scratch = os.path.abspath(options.scratch or self.out)
        self.repetitions = options.repetitions or self.of(3, 3, 5)
        cpus = sorted(os.sched_getaffinity(0))
        self.cpu, self.other_cpu = cpus[-1], cpus[0]
        os.makedirs(self.out, exist_ok=True)
        os.makedirs(self.scratch, exist_ok=True)

    def of(self, quick, middle, full):
        return (quick, middle, full)[self.level]

    def program(self, path):
        return os.path.join(self.build, path)

    def measured(self, command):
        """The command on the processor of what is measured; it dies with this process."""
        return ['setpriv', '--pdeathsig', 'KILL', 'taskset', '-c', str(self.cpu), *command]

    def measuring(self, command):
        return ['setpriv', '--pdeathsig', 'KILL', 'taskset', '-c', str(self.other_cpu), *command]


def output_of(command, timeout=120):
    """What a command prints, or RuntimeError with what it complained of."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f'does not end within {timeout} s: {" ".join(command)}') from None
    except OSError as e:
        raise RuntimeError(f'{command[0]}: {e.strerror}') from None
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f'{how_it_ended(done.returncode)}: {" ".join(command)}')
    return done.stdout


def how_it_ended(status):
    """By what or with what a process did: -9 is a signal."""
    return f'ended by {signal.Signals(-status).name}' if status < 0 else f'ended with status {status}'


def numbers_of(text, count):
    """The numbers that a program printed, all positive: nothing is measured that took no time."""
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        numbers = []
    if len(numbers) != count or min(numbers) <= 0:
        raise RuntimeError(f'it printed no {count} times: {text.strip()[:100]!r}')
    return numbers


CONFIDENCE = 0.9


@functools.lru_cache(None)
def ranks(first, last):
    """{n: k}: of n independent samples the median lies between the one with k below it and the one with k above it. That
    holds with the CONFIDENCE for all n from the first to the last together, so that one may stop at any of them because of
    what one sees. Of few samples no two are so far apart, the least and the greatest of 4 only with 87.5%: no such n.

    Each sample is below the median with probability 1/2, whatever their distribution is. `below` has the probabilities that
    so many are, of those in which the median was between in each look so far; each look leaves out as many as it may."""
    found, below = {}, [1.0]
    for n in range(1, last + 1):
        below = [(a + b) / 2 for a, b in zip([*below, 0], [0, *below])]
        fitting = [k for k in range((n + 1) // 2) if n >= first and sum(below[k + 1:n - k]) >= CONFIDENCE]
        if fitting:
            found[n] = k = max(fitting)
            below = [p if k < i < n - k else 0 for i, p in enumerate(below)]
    return found


class Progress:
    """How much is done and how long the rest will take: a line redrawn on a terminal, else one every half minute."""

    def __init__(self, what, total):
        self.what, self.total, self.done = what, total, 0
        self.begin = self.shown = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def step(self, doing, steps=1):
        self.show(doing)
        self.done += steps

    def show(self, doing):
        now = time.monotonic()
        left = (now - self.begin) / self.done * (self.total - self.done) if self.done else 0
        text = f'{self.what} {100 * self.done // max(self.total, 1):3d}%, '
        text += f'{left // 60:.0f}:{left % 60:02.0f} left: {doing}' if self.done else doing
        if self.terminal:
            print(f'\r  {text[:110]:<110}', end='', file=sys.stderr, flush=True)
        elif now - self.shown > 30:
            self.shown = now
            print('  ' + text, file=sys.stderr, flush=True)

    def end(self):
        if self.terminal:
            print('\r' + ' ' * 114 + '\r', end='', file=sys.stderr, flush=True)


class Samples:
    """Measurements as they come: rows of a CSV file, and their medians by key columns. looks: after how many repetitions it
    is first looked at them, to see whether they are enough, and after how many last; between, after each."""

    def __init__(self, path, keys, values, looks=(1, 1)):
        self.keys, self.values, self.rows, self.looks = keys, values, {}, looks
        self.file = open(path, 'w', newline='', encoding='utf-8')
        self.writer = csv.writer(self.file)
        self.writer.writerow([*keys, 'repetition', *values])

    def add(self, key, repetition, values):
        self.rows.setdefault(key, {})[repetition] = values
        self.writer.writerow([*key, repetition, *(f'{v:.6g}' for v in values)])
        self.file.flush()

    def close(self):
        self.file.close()

    def has(self, name):
        """Is there any sample of what is called so?"""
        return any(name in key for key in self.rows)

    def column(self, key, value):
        i = self.values.index(value)
        return [v[i] for v in self.rows.get(key, {}).values()]

    def median(self, key, value):
        column = self.column(key, value)
        return statistics.median(column) if column else None

    def spread(self, key, value):
        """The range of the repetitions, in percent of their median."""
        column = self.column(key, value)
        middle = statistics.median(column) if column else 0
        return 100 * (max(column) - min(column)) / middle if middle else 0

    def ratios(self, key, base, value):
        i = self.values.index(value)
        ours, theirs = self.rows.get(key, {}), self.rows.get(base, {})
        return sorted(ours[r][i] / theirs[r][i] for r in ours if r in theirs and theirs[r][i])

    def ratio(self, key, base, value):
        """The median, over the repetitions, of how many times the base's value this one's is: what disturbs the machine
        for a while disturbs both."""
        ratios = self.ratios(key, base, value)
        return statistics.median(ratios) if ratios else None

    def ratio_between(self, key, base, value):
        """Two ratios between which the median of all that there might be is, with 90% confidence if repetitions are
        independent; None: there are too few for that."""
        ratios = self.ratios(key, base, value)
        outside = ranks(*self.looks).get(len(ratios))
        return None if outside is None else (ratios[outside], ratios[-1 - outside])

    def is_clear(self, key, base, value, target):
        """Is it sure on which side of the target that median is?"""
        between = self.ratio_between(key, base, value)
        return between is not None and not between[0] < target < between[1]

    def judged(self, key, base, value, target, least=False, of=''):
        """The ratio, where its median is, `of` what it is, and whether the target is met, at most or at least that."""
        between, ratio = self.ratio_between(key, base, value), self.ratio(key, base, value)
        where = f' ({between[0]:.2f}-{between[1]:.2f})' if between else ''
        sure = '' if self.is_clear(key, base, value, target) else '?'
        said = verdict(ratio, at_least=target) if least else verdict(ratio, at_most=target)
        return f'{ratio:.3f}{where} {of}({said}{sure})' if of else f'{ratio:.3f}{where} {said}{sure}'

    def said_of_judged(self):
        """What a table with that says of it."""
        if ranks(*self.looks):
            return f'in brackets where their median is with {CONFIDENCE:.0%} confidence, if repetitions are independent; ' \
                   '?: on which side of the target is not sure'
        return f'too few to say with {CONFIDENCE:.0%} confidence where their median is, nor which targets (?) are met'


def in_turns(items, repetition):
    """The items, beginning with another one in each repetition: nobody is always first."""
    items = list(items)
    k = repetition % len(items) if items else 0
    return items[k:] + items[:k]


def verdict(ratio, at_least=None, at_most=None):
    if ratio is None:
        return ''
    met = ratio >= at_least if at_least is not None else ratio <= at_most
    return 'met' if met else 'MISSED'


def print_losses(what, losses, others):
    """What others did better, worst first: (how many times Fin's cost theirs is less, text). others: those that ran."""
    if not others:
        print(f'\n  {what}: nobody ran to compare Fin with')
        return
    if not losses:
        print(f'\n  {what}: nobody did better than Fin')
        return
    print(f'\n  {what}: better than Fin')
    for _, text in sorted(losses, reverse=True):
        print('    ' + text)


def machine():
    with open('/proc/cpuinfo', encoding='utf-8') as f:
        model = next((line.split(':', 1)[1].strip() for line in f if line.startswith('model name')), os.uname().machine)
    return f'{model}, {os.cpu_count()} CPUs, Linux {os.uname().release}'
