#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The report has each table and figure of the papers, of what benchmarks printed that once ran: report.py DIRECTORY"""
import glob
import html.parser
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = sys.argv[1]
RECORDED = os.path.join(TOP, 'tests', 'docs', 'report')
sys.path.insert(0, os.path.join(TOP, 'tools', 'report'))
from outputs import pick, targets  # noqa: E402
from pages import Found  # noqa: E402
from papers import AC, EXT, HTM, ITEMS, MACH, SHOWN_OTHERWISE  # noqa: E402
from report import STEPS  # noqa: E402

# What measurements the papers show.
SHOWN = {AC: ['5.1, microbenchmarks', '5.1, ping-pong', 'Figure 10', 'Figure 11', 'Figure 12'],
         EXT: ['Figure 4', 'Table 1', 'Table 2', 'Table 3', 'Table 4', 'Table 5'],
         HTM: ['Section 3.1', 'Figures 3.1, 3.2', 'Figure 3.3', 'Figure 6.1', 'Table 6.2', 'Figure 6.2'],
         MACH: ['Table 1', 'Table 2', 'Table 3', 'Table 4', 'Table 5']}
# All tables and figures that the papers have.
NUMBERED = {AC: ['Figure ' + str(n) for n in range(1, 13)],
            EXT: ['Figure ' + str(n) for n in range(1, 5)] + ['Table ' + str(n) for n in range(1, 6)],
            HTM: ['Figure ' + n for n in '2.1 2.2 3.1 3.2 3.3 4.1 5.1 5.2 5.3 6.1 6.2'.split()] +
                 ['Table ' + n for n in '4.1 5.1 6.1 6.2'.split()],
            MACH: ['Figure ' + str(n) for n in range(1, 6)] + ['Table ' + str(n) for n in range(1, 6)]}
NEEDS_NO_ROW = {'commit', 'until', 'abort'}  # of transactions, which this machine could not make


class Page(html.parser.HTMLParser):
    """What a page refers to."""

    def __init__(self):
        super().__init__()
        self.ids, self.links, self.plots = set(), [], 0

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.ids.add(a.get('id'))
        self.links += [v for k, v in attributes if k in ('href', 'src')]
        self.plots += tag == 'svg'
        if tag in ('script', 'link', 'iframe'):
            sys.exit(f'the page is not self-contained: <{tag}>')


def sources():
    names = [f for kind in ('c', 'h', 'cpp', 'py') for f in glob.glob(os.path.join(TOP, 'bench', '*', '*.' + kind))]
    names += [os.path.join(TOP, 'examples', f) for f in ('relay.c', 'commit.c')]
    return '\n'.join(open(name).read() for name in names)


def check_items():
    """Each has what was published, and rows of ours and of others, or the reason why not. The benchmarks know those rows."""
    text = sources()
    outputs = {os.path.basename(f)[:-4]: open(f).read() for f in glob.glob(os.path.join(RECORDED, '*.txt'))}
    for paper, names in SHOWN.items():
        for name in names:
            if sum(i.paper == paper and name in i.name for i in ITEMS) != 1:
                sys.exit(f'{paper}: {name} is not in the report, or twice')
    for item in ITEMS:
        if not item.published or not (item.ours or item.remark) or not (item.rivals or item.remark):
            sys.exit(f'{item.paper}, {item.name}: a figure is missing, and the reason, too')
        for rows in (*item.ours, *item.rivals):
            step, title, *words = rows
            for word in (title, *words):
                if not any(said in text for said in (word.strip(), re.sub(r'\d+', '%d', word).rstrip('s'))):
                    sys.exit(f'{item.paper}, {item.name}: no benchmark says "{word}" any more')
            for word in words:
                if word not in NEEDS_NO_ROW and not pick([(step, title, word)], outputs):
                    sys.exit(f'{item.paper}, {item.name}: what {step} printed has no "{word}" under "{title}"')


def check_numbered():
    """Each table and figure is an item, or it is said what stands for it, in files that there are."""
    named = {}
    for paper, names in [(i.paper, i.name) for i in ITEMS] + [(row[0], row[1]) for row in SHOWN_OTHERWISE]:
        kind = re.match(r'(Figure|Table)s? ', names)
        for n in re.findall(r'[\d.]*\d', names) if kind else []:
            named.setdefault(paper, []).append(f'{kind[1]} {n}')
    for paper, names in NUMBERED.items():
        if sorted(named[paper]) != sorted(names):
            sys.exit(f'{paper}: the report has {sorted(named[paper])}, the paper {sorted(names)}')
    for row in SHOWN_OTHERWISE:
        for path in re.findall(r'\b[\w.]+(?:/[\w.]*\w)+', row[3]):
            if not os.path.exists(os.path.join(TOP, path)):
                sys.exit(f'{row[0]}, {row[1]}: there is no {path}')


