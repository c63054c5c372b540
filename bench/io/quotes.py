# SPDX-License-Identifier: BSD-2-Clause
"""The stock-quote server (ac 5.3, figure 12): one quote a second to each of N clients, the server on one processor and all
clients on another. How many clients are served, on time, and what CPU time and memory the server takes for them.

With a quote in four seconds (--every 4) one processor holds 200,000 clients. Where a process gets fewer descriptors than
there are clients, each server is several processes, all on the one processor, each filled before the next is started, and
with each comes a process of clients."""
import os
import resource
import statistics
import time

from common import Progress, Samples, in_turns, print_losses
from servers import BARE, Load, Running, servers_for

SPARE = 200  # descriptors that are not clients
BYTES_EACH = 24 << 10  # of memory that a client takes at most here: two sockets, and a stack in the server
ENOUGH_TICKS = 20
FIN, STACKLESS, HAND = 'Fin', 'Fin without stacks', 'io_uring callbacks'
MORE_CPU, BEST_MANAGED = 1.05, 0.5  # targets: of the callbacks' CPU time at most, of the best managed runtime's
SATURATED = 0.5  # a server that serves fewer on time gets no more clients
VALUES = ['connected', 'serviced_per_s', 'on_time_per_s', 'cpu_ms_per_s', 'median_us', 'p99_us', 'memory_per_client',
          'user_ticks', 'system_ticks']


def descriptors(wanted):
    """Raises the limit that all children inherit; returns it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in ((wanted, max(wanted, hard)), (min(wanted, hard), hard)):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit[0]), limit[1]))
            break
        except (ValueError, PermissionError):
            pass
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def available_memory():
    with open('/proc/meminfo', encoding='ascii') as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith('MemAvailable:'))


def system_limits():
    """How many clients each limit of the whole system allows; a client is a socket here and one in
    the server. Descriptors of a process are no limit, nor are ports: there are more processes then, and more addresses."""
    with open('/proc/sys/fs/file-nr', encoding='ascii') as f:
        used, _, files = (int(word) for word in f.read().split())
    return {'in memory': available_memory() // BYTES_EACH, 'in fs.file-max': (files - used) // 2}


class Processes:
    """A server in as many processes as its clients' descriptors take, each with its load."""

    def __init__(self, bench, server, limit):
        self.bench, self.server, self.limit = bench, server, limit
        self.pairs = []
        self.base = 0  # what they took with one client each

    def add(self):
        running = Running(self.bench, self.server, 'quotes')
        try:
            load = Load(self.bench, running, 'quotes')
        except BaseException:
            running.stop()
            raise
        self.pairs.append((running, load))
        grown = load.grow(1, 20)
        if grown['lost']:
            raise RuntimeError('the first client got no connection, or lost it: ' + load.why_lost([grown]))
        self.base += running.memory()

    def grow(self, clients, timeout):
        """How many clients got no connection, or lost it, and why the first."""
        while len(self.pairs) * self.limit < clients:
            self.add()
        answers = []
        for i, (_, load) in enumerate(self.pairs):
            load.send(f'grow {max(1, min(self.limit, clients - i * self.limit))}')
        for _, load in self.pairs:
            answers.append(load.answer(timeout))
        return sum(a['lost'] for a in answers), Load.why_lost(answers)

    def measure(self, seconds):
        before = [running.modes() for running, _ in self.pairs]
        for _, load in self.pairs:
            load.send(f'measure {int(1000 * seconds)}')
        answers = [load.answer(seconds + 60) for _, load in self.pairs]
        all_of = {k: sum(a[k] for a in answers) for k in answers[0]}
        all_of['seconds'] /= len(answers)
        all_of['median'] = statistics.median(a['median'] for a in answers)
        all_of['p99'] = max(a['p99'] for a in answers)
        if all_of['cpu'] <= 0:
            raise RuntimeError('the server took no CPU time: nothing is measured')
        after = [running.modes() for running, _ in self.pairs]
        all_of['user'], all_of['system'] = (sum(a[k] - b[k] for a, b in zip(after, before)) for k in (0, 1))
        return all_of

    def memory_per_client(self, clients):
        now = sum(running.memory() for running, _ in self.pairs)
        return (now - self.base) / max(1, clients - len(self.pairs))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for running, load in self.pairs:
            load.stop()
            running.stop()


