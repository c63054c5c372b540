#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the benchmarks and writes what they say as one HTML page and as Markdown: ./run report

    --quick       few repetitions, about five minutes
    --only NAMES  some steps, with commas; the page then has only those
    --html FILE, --markdown FILE   where to"""
import argparse
import base64
import datetime
import glob
import html
import os
import re
import subprocess
import sys
import time

from papers import ITEMS

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


STEPS = [
    core('micro', 'The basic operations (ac 5.1)', 20, 4),
    core('async', 'An async that does not block', 10, 2),
    core('create', 'An async that blocks, from begin to end', 10, 3),
    core('switch', 'Switches', 10, 3),
    core('ring', 'Switches among 10,000', 20, 6),
    core('million', 'A million blocked, spawn and join', 240, 60),
    core('extensions', 'The extensions paper', 30, 8),
    Step('cont', 'Explicit continuations', './run cont', '--quick', 60, 20, ['bench/cont/fin-bench-cont']),
    Step('chan', 'Channels and RPC', './run chan', '--quick', 90, 30, ['bench/chan/fin-bench-chan']),
    Step('relay', 'The dispatch loop (ac-extensions 6.1)', './run relay', '', 20, 20, ['examples/relay']),
    Step('commit', 'Two-phase commit between processes (ac 5.2)', './run commit', '', 20, 20, ['examples/commit']),
    io('reads', 'Random reads (ac figure 11)', '--repetitions 1', 200, 60),
    io('quotes', 'Stock-quote server (ac figure 12)', '--repetitions 1 --clients 1000', 300, 45),
    io('http', 'HTTP and echo servers', '--repetitions 1', 200, 45),
]
ROW = re.compile(r'^  (?P<name>\S.*?)  +(?P<value>[\d.]+)  +(?P<range>[\d.]+-[\d.]+~?)(?P<times> +[\d.]+x)?(?P<rest>.*)$')
SAID = {'met': 'met', 'MISSED': 'LOSES: missed'}
TARGET = re.compile(r'(<= [\d.]+x?) +(met|MISSED)$')


class Table:
    """What stands between two empty lines of a program's output. `rows`: of bench.c's form, else None."""

    def __init__(self, lines):
        self.title = lines[0].strip()
        self.lines, self.rows = lines[1:], []
        head = self.lines[0] if self.lines else ''
        if '5-95%' not in head:
            return
        self.unit = head.split()[0]
        for line in self.lines[1:]:
            m = ROW.match(line)
            if not m:
                continue
            target = TARGET.search(m['rest'])
            published = m['rest'][:target.start() if target else None].strip()
            self.rows.append((m['name'], float(m['value']), m['range'], (m['times'] or '').strip(), published,
                              *((target[1], SAID[target[2]]) if target else ('', ''))))


def tables_of(output):
    parts = [p.strip('\n').split('\n') for p in re.split(r'\n\s*\n', output.replace('\r', '')) if p.strip()]
    return [Table(p) for p in parts]


def bars(rows, unit):
    """Medians with their ranges, as SVG."""
    most = max(float(r[2].rstrip('~').split('-')[-1]) for r in rows) or 1
    width, height = 420, 22
    out = [f'<svg width="{width + 340}" height="{height * len(rows) + 4}" role="img">']
    for i, (name, value, spread, *_, said) in enumerate(rows):
        lo, hi = (float(x) for x in spread.rstrip('~').split('-')[-2:])
        y, scale = i * height + 2, width / most
        colour = '#b33' if 'missed' in said else '#37a' if 'fin' in name.lower() or said else '#999'
        out.append(f'<text x="250" y="{y + 14}" text-anchor="end">{html.escape(name[:40])}</text>'
                   f'<rect x="256" y="{y + 3}" width="{value * scale:.1f}" height="{height - 8}" fill="{colour}"/>'
                   f'<path d="M{256 + lo * scale:.1f} {y + 10}H{256 + hi * scale:.1f}" stroke="#000"/>'
                   f'<text x="{262 + hi * scale:.1f}" y="{y + 14}">{value:g} {html.escape(unit)}</text>')
    return ''.join(out) + '</svg>'


HEADS = ('', 'median', '5-95%', 'times', 'published', 'target', '')


def table_html(t):
    if not t.rows:
        body = html.escape('\n'.join(t.lines))
        return f'<h3>{html.escape(t.title)}</h3>' + (f'<pre>{body}</pre>' if body else '')
    cells = ''.join('<tr>' + ''.join(f'<td>{html.escape(str(c))}</td>' for c in r) + '</tr>' for r in t.rows)
    head = ''.join(f'<th>{html.escape(h)}</th>' for h in HEADS)
    return f'<h3>{html.escape(t.title)}</h3><table><tr>{head}</tr>{cells}</table>{bars(t.rows, t.unit)}'


def table_markdown(t):
    if not t.rows:
        body = '\n'.join(line.rstrip() for line in t.lines)
        return f'\n**{t.title}**\n' + (f'\n```\n{body}\n```\n' if t.lines else '')
    lines = ['', f'**{t.title}**', '', '| ' + ' | '.join(HEADS) + ' |', '|---' * len(HEADS) + '|']
    return '\n'.join(lines + ['| ' + ' | '.join(str(c).replace('|', '\\|') for c in r) + ' |' for r in t.rows]) + '\n'


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
    command = [part.replace('{build}', options.build) for part in step.program]
    command[0] = os.path.join(TOP if command[0].endswith('.py') else options.build, command[0])
    if command[0].endswith('.py'):
        command.insert(0, sys.executable)
    if options.quick:
        command += step.quick.split()
    limit = 3 * (step.quick_seconds if options.quick else step.seconds) + 30
    began = time.monotonic()
    try:
        done = subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit,
                              errors='replace', check=False)
        output, why = done.stdout, f'it ended with status {done.returncode}' if done.returncode else ''
    except subprocess.TimeoutExpired as e:
        output, why = (e.stdout or b'').decode(errors='replace'), f'it did not end within {limit} s'
    except OSError as e:
        output, why = '', f'it could not be run: {e.strerror}'
    return output, why, time.monotonic() - began


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


def paper_rows(steps):
    ran = {s.name for s in steps}
    for paper, item, what, published, measured, remark in ITEMS:
        yield paper, item, what, published, [m for m in measured if m in ran], remark, bool(measured)


def where(found, has, link):
    return ', '.join(link(m) for m in found) if found else 'not in this run' if has else 'not measured'


STYLE = '''body{font:15px/1.45 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;margin:.6em 0}
td,th{border:1px solid #ccc;padding:.15em .6em;text-align:left}svg{font:12px sans-serif;display:block}pre{overflow-x:auto}
code{background:#eee}.bad{color:#b00}img{max-width:100%}'''


def picture(path):
    with open(path, 'rb') as f:
        data = base64.b64encode(f.read()).decode()
    return f'<img alt="{html.escape(os.path.basename(path))}" src="data:image/png;base64,{data}">'


def page(results, facts, steps, pictures):
    out = ['<!doctype html><meta charset="utf-8"><title>Fin: what was measured</title>', f'<style>{STYLE}</style>',
           '<h1>Fin: what was measured</h1><table>']
    out += [f'<tr><th>{html.escape(k)}<td>{html.escape(v)}' for k, v in facts]
    out.append('</table><h2>The papers, item by item</h2>'
               '<table><tr><th>paper<th>item<th>what<th>published<th>here<th>remark')
    for paper, item, what, published, found, remark, has in paper_rows(steps):
        here = where(found, has, lambda m: f'<a href="#{m}">{m}</a>')
        out.append('<tr>' + ''.join(f'<td>{html.escape(c)}' for c in (paper, item, what, published)) +
                   f'<td>{here}<td>{html.escape(remark)}')
    out.append('</table>')
    for step, output, why, _ in results:
        out.append(f'<h2 id="{step.name}">{html.escape(step.title)}</h2><p>again: <code>{html.escape(step.command)}</code>')
        if why:
            out.append(f'<p class="bad">Incomplete: {html.escape(why)}.')
        out += [table_html(t) for t in tables_of(output)]
        out += [picture(p) for p in pictures if os.path.basename(p).startswith(step.name)]
    return '\n'.join(out)


def markdown(results, facts, steps):
    out = ['# What was measured', '', 'Made by `./run report`; the page that it makes has plots, too.', '', '| | |',
           '|---|---|']
    out += [f'| {k} | {v} |' for k, v in facts]
    out += ['', '## The papers, item by item', '', '| paper | item | what | published | here | remark |',
            '|---|---|---|---|---|---|']
    for paper, item, what, published, found, remark, has in paper_rows(steps):
        out.append(f'| {paper} | {item} | {what} | {published} | {where(found, has, lambda m: m)} | {remark} |')
    for step, output, why, _ in results:
        again = f'Again: `{step.command}`.' + (f' Incomplete: {why}.' if why else '')
        out += ['', f'## {step.name}: {step.title}', '', again]
        out += [table_markdown(t).rstrip('\n') for t in tables_of(output)]
    return '\n'.join(out) + '\n'


def write(results, facts, steps, options, began):
    """After each step: who interrupts it has what there is."""
    pictures = [f for f in sorted(glob.glob(os.path.join(options.build, 'bench', 'io', 'results', '*.png')))
                if os.path.getmtime(f) >= began]
    text = {options.html: page(results, facts, steps, pictures), options.markdown: markdown(results, facts, steps)}
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
    steps, facts, began = [s for s in STEPS if s.name in options.names], machine(), time.time()
    if options.quick:
        facts.append(('kind', 'quick: few repetitions'))
    progress, results = Progress(steps, options.quick), []
    for i, step in enumerate(steps):
        progress.show(i)
        results.append((step, *run(step, options)))
        if results[-1][2]:
            print(f'  {step.name}: {results[-1][2]}', flush=True)
        write(results, facts, steps[:i + 1], options, began)
    progress.show(len(steps))
    print('  ' + os.path.relpath(options.html) + '\n  ' + os.path.relpath(options.markdown))
    return any(r[2] for r in results)


if __name__ == '__main__':
    sys.exit(main())
