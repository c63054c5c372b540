# SPDX-License-Identifier: BSD-2-Clause
"""Plots of picked rows, as SVG. Each kind has `of(ours, rivals)`: [(caption, svg)], one for each table that rows are of."""
import html
import math
import re

from outputs import numbers_of

OURS, BESIDE, LOSES, PAPER = '#37a', '#999', '#b33', '#d80'
SERIES = [BESIDE, '#583', '#849', '#a72', '#289', '#555']
LEFT, WIDTH, HIGH, LINE = 296, 420, 200, 22
LOGARITHMIC = 100  # so many times the least is the most: then the scale is logarithmic


class Scale:
    """From a value to a length of at most `length`. Parts of a whole are not shown logarithmically."""

    def __init__(self, values, length, unit):
        above = [v for v in values if v > 0] or [1]
        self.length, self.most, self.least = length, max(above), 0
        if self.most > LOGARITHMIC * min(above) and '%' not in unit:
            self.least = 10 ** math.floor(math.log10(min(above)))

    def __call__(self, value):
        if not self.least:
            return self.length * max(value, 0) / self.most
        if value <= self.least:
            return 0
        return self.length * math.log10(value / self.least) / max(math.log10(self.most / self.least), 1e-9)

    def said(self):
        return f', logarithmic from {self.least:g}' if self.least else ''

    def ticks(self):
        if not self.least:
            return [0, self.most / 2, self.most]
        return [self.least * 10 ** i for i in range(int(math.log10(self.most / self.least)) + 1)]


def text(x, y, what, anchor='start', colour='#000'):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{colour}">{html.escape(what)}</text>'


def figure(value):
    return f'{value:,.0f}' if abs(value) >= 10000 else f'{value:g}'


def svg(width, height, parts):
    return f'<svg width="{width:.0f}" height="{height:.0f}" role="img">' + ''.join(parts) + '</svg>'


def bars(rows, unit):
    """Of (name, value, from, to, published or None, colour). A line is the range, a diamond what was published."""
    scale = Scale([v for _, value, _, hi, paper, _ in rows for v in (value, hi, *(paper or ()))], WIDTH, unit)
    out = []
    for i, (name, value, lo, hi, paper, colour) in enumerate(rows):
        y, end = i * LINE + 2, scale(max(value, hi, *(paper or ())))
        out.append(text(LEFT - 6, y + 14, name[:46], 'end') +
                   f'<rect x="{LEFT}" y="{y + 3}" width="{scale(value):.1f}" height="{LINE - 8}" fill="{colour}"/>')
        if hi > lo:
            out.append(f'<path d="M{LEFT + scale(lo):.1f} {y + 10}H{LEFT + scale(hi):.1f}" stroke="#000"/>')
        for p in paper or ():
            out.append(f'<path d="M{LEFT + scale(p):.1f} {y + 4}l5 6l-5 6l-5 -6z" fill="{PAPER}"/>')
        out.append(text(LEFT + end + 8, y + 14, figure(value)))
        if paper:
            out.append(text(LEFT + end + 24 + 7 * len(figure(value)), y + 14, 'published ' + ' to '.join(map(figure, paper)),
                            colour=PAPER))
    return svg(LEFT + WIDTH + 250, LINE * len(rows) + 4, out), scale


def plot(title, rows, unit):
    """Caption and drawing, where there are rows."""
    drawn, scale = bars(rows, unit) if rows else ('', None)
    return [(f'{title}: {unit}{scale.said()}', drawn)] if rows else []