class Quotes:
    def __init__(self, bench):
        self.bench = bench
        self.every = bench.options.every
        os.environ['QUOTE_EVERY'] = str(self.every)
        self.seconds = bench.of(2, 2, 5) * self.every
        self.repetitions = bench.repetitions
        self.most = bench.options.repetitions or 4 * self.repetitions
        counts = bench.of([1000, 10000], [1000, 10000, 50000, 200000],
                          [1000, 5000, 10000, 20000, 50000, 100000, 150000, 200000, 250000])
        if bench.options.clients:
            counts = bench.options.clients
        self.limit = descriptors(max(counts) + SPARE) - SPARE
        limits = system_limits()
        most = min(limits.values())
        self.counts = [n for n in counts if n <= most]
        if not self.counts:
            raise RuntimeError(f'there is room for {most} clients only')
        if self.limit < 1:
            raise RuntimeError(f'a process gets {self.limit + SPARE} descriptors (ulimit -Hn), and needs {SPARE} and more')
        print('  clients that there is room for: ' + ', '.join(f'{n} {why}' for why, n in limits.items()))
        if self.counts != counts:
            print(f'  clients: {", ".join(str(n) for n in counts if n not in self.counts)} are left out')
        if max(self.counts) > self.limit:
            print(f'  a process gets {self.limit + SPARE} descriptors (ulimit -Hn): each server is several processes, '
                  f'of {self.limit} clients each')
        self.ended = {}  # why a server gets no more than so many clients

    def one(self, server, repetition, samples, progress, which):
        counts = [n for n in which if n <= self.ended.get(server.name, (max(self.counts), ''))[0]]
        done = 0
        try:
            with Processes(self.bench, server, self.limit) as processes:
                for n in counts:
                    progress.show(f'{server.name}, {n} clients')
                    if not self.count(server, repetition, samples, processes, n):
                        break
                    done += 1
                    progress.step(f'{server.name}, {n} clients')
        except (RuntimeError, OSError) as e:
            self.ended.setdefault(server.name, (counts[max(0, done - 1)], str(e) or type(e).__name__))
        progress.step(server.name, len(which) - done)

    def count(self, server, repetition, samples, processes, n):
        """Measures the server with n clients. False: with more there is nothing to see."""
        if server.most and n > server.most:
            self.ended[server.name] = (n, f'the system allows about {server.most} threads')
            return False
        try:
            lost, why = processes.grow(n, 30 + n / 1000)
        except TimeoutError:
            self.ended[server.name] = (n, 'saturated: it does not accept them in time')
            return False
        if lost:
            self.ended[server.name] = (n, f'{lost:.0f} of {n} clients got no connection, or lost it: {why}')
            return False
        time.sleep(0.3)
        m = processes.measure(self.seconds)
        on_time = (m['done'] - m['late']) / m['seconds']
        samples.add((server.name, n), repetition, [m['connected'], m['done'] / m['seconds'], on_time,
                                                   1000 * m['cpu'] / m['seconds'], m['median'], m['p99'],
                                                   processes.memory_per_client(n), m['user'], m['system']])
        if on_time < SATURATED * n / self.every:
            self.ended[server.name] = (n, 'saturated')
        return on_time >= SATURATED * n / self.every

    def run(self):
        servers = servers_for(self.bench, 'quotes')
        self.ours = [name for name in (FIN, STACKLESS) if name in [s.name for s in servers]] or [FIN]
        samples = Samples(os.path.join(self.bench.out, 'quotes.csv'), ['server', 'clients'], VALUES,
                          (self.repetitions, self.most))
        progress = Progress('quotes', self.repetitions * len(servers) * len(self.counts))
        for repetition in range(self.repetitions):
            for server in in_turns(servers, repetition):
                self.one(server, repetition, samples, progress, self.counts)
        progress.end()
        self.settle(servers, samples)
        samples.close()
        for n in self.counts:
            self.print_table(samples, servers, n)
        for name, (n, why) in self.ended.items():
            print(f'  {name}: not beyond {n} clients: {why}')
        self.print_targets(samples, servers)
        ours = samples.has(self.ours[0])
        if ours:
            self.print_losses(samples)
        return ours

    def clear(self, samples, n):
        """Is it sure on which side of the target ours are?"""
        return all(samples.is_clear((name, n), (HAND, n), 'cpu_ms_per_s', MORE_CPU) for name in self.ours)

    def settle(self, servers, samples):
        """Ours and the callbacks again, by turns, with as many clients as it is not sure for."""
        again = [server for server in servers if server.name in (*self.ours, HAND)]
        progress = Progress('quotes, once more', len(again) * len(self.counts) * (self.most - self.repetitions))
        for repetition in range(self.repetitions, self.most):
            unsure = [n for n in self.counts
                      if {(self.ours[0], n), (HAND, n)} <= samples.rows.keys() and not self.clear(samples, n)]
            if not unsure:
                break
            for server in in_turns(again, repetition):
                self.one(server, repetition, samples, progress, unsure)
        progress.end()

    def print_table(self, samples, servers, n):
        if all(samples.median((server.name, n), 'connected') is None for server in servers):
            return
        what = 'clients, a quote a second each' if self.every == 1 else f'clients, a quote in {self.every} seconds each'
        print(f'\n{n} {what}; medians of {self.repetitions} to {self.most} times {self.seconds} s; '
              'CPU ratios of repetitions side by side [quotes]')
        print(f'  {"":20}{"serviced/s":>11}{"on time":>9}{"CPU ms/s":>10}{"spread":>8}{"of Fin":>8}{"user":>6}'
              f'{"median ms":>11}{"99% ms":>9}{"bytes/client":>14}')
        for server in servers:
            key = (server.name, n)
            if samples.median(key, 'connected') is None:
                continue
            m = {v: samples.median(key, v) for v in VALUES}
            ratio = samples.ratio(key, (self.ours[0], n), 'cpu_ms_per_s')
            user = self.user(samples, key)
            on_time = min(100, 100 * m['on_time_per_s'] * self.every / n)
            print(f'  {server.name:20}{m["serviced_per_s"]:11.0f}{on_time:8.1f}%{m["cpu_ms_per_s"]:10.1f}'
                  f'{samples.spread(key, "cpu_ms_per_s"):7.0f}%{f"{ratio:.2f}x" if ratio else "":>8}'
                  f'{f"{user:.0%}" if user is not None else "":>6}'
                  f'{m["median_us"] / 1000:11.2f}{m["p99_us"] / 1000:9.1f}{m["memory_per_client"]:14.0f}')

    def print_losses(self, samples):
        """Who serves as many with less, among those that serve nearly all on time; and who serves all where Fin does not."""
        losses, others = [], [key for key in samples.rows if not key[0].startswith((FIN, BARE))]
        for name, n in others:
            key, fin = (name, n), (self.ours[0], n)
            if not self.all_on_time(samples, key):
                continue
            if fin not in samples.rows or not self.all_on_time(samples, fin):
                losses.append((9, f'{name}, {n} clients: serves them on time, and {fin[0]} does not'))
                continue
            cpu = samples.ratio(fin, key, 'cpu_ms_per_s')
            more, less = samples.median(fin, 'memory_per_client'), samples.median(key, 'memory_per_client')
            if cpu and cpu > 1:  # None: no repetition has both
                losses.append((cpu, f'{name}, {n} clients: Fin takes {cpu:.3f} times the CPU time (spread '
                               f'{samples.spread(fin, "cpu_ms_per_s"):.0f}%), '
                               f'{self.each(samples, fin) - self.each(samples, key):+.2f} us a quote'))
            if less < more:
                losses.append((1, f'{name}, {n} clients: Fin takes {more:.0f} bytes a client, it {less:.0f}'))
        print_losses('quotes', losses, others)
        print('    a blocked AWE keeps a page of its stack, callbacks what they need, "Fin without stacks" little more')

    def all_on_time(self, samples, key):
        return samples.median(key, 'on_time_per_s') > 0.95 * key[1] / self.every

    @staticmethod
    def user(samples, key):
        """The part of the CPU time that is not the kernel's; None where there are too few samples to tell."""
        user, system = (sum(samples.column(key, mode + '_ticks')) for mode in ('user', 'system'))
        return user / (user + system) if user + system >= ENOUGH_TICKS else None

    @staticmethod
    def each(samples, key):
        """Microseconds of CPU time a quote."""
        return 1000 * samples.median(key, 'cpu_ms_per_s') / max(1, samples.median(key, 'serviced_per_s'))

    def print_targets(self, samples, servers):
        managed = [s.name for s in servers if s.managed]
        print('\n  targets: Fin within 5% of the callbacks\' CPU time, at most half of the best managed runtime\'s; ratios: '
              + samples.said_of_judged())
        for n in self.counts:
            bests = [self.print_target(samples, ours, n, managed) for ours in self.ours]
            self.print_floor(samples, n, bests[0])

    def print_target(self, samples, ours, n, managed):
        """Returns the best managed runtime, or None."""
        key = (ours, n)
        hand = samples.ratio(key, (HAND, n), 'cpu_ms_per_s')
        ratios = {name: samples.ratio(key, (name, n), 'cpu_ms_per_s') for name in managed}
        # one that does not serve everybody saves CPU time that way
        ratios = {name: r for name, r in ratios.items() if r and self.all_on_time(samples, (name, n))}
        best = max(ratios, key=ratios.get) if ratios else None
        line = f'  {n:>8} clients: {ours}'
        if hand:
            line += ' ' + samples.judged(key, (HAND, n), 'cpu_ms_per_s', MORE_CPU, of="times the callbacks' ")
        if best:
            of = f"times {best}'s "
            line += f'{"," if hand else ""} ' + samples.judged(key, (best, n), 'cpu_ms_per_s', BEST_MANAGED, of=of)
        if hand or best:
            print(line)
        return best

    def print_floor(self, samples, n, best):
        """What of the CPU time nobody can save who sends each quote by itself."""
        fin, bare = (self.ours[0], n), (BARE, n)
        if samples.ratio(bare, fin, 'cpu_ms_per_s') is None:
            return
        text = f'{samples.ratio(bare, fin, "cpu_ms_per_s"):.3f} of Fin\'s'
        if best:
            other = (best, n)
            text += f' and {samples.ratio(bare, other, "cpu_ms_per_s"):.3f} of {best}\'s'
            if self.user(samples, fin) and self.user(samples, other):
                own, theirs = (self.user(samples, key) * samples.median(key, 'cpu_ms_per_s') for key in (fin, other))
                text += f'; outside the kernel Fin takes {own:.1f} ms/s, {best} {theirs:.1f}: {own / theirs:.2f} times'
        print(f'                    {BARE} (send(2) at these times): {text}')


def run(bench):
    return Quotes(bench).run()
