# SPDX-License-Identifier: BSD-2-Clause
"""An HTTP/1.1 server that says hello, under wrk and under our load generator, and an echo server under the latter: how many
requests a second of the server's CPU time it serves."""
import os
import re
import shutil
import time

from common import Progress, Samples, in_turns, output_of, print_losses
from servers import Load, Running, servers_for

VALUES = ['requests_per_s', 'requests_per_cpu_s', 'median_us', 'p99_us']


class Web:
    def __init__(self, bench):
        self.bench = bench
        self.seconds = bench.of(1, 1, 4)
        self.repetitions = bench.repetitions
        self.connections = bench.of([64], [64, 1024], [1, 64, 1024])
        self.wrk = shutil.which('wrk')

    def with_load(self, running, kind, connections):
        with Load(self.bench, running, kind) as load:
            grown = load.grow(connections, 20)
            if grown['lost']:
                raise RuntimeError(f'{grown["lost"]:.0f} connections were lost: {load.why_lost([grown])}')
            time.sleep(0.3)
            m = load.measure(self.seconds)
        if m['connected'] != connections:
            raise RuntimeError('connections were lost')
        return per_second(m['done'], m['seconds'], m['cpu']) + [m['median'], m['p99']]

    def with_wrk(self, running, connections):
        before = running.cpu()
        text = output_of(self.bench.measuring([self.wrk, '-t1', f'-c{connections}', f'-d{self.seconds}s', '--latency',
                                               f'http://127.0.0.1:{running.port}/']))
        cpu = running.cpu() - before
        if 'Non-2xx' in text or 'Socket errors' in text:
            raise RuntimeError('wrk met errors: ' + text.strip().splitlines()[-1])
        counted = re.search(r'(\d+) requests in ([\d.]+)s', text)
        if not counted:
            raise RuntimeError('wrk counted nothing: ' + text.strip()[-100:])
        done, seconds = (float(x) for x in counted.groups())
        return per_second(done, seconds, cpu) + [microseconds(text, '50%'), microseconds(text, '99%')]

    def one(self, server, kind, loads, repetition, samples, progress):
        try:
            with Running(self.bench, server, kind) as running:
                for connections in self.connections:
                    for load in loads:
                        progress.step(f'{server.name}, {kind}, {connections} connections, {load}')
                        values = self.with_wrk(running, connections) if load == 'wrk' else \
                            self.with_load(running, kind, connections)
                        samples.add((kind, load, connections, server.name), repetition, values)
        except (RuntimeError, OSError) as e:
            progress.end()
            print(f'  {server.name}, {kind}: {str(e) or type(e).__name__}')

    def run(self):
        samples = Samples(os.path.join(self.bench.out, 'http.csv'), ['kind', 'load', 'connections', 'server'], VALUES)
        kinds = {'http': ['wrk', 'fin-load'] if self.wrk else ['fin-load'], 'echo': ['fin-load']}
        if not self.wrk:
            print('  wrk: skipped: not installed')
        for kind, loads in kinds.items():
            servers = servers_for(self.bench, kind)
            progress = Progress(kind, self.repetitions * len(servers) * len(self.connections) * len(loads))
            for repetition in range(self.repetitions):
                for server in in_turns(servers, repetition):
                    self.one(server, kind, loads, repetition, samples, progress)
            progress.end()
            for load in loads:
                for connections in self.connections:
                    self.print_table(samples, servers, kind, load, connections)
        samples.close()
        if samples.has('Fin'):
            self.print_losses(samples)
        return samples.has('Fin')

    @staticmethod
    def print_losses(samples):
        losses = []
        for kind, load, connections, name in samples.rows:
            key, fin = (kind, load, connections, name), (kind, load, connections, 'Fin')
            ratio = samples.ratio(key, fin, 'requests_per_cpu_s')
            if name != 'Fin' and ratio and ratio > 1:
                us = [1e6 / samples.median(k, 'requests_per_cpu_s') for k in (fin, key)]
                spread = samples.spread(key, 'requests_per_cpu_s')
                losses.append((ratio, f'{name}, {kind}, {connections} connections, {load}: {ratio:.3f} times the requests '
                               f'of a CPU second (spread {spread:.0f}%), {us[0] - us[1]:+.2f} us each'))
        print_losses('http and echo', losses, [key for key in samples.rows if key[3] != 'Fin'])

    def print_table(self, samples, servers, kind, load, connections):
        if not any((kind, load, connections, server.name) in samples.rows for server in servers):
            return
        print(f'\n{kind}, {connections} connections, load from {load}; medians of {self.repetitions} times '
              f'{self.seconds} s; ratios of repetitions side by side [http]')
        print(f'  {"":20}{"requests/s":>12}{"per CPU second":>16}{"spread":>8}{"of Fin":>8}{"median us":>11}{"99% us":>9}')
        for server in servers:
            key, fin = (kind, load, connections, server.name), (kind, load, connections, 'Fin')
            if samples.median(key, 'requests_per_s') is None:
                continue
            m = {v: samples.median(key, v) for v in VALUES}
            ratio = samples.ratio(key, fin, 'requests_per_cpu_s')
            print(f'  {server.name:20}{m["requests_per_s"]:12.0f}{m["requests_per_cpu_s"]:16.0f}'
                  f'{samples.spread(key, "requests_per_cpu_s"):7.0f}%{f"{ratio:.2f}x" if ratio else "":>8}'
                  f'{m["median_us"]:11.0f}{m["p99_us"]:9.0f}')


def per_second(done, seconds, cpu):
    """Requests a second, and a CPU second."""
    if not done or cpu <= 0:
        raise RuntimeError(f'{done:.0f} answers in {cpu:.3f} s of CPU time: nothing is measured')
    return [done / seconds, done / cpu]


def microseconds(text, quantile):
    """One of wrk's latencies, as in '  99%    1.20ms'."""
    found = re.search(r'^\s*' + re.escape(quantile) + r'\s+([\d.]+)(us|ms|s)', text, re.MULTILINE)
    if not found:
        raise RuntimeError(f'wrk says no latency of {quantile}')
    return float(found.group(1)) * {'us': 1, 'ms': 1e3, 's': 1e6}[found.group(2)]


def run(bench):
    return Web(bench).run()
