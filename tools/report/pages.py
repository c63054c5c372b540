# SPDX-License-Identifier: BSD-2-Clause
"""The report as one HTML page, and as Markdown."""
import base64
import html
import os

from outputs import pick, tables_of, targets
from papers import ITEMS, SHOWN_OTHERWISE
from plots import plots_of

HEADS = ('', 'median', '5-95%', 'times', 'published', 'target', '')
LEGEND = 'Bars: Fin is blue, red where it misses its target, others are grey. A line through a bar is the range from the ' \
    '5th to the 95th percentile; a diamond is what the paper published, of its machine.'
STYLE = '''body{font:15px/1.45 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;margin:.6em 0}
td,th{border:1px solid #ccc;padding:.15em .6em;text-align:left}svg{font:12px sans-serif;display:block}
pre{overflow-x:auto}figure{margin:1em 0}figcaption{color:#555}code{background:#eee}.bad{color:#b00}img{max-width:100%}'''


class Found:
    """An item of a paper, with what this run has of it."""

    def __init__(self, item, outputs):
        self.item, self.ran = item, [s for s in item.steps() if s in outputs]
        self.ours, self.rivals = pick(item.ours, outputs), pick(item.rivals, outputs)
        met, missed = targets(self.ours)
        self.verdict = f'LOSES: {missed} of {met + missed} targets missed' if missed else \
            f'{met} of {met} targets met' if met else ''
        if not item.ours:
            self.here = 'not measured'
        elif not self.ran:
            self.here = 'not in this run'
        else:
            self.here = 'below' if self.ours else 'its benchmark ended before it'

    def plots(self):
        return plots_of(self.item, self.ours, self.rivals)


def picture(path):
    with open(path, 'rb') as f:
        data = base64.b64encode(f.read()).decode()
    return f'<img alt="{html.escape(os.path.basename(path))}" src="data:image/png;base64,{data}">'


def table_html(t):
    title = f'<h4>{html.escape(t.title)}</h4>'
    shown = [line for line in t.lines if not t.rows or 'skipped: ' in line]
    below = f'<pre>{html.escape(chr(10).join(shown))}</pre>' if any(shown) else ''
    if not t.rows:
        return title + below
    cells = ''.join('<tr>' + ''.join(f'<td>{html.escape(str(c))}</td>' for c in r) + '</tr>' for r in t.rows)
    head = ''.join(f'<th>{html.escape(h)}</th>' for h in HEADS)
    return f'{title}<table><tr>{head}</tr>{cells}</table>{below}'


def item_html(found, commands, pictures):
    item = found.item
    out = [f'<h3 id="item{ITEMS.index(item)}">{html.escape(item.name)}: {html.escape(item.what)}</h3>',
           f'<p><b>Published:</b> {html.escape(item.published)}']
    for name, side in (('Fin', found.ours), ('Beside it', found.rivals)):
        out += [f'<p><b>{name}:</b>'] if side else []
        out += [f'<pre>{html.escape(p.text)}</pre>' for p in side]
    out += [f'<figure><figcaption>{html.escape(caption)}</figcaption>{drawn}</figure>' for caption, drawn in found.plots()]
    out += [picture(p) for p in pictures if os.path.basename(p).startswith(tuple(found.ran))] if found.ran else []
    if found.here != 'below':
        out.append(f'<p><b>Here:</b> {found.here}.')
    if found.verdict:
        out.append(f'<p class="{"bad" if "LOSES" in found.verdict else ""}">{found.verdict}.')
    out += [f'<p>{html.escape(item.remark)}'] if item.remark else []
    out += ['<p>Again: ' + ', '.join(f'<code>{commands[s]}</code>' for s in item.steps())] if item.steps() else []
    return '\n'.join(out)


