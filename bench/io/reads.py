# SPDX-License-Identifier: BSD-2-Clause
"""Random reads from two files striped as RAID0 (ac 5.3, figure 11): Fin with stacks and without, callbacks on io_uring
written by hand, both also with files and memory that the kernel knows beforehand (registered; Fin has that with stacks
only), calls that block, and fio's io_uring engine as a reference from outside."""
import functools
import json
import os
import shutil
import statistics

import counted
from common import Progress, Samples, in_turns, numbers_of, output_of, print_losses

FIN, EXPLICIT, FIXED = 'Fin', 'Fin, no stacks', 'Fin, registered'
HAND, HAND_FIXED, SYNC, FIO = 'io_uring callbacks', 'io_uring callbacks, registered', 'pread', 'fio'
BASE = {FIN: HAND, EXPLICIT: HAND, FIXED: HAND_FIXED}  # ours, and what each is compared with
OPTION = {EXPLICIT: ['--explicit'], FIXED: ['--fixed'], HAND_FIXED: ['--fixed'], SYNC: ['--sync']}
MORE_THROUGHPUT, MORE_CPU = 0.97, 1.05  # targets: of the callbacks' throughput at least, of their CPU time at most


class Reads:
    def __init__(self, bench):
        self.bench = bench
        self.depths = bench.of([1, 8, 64, 1024], [1, 8, 64, 256, 1024], [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024])
        self.seconds = bench.of(0.15, 0.4, 0.8)
        self.least = bench.options.repetitions or bench.of(5, 7, 9)
        self.most = bench.options.repetitions or 3 * self.least
        self.size = bench.of(256, 512, 512) << 20
        self.files = [os.path.join(bench.scratch, f'fin-reads-{os.getpid()}-{i}') for i in range(2)]
        self.modes = ['cached', 'direct']
        self.fio = shutil.which('fio')
        self.fio_times = bench.of(1, 1, 3)  # after the others
        self.hands = [HAND, HAND_FIXED]  # the callbacks that run here: they need an io_uring

    def command(self, who, block, depth, reads, direct):
        program = [self.bench.program('bench/io/rival-uring'), 'reads'] if who in BASE.values() else \
            [self.bench.program('examples/reads')]
        options = ['--block', str(block), '--depth', str(depth), '--reads', str(reads), *OPTION.get(who, [])]
        return [*program, *self.files, *options, *(['--direct'] if direct else [])]

    def one(self, who, block, depth, reads, direct):
        """Reads a second, and microseconds of CPU a read."""
        if who == FIO:
            return self.one_fio(block, depth, direct)
        n, seconds, cpu = numbers_of(output_of(self.bench.measured(self.command(who, block, depth, reads, direct))), 3)
        return n / seconds, cpu / n * 1e6

    def one_fio(self, block, depth, direct):
        batch = min(depth, 32)
        text = output_of(self.bench.measured([
            self.fio, '--name=reads', '--filename=' + ':'.join(self.files), '--file_service_type=random', '--rw=randread',
            '--ioengine=io_uring', '--nonvectored=1', f'--bs={block}', f'--iodepth={depth}',
            f'--iodepth_batch_submit={batch}', f'--iodepth_batch_complete_max={batch}', f'--direct={int(direct)}',
            '--invalidate=0', '--norandommap=1', '--randrepeat=0', '--gtod_reduce=1', '--time_based', '--runtime=1',
            f'--size={2 * self.size}', '--thread', '--output-format=json']))
        job = json.loads(text[text.index('{'):])['jobs'][0]
        rate = job['read']['iops']
        if not rate:
            raise RuntimeError('it read nothing')
        return rate, (job['usr_cpu'] + job['sys_cpu']) / 100 / rate * 1e6

    def enough(self, block, depth, direct):
        """How many reads take about the time that one run is to take: as many for each in flight, as the clock goes from
        the start of one to the start of another. The callbacks start all that completed before any goes down: of what is
        left over they would read nothing, at 1,024 in flight 964 of 15,300."""
        few = max(500, 4 * depth)
        rate, _ = self.one(self.hands[0] if self.hands else FIN, block, depth, few, direct)
        return -(-int(max(8 * depth, 1000, rate * self.seconds)) // depth) * depth

    @staticmethod
    def clear(samples, key, base):
        """Is it sure which targets are met?"""
        return all(samples.is_clear(key, base, value, target)
                   for value, target in (('reads_per_s', MORE_THROUGHPUT), ('cpu_us', MORE_CPU)))

    def measure(self, samples, mode, block, depth, progress):
        direct = mode == 'direct'
        who = [*self.ours(), *self.hands] + ([SYNC] if depth == 1 else [])
        reads = self.enough(block, depth, direct)
        for repetition in range(self.most):
            pairs = [[(mode, block, depth, who) for who in pair] for pair in BASE.items() if pair[1] in self.hands]
            if repetition >= self.least and all(self.clear(samples, *pair) for pair in pairs):
                break
            for name in in_turns(who, repetition):
                progress.show(f'{name}, {block} bytes, {mode}, {depth} in flight')
                samples.add((mode, block, depth, name), repetition, self.one(name, block, depth, reads, direct))
        if self.fio:
            for repetition in range(self.fio_times):
                progress.show(f'fio, {block} bytes, {mode}, {depth} in flight')
                samples.add((mode, block, depth, FIO), repetition, self.one(FIO, block, depth, 0, direct))
        progress.step('')

    def run(self):
        samples = Samples(os.path.join(self.bench.out, 'reads.csv'), ['mode', 'block', 'depth', 'program'],
                          ['reads_per_s', 'cpu_us'], (self.least, self.most))
        try:
            output_of([self.bench.program('examples/reads'), '--make', *self.files, '--size', str(self.size)])
            self.leave_out()
            progress = Progress('reads', 2 * len(self.modes) * len(self.depths))
            for mode in self.modes:
                for block in (4096, 65536):
                    for depth in self.depths:
                        self.measure(samples, mode, block, depth, progress)
                    progress.end()
                    self.print_table(samples, mode, block)
            self.print_counted()
        finally:
            samples.close()
            for path in self.files:
                if os.path.exists(path):
                    os.unlink(path)
        self.print_losses(samples)
        return samples.has(FIN)

    def leave_out(self):
        """What cannot run here: direct reads where the file system has none, rivals where io_uring is denied. Says why."""
        why = self.refused(FIN, True)
        if why:
            print(f'  direct reads: skipped: {self.bench.scratch}: {why}')
            self.modes.remove('direct')
        for hand in (HAND, HAND_FIXED):
            why = self.refused(hand, False)
            if why:
                print(f'  {hand}: skipped: {why}: nothing to compare with')
                self.hands.remove(hand)
        why = self.refused(FIXED, False) if HAND_FIXED in self.hands else None
        if why:
            print(f'  {FIXED}: skipped: {why}')
            self.hands.remove(HAND_FIXED)
        why = self.refused(FIO, False) if self.fio else 'not installed'
        if why:
            print(f'  fio: skipped: {why}')
            self.fio = None

    def ours(self):
        """Without the callbacks Fin's registered reads may be plain ones, which nobody would see."""
        return [name for name, hand in BASE.items() if hand in self.hands or name != FIXED]

    def print_counted(self):
        programs = {(SYNC, 1): SYNC}
        for depth in (64, 1024):
            programs.update({(who, depth): who for who in (*self.ours(), *self.hands)})
        counted.print_counted({(name, depth): functools.partial(self.command, who, 4096, depth, direct=False)
                               for (name, depth), who in programs.items()})

    def refused(self, who, direct):
        try:
            self.one(who, 4096, 1, 10, direct)
        except RuntimeError as e:
            return str(e)
        return None

    def print_losses(self, samples):
        """Where the callbacks take less CPU time or read more; and what a read costs more, which tells a price of each
        read from one of the bytes or of the number in flight."""
        losses, extra = [], {}
        for mode, block, depth, name in samples.rows:
            key, hand = (mode, block, depth, name), (mode, block, depth, BASE.get(name))
            if hand not in samples.rows:
                continue
            rate, cpu = samples.ratio(key, hand, 'reads_per_s'), samples.ratio(key, hand, 'cpu_us')
            ns = 1000 * (samples.median(key, 'cpu_us') - samples.median(hand, 'cpu_us'))
            extra.setdefault((name, depth), []).append(ns)
            if rate < MORE_THROUGHPUT or cpu > MORE_CPU:
                noise = max(samples.spread(key, 'cpu_us'), samples.spread(hand, 'cpu_us'))
                losses.append((max(cpu - 1, 1 - rate),
                               f'{BASE[name]}, {mode} {block} bytes, {depth} in flight: {name} has {rate:.3f} of the '
                               f'throughput, {cpu:.3f} of the CPU time, {ns:+.0f} ns a read; spread {noise:.0f}%'))
        print_losses('reads (targets: 0.97 and 1.05)', losses, self.hands)
        for (name, depth), ns in extra.items():
            print(f'    {name}, {depth} in flight: {statistics.median(ns):+.0f} ns of CPU time a read, {min(ns):+.0f} to '
                  f'{max(ns):+.0f} over block sizes and modes')

    def print_table(self, samples, mode, block):
        fio = f', of fio {self.fio_times} after them' if self.fio else ''
        print(f'\nRandom reads of {block} bytes, {mode}, {2 * self.size >> 20} MiB; medians of {self.least} to '
              f'{self.most}{fio}; ratios of repetitions side by side, {samples.said_of_judged()} [reads]')
        print(f'  {"in flight":>9}  {"":31}{"reads/s":>11}{"spread":>8}{"MB/s":>8}{"CPU us":>9}   Fin: throughput, CPU')
        for depth in self.depths:
            for name in (*BASE, HAND, HAND_FIXED, SYNC, FIO):
                key = (mode, block, depth, name)
                rate = samples.median(key, 'reads_per_s')
                if rate is None:
                    continue
                line = f'  {depth:>9}  {name:31}{rate:11.0f}'
                line += f'{samples.spread(key, "reads_per_s"):7.0f}%{rate * block / 1e6:8.0f}'
                line += f'{samples.median(key, "cpu_us"):9.2f}'
                if BASE.get(name) in self.hands:
                    line += self.compared(samples, key, (mode, block, depth, BASE[name]))
                print(line)

    @staticmethod
    def compared(samples, key, base):
        return '   ' + samples.judged(key, base, 'reads_per_s', MORE_THROUGHPUT, least=True) + ', ' + \
            samples.judged(key, base, 'cpu_us', MORE_CPU)


def run(bench):
    return Reads(bench).run()