def check_plots():
    """What was measured is plotted."""
    outputs = {os.path.basename(f)[:-4]: open(f).read() for f in glob.glob(os.path.join(RECORDED, '*.txt'))}
    for item in ITEMS:
        found = Found(item, outputs)
        measured = [p for p in found.ours if 'skipped: ' not in p.text]
        if measured and not found.plots():
            sys.exit(f'{item.paper}, {item.name}: no plot')
        for plot in item.plots if measured else []:
            if not plot.of(found.ours, found.rivals):
                sys.exit(f'{item.paper}, {item.name}: a plot has no figures')


def check_aims():
    """What the benchmarks of continuations say is met or missed, some table of their paper counts."""
    outputs = {name: open(os.path.join(RECORDED, name + '.txt')).read() for name in ('cont', 'components')}
    said = [len(re.findall(word, '\n'.join(outputs.values()))) for word in (r'\bmet\b', r'\bMISSED\b')]
    found = {item.name: Found(item, outputs) for item in ITEMS if item.paper == MACH}
    counted = [sum(n) for n in zip(*(targets(f.ours) for f in found.values()))]
    if said != counted:
        sys.exit(f'met and missed: {said} in the benchmarks, {counted} in the report')
    silent = [name for name in ('Table 1', 'Table 2', 'Table 3', 'Table 5') if not found[name].verdict]
    if silent:
        sys.exit(f'{silent}: no verdict')


def check_samples():
    """No step writes over the samples and the plots of another."""
    written = []
    for step in STEPS:
        out = step.program[step.program.index('--out') + 1] if '--out' in step.program else ''
        written += [(out, part) for part in ('reads', 'quotes', 'http') if part in step.program]
    if len(written) != 4 or len(set(written)) != len(written):
        sys.exit(f'steps write to the same place: {written}')


def report(recorded, directory):
    at = [os.path.join(directory, name) for name in ('page.html', 'page.md')]
    command = [sys.executable, os.path.join(TOP, 'tools', 'report', 'report.py'), '--recorded', recorded]
    done = subprocess.run([*command, '--html', at[0], '--markdown', at[1]], capture_output=True, text=True)
    return done, *(open(name).read() for name in at)


def check_pages(directory):
    done, page, text = report(RECORDED, directory)
    if done.returncode or '17/17 done' not in done.stdout:
        sys.exit(done.stdout + done.stderr + 'the report ended badly')
    parsed = Page()
    parsed.feed(page)
    bad = [link for link in parsed.links if not link.startswith('data:') and link[1:] not in parsed.ids]
    if bad or parsed.plots < 40:
        sys.exit(f'the page refers to {bad}, and has {parsed.plots} plots')
    drawn = re.findall(r'<text[^>]*>([^<]*)', page)
    for said in ('polling every 1,000', 'polling every 25', '-47.45', 'pipe', 'Seq', 'Tokio', 'goroutines',
                 'published: MK40', '1167', '1480', 'under way at a time, at most', 'published 1274'):
        if said not in drawn:
            sys.exit(f'no plot has "{said}"')
    for item in ITEMS:
        if f'### {item.name}: {item.what}' not in text:
            sys.exit(f'{item.name} is not in the Markdown')
    for said in ('LOSES: 2 of 2 targets missed', 'alerts (signal)', 'polling every 25', '| machine |',
                 'skipped: this processor'):
        if said not in text:
            sys.exit(f'the Markdown does not say "{said}"')
    if re.search(r'\d+%, +\d+:\d\d left', text):
        sys.exit('the Markdown has the progress of a benchmark in it')


def check_incomplete(directory):
    """What did not run is said so, and the report fails."""
    some = os.path.join(directory, 'some')
    shutil.copytree(RECORDED, some)
    os.unlink(os.path.join(some, 'chan.txt'))
    done, _, text = report(some, directory)
    if not done.returncode or 'Incomplete: ' not in text or 'its benchmark ended before it' not in text:
        sys.exit('a step that failed is not told')


def main():
    check_items()
    check_numbered()
    check_plots()
    check_aims()
    check_samples()
    with tempfile.TemporaryDirectory() as directory:
        check_pages(directory)
        check_incomplete(directory)


if __name__ == '__main__':
    main()