def page(results, facts, commands, pictures):
    outputs = {step.name: output for step, output, *_ in results}
    items = [Found(item, outputs) for item in ITEMS]
    out = ['<!doctype html><html lang="en"><meta charset="utf-8"><title>Fin: what was measured</title>',
           f'<style>{STYLE}</style>',
           '<h1>Fin: what was measured</h1>', f'<p>{LEGEND}', '<table>']
    out += [f'<tr><th>{html.escape(k)}<td>{html.escape(v)}' for k, v in facts]
    out.append('</table><h2>The papers, item by item</h2>'
               '<table><tr><th>paper<th>item<th>what<th>here<th>targets of ours')
    for i, f in enumerate(items):
        out.append('<tr>' + ''.join(f'<td>{html.escape(c)}' for c in (f.item.paper, f.item.name, f.item.what)) +
                   f'<td><a href="#item{i}">{f.here}</a><td>{html.escape(f.verdict)}')
    out.append('</table>')
    for paper in dict.fromkeys(item.paper for item in ITEMS):
        out.append(f'<h2>{html.escape(paper)}</h2>')
        out += [item_html(f, commands, pictures) for f in items if f.item.paper == paper]
    out.append('<h2>Tables and figures without measurements</h2><table><tr><th>paper<th>items<th>what<th>where it is here')
    out += ['<tr>' + ''.join(f'<td>{html.escape(c)}' for c in row) for row in SHOWN_OTHERWISE]
    out.append('</table><h2>All that was printed</h2>')
    for step, output, why, _ in results:
        out.append(f'<h3 id="{step.name}">{html.escape(step.title)}</h3><p>Again: <code>{html.escape(step.command)}</code>')
        if why:
            out.append(f'<p class="bad">Incomplete: {html.escape(why)}.')
        out += [table_html(t) for t in tables_of(output)]
        if not any(step.name in item.steps() for item in ITEMS):
            out += [picture(p) for p in pictures if os.path.basename(p).startswith(step.name)]
    return '\n'.join(out)


def cell(text):
    return text.replace('|', '\\|')


def table_markdown(t):
    if not t.rows:
        body = '\n'.join(line.rstrip() for line in t.lines)
        return f'\n**{t.title}**\n' + (f'\n```\n{body}\n```\n' if t.lines else '')
    lines = ['', f'**{t.title}**', '', '| ' + ' | '.join(HEADS) + ' |', '|---' * len(HEADS) + '|']
    lines += ['| ' + ' | '.join(cell(str(c)) for c in r) + ' |' for r in t.rows]
    return '\n'.join(lines + [''] + [line.strip() for line in t.lines if 'skipped: ' in line]) + '\n'


def item_markdown(found, commands):
    item = found.item
    out = ['', f'### {item.name}: {item.what}', '', f'Published: {item.published}.']
    for name, side in (('Fin', found.ours), ('Beside it', found.rivals)):
        if side:
            out += ['', f'{name}:', '', '```', *(line.rstrip() for p in side for line in p.text.split('\n')), '```']
    said = [f'Here: {found.here}.'] if found.here != 'below' else []
    said += [f'**{found.verdict}.**'] if found.verdict else []
    said += [item.remark[:1].upper() + item.remark[1:].rstrip('.') + '.'] if item.remark else []
    said += ['Again: ' + ', '.join(f'`{commands[s]}`' for s in item.steps()) + '.'] if item.steps() else []
    return out + ['', ' '.join(said)]


def markdown(results, facts, commands):
    outputs = {step.name: output for step, output, *_ in results}
    items = [Found(item, outputs) for item in ITEMS]
    out = ['# What was measured', '', 'Made by `./run report`, which also makes a page with plots. Rows are as the programs '
           'print them: median, the',
           'range from the 5th to the 95th percentile, and times what it is compared with. `~`: that range is wider than a '
           'quarter of', 'the median. A target is the project\'s own; MISSED is said where it is.', '',
           '| | |', '|---|---|']
    out += [f'| {k} | {cell(v)} |' for k, v in facts]
    out += ['', '## The papers, item by item', '', '| paper | item | what | here | targets of ours |', '|---' * 5 + '|']
    out += [f'| {f.item.paper} | {f.item.name} | {f.item.what} | {f.here} | {f.verdict} |' for f in items]
    for paper in dict.fromkeys(item.paper for item in ITEMS):
        out += ['', f'## {paper}']
        for f in items:
            out += item_markdown(f, commands) if f.item.paper == paper else []
    out += ['', '## Tables and figures without measurements', '', '| paper | items | what | where it is here |',
            '|---' * 4 + '|']
    out += ['| ' + ' | '.join(cell(c) for c in row) + ' |' for row in SHOWN_OTHERWISE]
    out += ['', '## All that was printed']
    for step, output, why, _ in results:
        again = f'Again: `{step.command}`.' + (f' Incomplete: {why}.' if why else '')
        out += ['', f'### {step.name}: {step.title}', '', again]
        out += [table_markdown(t).rstrip('\n') for t in tables_of(output)]
    return '\n'.join(out) + '\n'
