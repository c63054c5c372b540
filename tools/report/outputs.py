# SPDX-License-Identifier: BSD-2-Clause
"""What the benchmarks print, as tables, and the rows of them that a paper's item asks for."""
import re

ROW = re.compile(r'^  (?P<name>\S.*?)  +(?P<value>[\d.]+) +(?P<range>[\d.]+-[\d.]+~?)(?P<times> +[\d.]+x)?(?P<rest>.*)$')
SAID = {'met': 'met', 'MISSED': 'LOSES: missed'}
TARGET = re.compile(r'(<= [\d.]+x?) +(met|MISSED)$')


class Table:
    """What stands between two empty lines of a program's output. `rows`: of bench.c's form, else None."""

    def __init__(self, lines):
        self.title = lines[0].strip()
        self.lines, self.rows, self.unit = lines[1:], [], ''
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


PROGRESS = re.compile(r'^  \w+ +\d+%, +\d+:\d\d left.*\n', re.M)


def tables_of(output):
    output = PROGRESS.sub('', output)
    parts = [p.strip('\n').split('\n') for p in re.split(r'\n\s*\n', output.replace('\r', '')) if p.strip()]
    return [Table(p) for p in parts]


class Picked:
    """Rows of one table. `text`: as the program printed them, with the title and what stands over the columns."""

    def __init__(self, table, names):
        words = [re.compile(r'(?<![\w-])' + re.escape(name)) for name in names]
        lines = [line for line in table.lines if any(w.search(line) for w in words)]
        self.found = bool(lines)
        self.unit = table.unit
        self.rows = [r for r in table.rows if any(w.search(r[0]) for w in words)]
        self.lines, self.columns = lines, re.split(r'  +', table.lines[0].strip()) if table.lines else []
        self.numbers = [(name, n, line) for line in lines for name, n in [numbers_of(line)]
                        if any(w.search(name + ' ') for w in words)]
        self.text = '\n'.join([table.title] + [line for line in table.lines[:1] if line not in lines] + lines)


def numbers_of(line):
    """The name of a row, and its numbers."""
    name, *rest = re.split(r'  +', line.strip())
    return name, [float(n.replace(',', '')) for n in re.findall(r'(?<![\w.,-])-?[\d.,]*\d', ' '.join(rest))]


def pick(wanted, outputs):
    """What `outputs`, {step: text}, has of an item's (step, title, names...)."""
    found = []
    for step, title, *names in wanted:
        for table in tables_of(outputs.get(step, '')):
            if title in table.title:
                found += [p for p in [Picked(table, names)] if p.found]
            else:
                found += [Picked(Table([line]), ()) for line in table.lines if title in line and 'skipped: ' in line]
    return found


def targets(picked):
    """How many were met, and how many missed."""
    text = '\n'.join(p.text for p in picked)
    return len(re.findall(r'\bmet\b', text)), len(re.findall(r'\bmissed\b', text, re.I))