def lines(xs, series, unit):
    """Of {name: {x: y}}; the xs are evenly apart."""
    scale = Scale([y for points in series.values() for y in points.values()], HIGH, unit)
    at = {x: 70 + WIDTH * (i + .5) / len(xs) for i, x in enumerate(xs)}
    out = [f'<path d="M70 10V{HIGH + 10}H{WIDTH + 70}" fill="none" stroke="#000"/>']
    out += [text(64, HIGH + 14 - scale(t), figure(t), 'end') for t in scale.ticks()]
    out += [text(at[x], HIGH + 26, f'{x:g}', 'middle') for x in xs]
    for i, (name, points) in enumerate(series.items()):
        colour = OURS if name.startswith(('Fin', 'Async')) else SERIES[i % len(SERIES)]
        places = [(at[x], HIGH + 10 - scale(y)) for x, y in points.items()]
        out.append('<polyline points="' + ' '.join(f'{x:.1f},{y:.1f}' for x, y in places) +
                   f'" fill="none" stroke="{colour}" stroke-width="{3 if colour == OURS else 1.5}"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        out.append(text(WIDTH + 84, 20 + 18 * i, name, colour=colour))
    return svg(WIDTH + 280, HIGH + 34, out), scale


def tables(ours, rivals):
    """{title: [(picked, colour)]}, in the order in which they come."""
    found = {}
    for side, colour in ((ours, OURS), (rivals, BESIDE)):
        for picked in side:
            found.setdefault(picked.text.split('\n')[0], []).append((picked, colour))
    return found


def published(said):
    """What a row says was published: one number, or a range."""
    m = re.match(r'([\d.,]*\d)(?:-([\d.,]*\d))?', said)
    return tuple(float(n.replace(',', '')) for n in m.groups() if n) if m else None


def of_bench(ours, rivals):
    """Bars of the tables that bench.c prints, whose columns are known."""
    out = []
    for title, sides in tables(ours, rivals).items():
        rows = []
        for picked, colour in sides:
            for name, value, spread, _, paper, _, said in picked.rows:
                lo, hi = (float(x) for x in spread.rstrip('~').split('-')[-2:])
                rows.append((name, value, lo, hi, published(paper), LOSES if 'missed' in said else colour))
        out += plot(title, rows, sides[0][0].unit)
    return out


class Bars:
    """The number in a column of each row, and that in the column `paper`, which was published. Of tables with `title`."""

    def __init__(self, column, unit, paper=None, title=''):
        self.column, self.unit, self.paper, self.title = column, unit, paper, title

    def of(self, ours, rivals):
        out = []
        for title, sides in tables(ours, rivals).items():
            rows = []
            for picked, colour in sides if self.title in title else []:
                for name, n, line in [] if picked.rows else picked.numbers:
                    if len(n) > self.column and ('%' not in self.unit or '%' in line):
                        paper = (n[self.paper],) if self.paper is not None and len(n) > self.paper else None
                        mine = PAPER if name.startswith('published') else OURS if name.startswith('Fin') else colour
                        rows.append((name, *3 * [n[self.column]], paper, mine))
            out += plot(title, rows, self.unit)
        return out


class Said:
    """Numbers in sentences: {what it is: expression}."""

    def __init__(self, unit, expressions):
        self.unit, self.expressions = unit, expressions

    def of(self, ours, rivals):
        out = []
        for title, sides in tables(ours, rivals).items():
            found = [(name, re.search(e, '\n'.join(p.text for p, _ in sides))) for name, e in self.expressions.items()]
            rows = [(name, *3 * [float(m[1])], None, OURS) for name, m in found if m]
            out += plot(title, rows, self.unit)
        return out


class Stacked:
    """The parts that a row's total, its last column, consists of, in the table whose title begins so. `paper`: rows that
    were published, by names of columns."""

    def __init__(self, title, paper):
        self.title, self.paper = title, paper

    def of(self, ours, rivals):
        title, found = next(((t, f) for t, f in tables(ours, rivals).items() if t.startswith(self.title)), ('', []))
        parts = found[0][0].columns[:-1] if found else []
        rows = [(name, n[:-1]) for picked, _ in found for name, n, _ in picked.numbers]
        if not rows:
            return []
        rows += [(name, [published.get(part, 0) for part in parts]) for name, published in self.paper.items()]
        most = max(sum(n) for _, n in rows)
        out = []
        for i, (name, n) in enumerate(rows):
            x, y = LEFT, i * LINE + 2
            out.append(text(LEFT - 6, y + 14, name[:46], 'end', PAPER if name in self.paper else '#000'))
            for part, value in enumerate(n):
                colour = [OURS, *SERIES][part % (len(SERIES) + 1)]
                out.append(f'<rect x="{x:.1f}" y="{y + 3}" width="{WIDTH * value / most:.1f}" height="{LINE - 8}" '
                           f'fill="{colour}"/>')
                x += WIDTH * value / most
            out.append(text(x + 6, y + 14, figure(sum(n))))
        y = len(rows) * LINE + 18
        for part, name in enumerate(parts):
            out.append(text(LEFT + 170 * (part % 3), y + 18 * (part // 3), name, colour=[OURS, *SERIES][part]))
        return [(title, svg(LEFT + WIDTH + 130, y + 40, out))]


class Columns:
    """Rows begin with their name and x; the other numbers are y, of the series `names`. One plot for rows of one name."""

    def __init__(self, x, unit, names):
        self.x, self.unit, self.names = x, unit, names

    def of(self, ours, rivals):
        plots = {}
        for side in (ours, rivals):
            for picked in side:
                for name, (x, *ys) in ((name, n) for name, n, _ in picked.numbers if n):
                    for series, y in zip(self.names, ys):
                        plots.setdefault(name, {}).setdefault(series, {})[x] = y
        return [drawn_lines(name, self.x, self.unit, series) for name, series in plots.items()]


class Lines:
    """Rows begin with x and the name of a series; y is the number in a column behind these. One plot for each table."""

    def __init__(self, x, column, unit):
        self.x, self.column, self.unit = x, column, unit

    def of(self, ours, rivals):
        out = []
        for title, sides in tables(ours, rivals).items():
            series = {}
            for picked, _ in sides:
                for line in picked.lines:
                    x, name, *_ = re.split(r'  +', line.strip()) + ['']
                    _, n = numbers_of(line)
                    if x.isdigit() and len(n) > self.column:
                        series.setdefault(name, {})[float(x)] = n[self.column]
            if series:
                out.append(drawn_lines(title, self.x, self.unit, series))
        return out


def drawn_lines(title, x, unit, series):
    drawn, scale = lines(sorted({x for points in series.values() for x in points}), series, unit)
    return f'{title}: {unit}, {x}{scale.said()}', drawn


def plots_of(item, ours, rivals):
    """The plots of an item: those that it names, and of the tables that need no name."""
    out = of_bench(ours, rivals)
    for plot in item.plots:
        out += plot.of(ours, rivals)
    return out
