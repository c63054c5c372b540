#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Plots of reads.csv, quotes.csv and http.csv in a directory, as PNG beside them:
bench/io/plot.py DIRECTORY [reads|quotes|http...]"""
import csv
import os
import statistics
import sys

import matplotlib
matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402

NUMBERS = {'block', 'depth', 'clients', 'connections'}


def read(path, keys):
    """{key: {column: [values]}} of a file of samples."""
    rows = {}
    with open(path, newline='', encoding='utf-8') as f:
        for row in csv.DictReader(f):
            key = tuple(int(row[k]) if k in NUMBERS else row[k] for k in keys)
            columns = rows.setdefault(key, {})
            for name, value in row.items():
                if name not in keys:
                    columns.setdefault(name, []).append(float(value))
    return rows


def distinct(values):
    return list(dict.fromkeys(values))


def line(axes, points, name, style):
    """Medians, with the range of the repetitions."""
    if not points:
        return
    x = sorted(points)
    middle = [statistics.median(points[i]) for i in x]
    low = [m - min(points[i]) for i, m in zip(x, middle)]
    high = [max(points[i]) - m for i, m in zip(x, middle)]
    axes.errorbar(x, middle, yerr=[low, high], label=name, capsize=2, markersize=4, linewidth=1.2, **style)


def style_of(name, names):
    markers = 'osv^D*XPph<>'
    i = names.index(name)
    colour = pyplot.cm.tab20((2 * i + i // 10) % 20)  # the strong ones first
    return {'color': colour, 'marker': markers[i % len(markers)],
            **({'zorder': 5} if name.startswith('Fin') else {})}


def plot_reads(directory):
    rows = read(os.path.join(directory, 'reads.csv'), ['mode', 'block', 'depth', 'program'])
    panels = distinct((mode, block) for mode, block, _, _ in rows)
    names = distinct(program for _, _, _, program in rows)
    figure, axes = pyplot.subplots(2, len(panels), figsize=(4.2 * len(panels), 7.5), squeeze=False)
    for i, (mode, block) in enumerate(panels):
        for row, (column, what) in enumerate([('reads_per_s', 'reads a second'), ('cpu_us', 'CPU time a read, µs')]):
            a = axes[row][i]
            for name in names:
                points = {d: v[column] for (m, b, d, p), v in rows.items() if (m, b, p) == (mode, block, name)}
                line(a, points, name, style_of(name, names))
            a.set_xscale('log', base=2)
            a.set_ylim(bottom=0)
            a.set_xlabel('reads in flight')
            a.set_ylabel(what)
            a.grid(alpha=0.3)
            if row == 0:
                a.set_title(f'{block // 1024} KiB, {mode}')
    axes[0][0].legend()
    figure.suptitle('Random reads from two files striped as RAID0')
    return figure


def plot_quotes(directory):
    rows = read(os.path.join(directory, 'quotes.csv'), ['server', 'clients'])
    names = distinct(server for server, _ in rows)
    figure, axes = pyplot.subplots(1, 3, figsize=(17, 5.5))
    panels = [('on_time_per_s', 'clients served on time, a second'), ('cpu_ms_per_s', 'CPU time of the server, ms a second'),
              ('memory_per_client', 'memory of the server, bytes a client')]
    for a, (column, what) in zip(axes, panels):
        for name in names:
            line(a, {n: v[column] for (s, n), v in rows.items() if s == name}, name, style_of(name, names))
        a.set_xlabel('clients')
        a.set_ylabel(what)
        a.grid(alpha=0.3)
        if column == 'memory_per_client':
            a.set_yscale('log')
            a.set_xscale('log')
        else:
            a.set_ylim(bottom=0)
    axes[0].legend(fontsize='small')
    figure.suptitle('Stock-quote server: one quote a second to each client, server on one core')
    return figure


def plot_http(directory):
    rows = read(os.path.join(directory, 'http.csv'), ['kind', 'load', 'connections', 'server'])
    panels = distinct((kind, load, n) for kind, load, n, _ in rows)
    figure, axes = pyplot.subplots(1, len(panels), figsize=(5 * len(panels), 4.5), squeeze=False)
    for a, panel in zip(axes[0], panels):
        servers = [s for *rest, s in rows if tuple(rest) == panel]
        values = [rows[(*panel, s)]['requests_per_cpu_s'] for s in servers]
        middle = [statistics.median(v) for v in values]
        errors = [[m - min(v) for m, v in zip(middle, values)], [max(v) - m for m, v in zip(middle, values)]]
        colours = ['tab:red' if s.startswith('Fin') else 'tab:blue' for s in servers]
        a.barh(servers, middle, xerr=errors, color=colours, capsize=2)
        a.invert_yaxis()
        a.set_xlabel('requests a second of CPU time')
        a.xaxis.set_major_locator(pyplot.MaxNLocator(4))
        a.set_title(f'{panel[0]}, {panel[2]} connections, {panel[1]}')
        a.grid(axis='x', alpha=0.3)
    return figure


def main():
    directory, names = sys.argv[1], sys.argv[2:]
    for name, plot in (('reads', plot_reads), ('quotes', plot_quotes), ('http', plot_http)):
        path = os.path.join(directory, name + '.csv')
        with_samples = os.path.exists(path) and len(open(path, encoding='utf-8').readlines()) > 1
        if not with_samples or names and name not in names:
            continue
        figure = plot(directory)
        figure.tight_layout()
        figure.savefig(os.path.join(directory, name + '.png'), dpi=110)
        pyplot.close(figure)
        print(f'  plot: {os.path.relpath(os.path.join(directory, name + ".png"))}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
