# SPDX-License-Identifier: BSD-2-Clause
"""Random reads from two files striped as RAID0 (ac 5.3, figure 11): Fin, callbacks on io_uring written by hand, calls that
block, and fio's io_uring engine as a reference from outside."""
import json
import os
import shutil

from common import Progress, Samples, in_turns, output_of, verdict

FIN, HAND, SYNC, FIO = 'Fin', 'io_uring callbacks', 'pread', 'fio'
MORE_THROUGHPUT, MORE_CPU = 0.97, 1.05  # targets: of the callbacks' throughput at least, of their CPU time at most


class Reads:
    def __init__(self, bench):
        self.bench = bench
        self.depths = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] if bench.full else [1, 8, 64, 1024]
        self.seconds = 1.0 if bench.full else 0.25
        self.repetitions = bench.options.repetitions or (9 if bench.full else 5)
        self.size = (512 if bench.full else 256) << 20
        self.files = [os.path.join(bench.scratch, f'fin-reads-{os.getpid()}-{i}') for i in range(2)]
        self.modes = ['cached', 'direct']
        self.fio = shutil.which('fio')

    def command(self, who, block, depth, reads, direct):
        program = [self.bench.program('bench/io/rival-uring'), 'reads'] if who == HAND else \
            [self.bench.program('examples/reads')]
        options = ['--block', str(block), '--depth', str(depth), '--reads', str(reads)]
        return self.bench.measured([*program, *self.files, *options, *(['--sync'] if who == SYNC else []),
                                    *(['--direct'] if direct else [])])

    def one(self, who, block, depth, reads, direct):
        """Reads a second, and microseconds of CPU a read."""
        if who == FIO:
            return self.one_fio(block, depth, direct)
        n, seconds, cpu = (float(x) for x in output_of(self.command(who, block, depth, reads, direct)).split())
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
        return rate, (job['usr_cpu'] + job['sys_cpu']) / 100 / rate * 1e6

    def enough(self, block, depth, direct):
        """How many reads take about the time that one run is to take."""
        few = max(500, 4 * depth)
        rate, _ = self.one(HAND, block, depth, few, direct)
        return int(max(8 * depth, 1000, rate * self.seconds))

    def measure(self, samples, mode, block, depth, progress):
        direct = mode == 'direct'
        who = [FIN, HAND] + ([SYNC] if depth == 1 else [])
        reads = self.enough(block, depth, direct)
        for repetition in range(self.repetitions):
            for name in in_turns(who, repetition):
                progress.show(f'{name}, {block} bytes, {mode}, {depth} in flight')
                samples.add((mode, block, depth, name), repetition, self.one(name, block, depth, reads, direct))
        if self.fio:
            for repetition in range(3 if self.bench.full else 1):
                progress.show(f'fio, {block} bytes, {mode}, {depth} in flight')
                samples.add((mode, block, depth, FIO), repetition, self.one(FIO, block, depth, 0, direct))
        progress.step('')

    def run(self):
        samples = Samples(os.path.join(self.bench.out, 'reads.csv'), ['mode', 'block', 'depth', 'program'],
                          ['reads_per_s', 'cpu_us'])
        try:
            output_of([self.bench.program('examples/reads'), '--make', *self.files, '--size', str(self.size)])
            try:
                self.one(HAND, 4096, 1, 10, True)
            except RuntimeError as e:
                print(f'  direct reads: skipped: {self.bench.scratch}: {e}')
                self.modes.remove('direct')
            progress = Progress('reads', 2 * len(self.modes) * len(self.depths))
            for mode in self.modes:
                for block in (4096, 65536):
                    for depth in self.depths:
                        self.measure(samples, mode, block, depth, progress)
                    progress.end()
                    self.print_table(samples, mode, block)
        finally:
            samples.close()
            for path in self.files:
                if os.path.exists(path):
                    os.unlink(path)
        if not self.fio:
            print('  fio: skipped: not installed')
        return samples.has(FIN)

    def print_table(self, samples, mode, block):
        print(f'\nRandom reads of {block} bytes, {mode}, {2 * self.size >> 20} MiB; medians of {self.repetitions}; '
              'ratios of repetitions side by side [reads]')
        print(f'  {"in flight":>9}  {"":20}{"reads/s":>11}{"spread":>8}{"MB/s":>8}{"CPU us":>9}   Fin: throughput, CPU')
        for depth in self.depths:
            for name in (FIN, HAND, SYNC, FIO):
                key = (mode, block, depth, name)
                rate = samples.median(key, 'reads_per_s')
                if rate is None:
                    continue
                line = f'  {depth:>9}  {name:20}{rate:11.0f}'
                line += f'{samples.spread(key, "reads_per_s"):7.0f}%{rate * block / 1e6:8.0f}'
                line += f'{samples.median(key, "cpu_us"):9.2f}'
                if name == FIN:
                    line += self.compared(samples, key, (mode, block, depth, HAND))
                print(line)

    @staticmethod
    def compared(samples, key, base):
        rate, cpu = samples.ratio(key, base, 'reads_per_s'), samples.ratio(key, base, 'cpu_us')
        return f'   {rate:.3f} {verdict(rate, at_least=MORE_THROUGHPUT)}, {cpu:.3f} {verdict(cpu, at_most=MORE_CPU)}'


def run(bench):
    return Reads(bench).run()
