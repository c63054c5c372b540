#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the benchmarks and writes what they say as one HTML page and as Markdown: ./run report

    --quick       few repetitions, about five minutes
    --only NAMES  some steps, with commas; the page then has only those
    --html FILE, --markdown FILE   where to
    --recorded DIR   makes the pages of what the steps have printed before: the last run's is in report/ of the build"""
import argparse
import datetime
import glob
import os
import re
import shlex
import signal
import subprocess
import sys
import time

from pages import markdown, page

PATIENCE = 10  # seconds for a step to end in when it is told to
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Step:
    """A program, what it takes as a user would say it, and about how many seconds; with --quick, too."""

    def __init__(self, name, title, command, quick, seconds, quick_seconds, program):
        self.name, self.title, self.command, self.quick = name, title, command, quick
        self.seconds, self.quick_seconds, self.program = seconds, quick_seconds, program


def core(table, title, seconds, quick):
    return Step(table, title, f'./run bench --table {table}', '--quick', seconds, quick,
                ['bench/core/fin-bench-core', '--rivals', '{build}/bench/rivals', '--table', table])


def io(part, title, quick, seconds, quick_seconds):
    return Step(part, title, f'./run io {part}', quick, seconds, quick_seconds,
                ['bench/io/bench.py', '--build', '{build}', part])


CROWD = "--clients 200000 --every 4 --only 'Fin without stacks,io_uring callbacks'"
STEPS = [
    core('micro', 'The basic operations (ac 5.1)', 2, 1),
    core('async', 'An async that does not block', 2, 1),
    core('create', 'An async that blocks, from begin to end', 2, 1),
    core('switch', 'Switches', 2, 1),
    core('ring', 'Switches among 10,000', 2, 1),
    core('sync', 'Mutexes and semaphores', 20, 3),
    core('million', 'A million blocked, spawn and join', 120, 5),
    core('extensions', 'The extensions paper', 2, 1),
    Step('cont', 'Explicit continuations', './run cont', '--quick', 150, 30, ['bench/cont/fin-bench-cont']),
    Step('components', 'Instructions of a null call by component', './run cont', '', 60, 60,
         ['bench/cont/components.py', '{build}/bench/cont/fin-bench-cont']),
    Step('chan', 'Channels and RPC', './run chan', '--quick', 150, 80, ['bench/chan/fin-bench-chan']),
    Step('relay', 'The dispatch loop (ac-extensions 6.1)', './run relay', '', 2, 2, ['examples/relay']),
    Step('commit', 'Two-phase commit between processes (ac 5.2)', './run commit', '', 20, 20, ['examples/commit']),
    io('reads', 'Random reads (ac figure 11)', '--repetitions 1', 180, 60),
    io('quotes', 'Stock-quote server (ac figure 12)', '--repetitions 1 --clients 1000', 240, 40),
    Step('crowd', '200,000 clients of the stock-quote server', f'./run io quotes {CROWD}', '--clients 20000', 100, 20,
         ['bench/io/bench.py', '--build', '{build}', 'quotes', '--repetitions', '1', *shlex.split(CROWD),
          '--out', '{build}/bench/io/crowd']),
    io('http', 'HTTP and echo servers', '--repetitions 1', 85, 35),
]


class Progress:
    def __init__(self, steps, quick):
        self.steps, self.quick, self.began = steps, quick, time.monotonic()

    def expected(self, steps):
        return sum(s.quick_seconds if self.quick else s.seconds for s in steps)

    def show(self, i):
        done, left = self.expected(self.steps[:i]), self.expected(self.steps[i:])
        pace = max((time.monotonic() - self.began) / done, 0.3) if done else 1
        filled = 30 * done // max(done + left, 1)
        seconds = int(left * pace)
        name = self.steps[i].name if i < len(self.steps) else 'done'
        bar = '#' * filled + '.' * (30 - filled)
        print(f'[{bar}] {i}/{len(self.steps)} {name:12} {seconds // 60}:{seconds % 60:02} left', flush=True)


def run(step, options):
    """What it printed, why it is not all, the seconds it took."""
    kept = os.path.join(options.recorded or os.path.join(options.build, 'report'), step.name + '.txt')
    if options.recorded:
        try:
            with open(kept) as f:
                return f.read(), '', 0
        except OSError as e:
            return '', f'{kept}: {e.strerror}', 0
    command = [part.replace('{build}', options.build) for part in step.program]
    command[0] = os.path.join(TOP if command[0].endswith('.py') else options.build, command[0])
    if command[0].endswith('.py'):
        command.insert(0, sys.executable)
    if options.quick:
        command += step.quick.split()
    began = time.monotonic()
    output, why = output_of(command, 6 * (step.quick_seconds if options.quick else step.seconds) + 60)
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    with open(kept, 'w') as f:
        f.write(output)
    return output, why, time.monotonic() - began


def output_of(command, limit):
    try:
        process = subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors='replace', start_new_session=True)
    except OSError as e:
        return '', f'it could not be run: {e.strerror}'
    try:
        output = process.communicate(timeout=limit)[0]
        return output, f'it ended with status {process.returncode}' if process.returncode else ''
    except subprocess.TimeoutExpired:
        return end(process), f'it did not end within {limit} s'
    except BaseException:
        end(process)
        raise


def end(process):
    """Ends it and what it has started, which has the pipe open, too; what removes its files first has time for that.
    Returns the rest of what it printed."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(PATIENCE)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return process.communicate()[0]


def first_line(*command):
    try:
        lines = subprocess.run(command, capture_output=True, text=True, timeout=10, cwd=TOP, check=False).stdout.splitlines()
        return lines[0] if lines else ''
    except OSError:
        return ''


def machine():
    with open('/proc/cpuinfo') as f:
        text = f.read()
    model = re.search(r'model name\s*: (.*)', text)
    virtual = ', a virtual machine' if 'hypervisor' in text else ''
    load = os.getloadavg()[0]
    facts = [('machine', f'{model[1] if model else os.uname().machine}, {os.cpu_count()} processors{virtual}'),
             ('system', f'Linux {os.uname().release}'),
             ('Fin', first_line('git', 'log', '-1', '--format=%h of %cs')),
             ('compilers', ', '.join(v for v in (first_line('gcc', '--version'), first_line('go', 'version'),
                                                 first_line('rustc', '--version')) if v)),
             ('date', datetime.date.today().isoformat()),
             ('load when it began', f'{load:.1f}' + (': others were at work, compare rows, not days' if load > 1 else ''))]
    return [f for f in facts if f[1]]


def write(results, facts, options, began):
    """After each step: who interrupts it has what there is."""
    pictures = [f for f in sorted(glob.glob(os.path.join(options.build, 'bench', 'io', 'results', '*.png')))
                if os.path.getmtime(f) >= began]
    commands = {s.name: s.command for s in STEPS}
    text = {options.html: page(results, facts, commands, pictures), options.markdown: markdown(results, facts, commands)}
    for at in text:
        with open(at, 'w') as f:
            f.write(text[at])


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--quick', action='store_true')
    p.add_argument('--only', metavar='NAMES')
    p.add_argument('--build', default=os.path.join(TOP, 'build'))
    p.add_argument('--html', metavar='FILE')
    p.add_argument('--markdown', metavar='FILE')
    p.add_argument('--recorded', metavar='DIR')
    options = p.parse_args()
    options.build = os.path.abspath(options.build)
    options.names = options.only.split(',') if options.only else [s.name for s in STEPS]
    unknown = set(options.names) - {s.name for s in STEPS}
    if unknown:
        p.error('no such step: ' + ', '.join(sorted(unknown)) + '; there are ' + ', '.join(s.name for s in STEPS))
    options.html = options.html or os.path.join(options.build, 'report.html')
    whole = not options.quick and not options.only
    options.markdown = options.markdown or (os.path.join(TOP, 'docs', 'results.md') if whole else
                                            os.path.join(options.build, 'results.md'))
    return options


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as after ^C, the step that runs is ended first
    steps, facts, began = [s for s in STEPS if s.name in options.names], machine(), time.time()
    if options.quick:
        facts.append(('kind', 'quick: few repetitions'))
    progress, results = Progress(steps, options.quick), []
    for i, step in enumerate(steps):
        progress.show(i)
        results.append((step, *run(step, options)))
        if results[-1][2]:
            print(f'  {step.name}: {results[-1][2]}', flush=True)
        write(results, facts, options, began)
    progress.show(len(steps))
    took = sum(r[3] for r in results)
    print(f'  {took // 60:.0f}:{took % 60:02.0f} in all: ' + ', '.join(f'{r[0].name} {r[3]:.0f} s' for r in results))
    print('  ' + os.path.relpath(options.html) + '\n  ' + os.path.relpath(options.markdown))
    return any(r[2] for r in results)


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
