#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Shows what a running process that uses Fin waits for, without stopping it.

    fin-top PID              every second; Ctrl-C ends it
    fin-top --once PID       once
    fin-top --awes PID       each AWE on a line of its own, with its name and id
    fin-top --interval S PID

It reads the memory of the process while that runs: what moves meanwhile may be missing or be shown twice. It may look at
what a debugger may look at. Names of functions are those of the symbol tables of the files that the process runs."""
import argparse
import bisect
import collections
import ctypes
import os
import shutil
import struct
import sys
import time

# <fin/finish.h>, <fin/awe.h>
AWE_WAITS, AWE_KIND, AWE_EXPLICIT = 0xa7, 0x70, 0x80
KINDS = {0x10: 'queued', 0x20: 'suspended', 0x30: 'woken', 0x40: 'saved', 0x50: 'busy'}
FINISH_CLEAN, FINISH_EAGER, FINISH_WAITING, FINISH_CONT = 4, 16, 32, 64
MOST = 1000000  # AWEs looked at in a thread
SHT_SYMTAB, SHT_DYNSYM, STT_OBJECT, STT_FUNC = 2, 11, 1, 2
RATES = ('detached', 'suspended', 'compressed', 'woken_remotely', 'slept', 'cancelled', 'requests', 'completions', 'entered')
LIBC = ctypes.CDLL(None, use_errno=True)


class Gone(Exception):
    """What was to be read is not there, or not any more."""


class Memory:
    class Vector(ctypes.Structure):
        _fields_ = [('base', ctypes.c_void_p), ('size', ctypes.c_size_t)]

    def __init__(self, pid):
        self.pid = pid

    def read(self, at, size):
        buffer = ctypes.create_string_buffer(size)
        here, there = self.Vector(ctypes.addressof(buffer), size), self.Vector(at, size)
        got = LIBC.process_vm_readv(self.pid, ctypes.byref(here), ctypes.c_ulong(1), ctypes.byref(there), ctypes.c_ulong(1),
                                    ctypes.c_ulong(0))
        if got == size:
            return buffer.raw
        error = ctypes.get_errno() if got < 0 else 0
        if error in (1, 3):
            sys.exit(f'fin-top: process {self.pid}: {os.strerror(error)}')
        raise Gone(at)

    def word(self, at):
        return struct.unpack('<Q', self.read(at, 8))[0]

    def half(self, at):
        return struct.unpack('<I', self.read(at, 4))[0]

    def text(self, at, most=40):
        got = b''
        while len(got) < most and b'\0' not in got:
            try:
                got += self.read(at + len(got), 4096 - (at + len(got)) % 4096 if not got else most)
            except Gone:
                break
        return got.split(b'\0')[0][:most].decode(errors='replace')


class File:
    """The symbols of an ELF file that the process has mapped."""

    def __init__(self, path):
        self.loads, self.functions, self.objects = [], [], {}
        with open(path, 'rb') as f:
            head = f.read(64)
            if head[:5] != b'\x7fELF\x02':
                return
            phoff, shoff = struct.unpack_from('<QQ', head, 32)
            phnum, shsize, shnum = struct.unpack_from('<H', head, 56)[0], *struct.unpack_from('<HH', head, 58)
            f.seek(phoff)
            for kind, _, offset, address, _, size in struct.iter_unpack('<IIQQQQ16x', f.read(56 * phnum)):
                if kind == 1:
                    self.loads.append((offset, address, size))
            f.seek(shoff)
            sections = [struct.unpack_from('<IIQQQQII16x', s) for s in
                        (f.read(shsize) for _ in range(shnum)) if len(s) == 64]
            for _, kind, _, _, offset, size, link, _ in sections:
                if kind in (SHT_SYMTAB, SHT_DYNSYM) and link < len(sections):
                    f.seek(sections[link][4])
                    strings = f.read(sections[link][5])
                    f.seek(offset)
                    self.symbols(f.read(size - size % 24), strings)
        self.functions = sorted(set(self.functions))

    def symbols(self, table, strings):
        for name, info, _, section, value, size in struct.iter_unpack('<IBBHQQ', table):
            if section and info & 15 == STT_FUNC:
                self.functions.append((value, size, strings[name:strings.index(b'\0', name)].decode(errors='replace')))
            elif section and info & 15 == STT_OBJECT and strings.startswith(b'fin_look_\0', name):
                self.objects['fin_look_'] = value

    def address(self, offset):
        return next((address + offset - at for at, address, size in self.loads if at <= offset < at + size), None)

    def function(self, address):
        i = bisect.bisect_right(self.functions, (address, 1 << 64, '')) - 1
        if i >= 0 and address < self.functions[i][0] + max(self.functions[i][1], 1):
            return self.functions[i][2]
        return None


class Process:
    def __init__(self, pid):
        self.pid, self.memory, self.files, self.maps, self.names = pid, Memory(pid), {}, [], {}
        self.read_maps()
        base = next((b for b in self.tables()), None)
        if base is None:
            sys.exit(f'fin-top: process {pid} does not use Fin, or its symbols have gone: it has no fin_look_')
        table = self.memory.read(base, 4096)
        self.runtimes_at = struct.unpack_from('<Q', table)[0]
        self.at = {}
        for i in range(8, 4096 - 31, 32):
            name = table[i:i + 28].split(b'\0')[0].decode()
            if not name:
                break
            self.at[name] = struct.unpack_from('<I', table, i + 28)[0]

    def read_maps(self):
        self.maps, self.channels = [], collections.Counter()
        try:
            with open(f'/proc/{self.pid}/maps') as f:
                lines = f.readlines()
        except OSError as e:
            sys.exit(f'fin-top: process {self.pid}: {e.strerror}')
        for line in lines:
            word = line.split(None, 5)
            if len(word) < 6:
                continue
            lo, hi = (int(x, 16) for x in word[0].split('-'))
            path = word[5].strip()
            if path.startswith('/memfd:fin-chan'):
                self.channels[word[4]] = max(self.channels[word[4]], hi - lo)
            elif path.startswith('/'):
                self.maps.append((lo, hi, int(word[2], 16), path))

    def file(self, path):
        if path not in self.files:
            try:
                self.files[path] = File(f'/proc/{self.pid}/root{path}')
            except (OSError, struct.error, ValueError):
                self.files[path] = None
        return self.files[path]

    def tables(self):
        """Addresses of fin_look_: the program's own first, where it was linked with libfin.a."""
        for lo, _, offset, path in self.maps:
            file = self.file(path) if offset == 0 else None
            value = file.objects.get('fin_look_') if file else None
            if value is not None:
                yield lo + value - (file.address(0) or 0)

    def function(self, address):
        if address not in self.names:
            name = None
            for lo, hi, offset, path in self.maps:
                if lo <= address < hi:
                    file = self.file(path)
                    inside = file.address(address - lo + offset) if file else None
                    name = file.function(inside) if inside is not None else None
                    name = name or f'{os.path.basename(path)}+0x{address - lo + offset:x}'
            self.names[address] = name or f'0x{address:x}'
        return self.names[address]

    def field(self, base, name):
        return self.memory.word(base + self.at[name])

    def runtimes(self):
        rt, found = self.memory.word(self.runtimes_at), []
        while rt:
            if self.memory.half(rt + self.at['rt.in_use']):
                found.append(rt)
            rt = self.field(rt, 'rt.next')
        return found[::-1]


class Awe:
    def __init__(self, state, entry, where, name, ident):
        self.state, self.entry, self.where, self.name, self.id = state, entry, where, name, ident


class Runtime:
    """One look at the runtime of a thread."""

    def __init__(self, process, rt):
        self.p, self.rt, m = process, rt, process.memory
        self.tid = m.half(rt + process.at['rt.tid'])
        self.asleep = m.half(rt + process.at['rt.asleep'])
        self.stats = {k[5:]: m.word(rt + v) for k, v in process.at.items() if k.startswith('stat.')}
        self.spares, self.stack_size = process.field(rt, 'rt.spares'), process.field(rt, 'rt.stack_size')
        self.awes, self.seen = [], set()
        for look in (self.lists, self.ids, self.records, self.running):
            try:
                look()
            except Gone:
                pass  # it ran on meanwhile

    def entry(self, body):
        p = self.p
        if not body:
            return '-'
        entry = p.field(body, 'body.entry')
        if entry:
            return p.function(entry)
        block = p.field(body, 'body.block')
        here = not p.memory.half(block + p.at['block.flags']) & FINISH_EAGER
        at = p.field(body, 'body.resume') if here or os.uname().machine == 'aarch64' else p.memory.word(body - 8)
        return 'async in ' + p.function(at)

    def add(self, awe, state=None):
        p, m = self.p, self.p.memory
        if awe in self.seen:
            return
        self.seen.add(awe)
        raw = m.read(awe, p.at['awe.id'] + 4)
        word, ident = struct.unpack_from('<I', raw, p.at['awe.state'])[0], struct.unpack_from('<I', raw, p.at['awe.id'])[0]
        if word >> 24 != AWE_WAITS:
            return
        state = state or KINDS.get(word & AWE_KIND, '?')
        ip = struct.unpack_from('<Q', raw, p.at['awe.context.ip'])[0]
        if word & AWE_EXPLICIT:
            self.awes.append(Awe(state, p.function(ip), '(continuation)', '', ident))
        else:
            body = struct.unpack_from('<Q', raw, p.at['awe.body'])[0]
            try:
                name = p.field(body, 'body.name') if body else p.field(self.rt, 'rt.name')
                self.awes.append(Awe(state, self.entry(body), p.function(ip), m.text(name) if name else '', ident))
            except Gone:
                return
        self.owners(struct.unpack_from('<Q', raw, p.at['awe.block'])[0])

    def owners(self, block):
        p = self.p
        while block and block not in self.seen:
            self.seen.add(block)
            if p.memory.half(block + p.at['block.flags']) & FINISH_WAITING:
                self.add(block + p.at['block.awe'], 'finish')
            block = p.field(block, 'block.parent')

    def lists(self):
        p = self.p
        for name in ('queue', 'suspended'):
            head = self.rt + p.at['rt.' + name]
            link = p.memory.word(head)
            for _ in range(MOST):
                if link in (0, head) or link - p.at['awe.link'] in self.seen:
                    break
                self.add(link - p.at['awe.link'])
                link = p.memory.word(link)

    def ids(self):
        p, slots = self.p, self.p.field(self.rt, 'rt.ids')
        for i in range(1, p.memory.half(self.rt + p.at['rt.id_count'])):
            awe = p.memory.word(slots + i * p.at['slot.size'] + p.at['slot.awe'])
            if awe:
                self.add(awe)

    def records(self):
        p, slab = self.p, self.p.field(self.rt, 'rt.cont_slabs')
        size = p.at['record.size']
        while slab:
            following, length = struct.unpack('<QQ', p.memory.read(slab, 16))
            raw = p.memory.read(slab, length)
            for at in range(size, length - size + 1, size):
                if struct.unpack_from('<I', raw, at + p.at['awe.state'])[0] >> 24 == AWE_WAITS:
                    self.add(slab + at)
            slab = following

    def running(self):
        self.owners(self.p.field(self.rt, 'rt.current'))


def plural(n, one):
    return f'{n:,} {one}' + ('' if n == 1 else 's')


def shown(process, before, seconds, options):
    lines, now = [], {}
    process.read_maps()
    runtimes = [Runtime(process, rt) for rt in process.runtimes()]
    awes = [(t, a) for t in runtimes for a in t.awes]
    with open(f'/proc/{process.pid}/comm') as f:
        name = f.read().strip()
    memory = sum(process.channels.values())
    states = collections.Counter(a.state for _, a in awes)
    lines.append(f'{name} ({process.pid}): {plural(len(runtimes), "thread")}, {plural(len(awes), "AWE")}' +
                 ''.join(f', {n:,} {s}' for s, n in states.most_common()) +
                 (f'; {plural(len(process.channels), "channel mapping")}, {memory // 1024:,} KiB' if memory else ''))
    lines.append('')
    lines.append('   thread  state      AWEs    stacks   spare  ' + '  '.join(r[:10].rjust(10) for r in RATES))
    for t in runtimes:
        now[t.rt] = t.stats
        rates = ''
        if t.rt in before:
            rates = '  '.join(f'{(t.stats[r] - before[t.rt][r]) / seconds:10,.0f}' for r in RATES)
        else:
            rates = '  '.join(f'{t.stats[r]:10,}' for r in RATES)
        state = 'asleep' if t.asleep else 'running'
        lines.append(f'{t.tid:9}  {state:8} {len(t.awes):6,}  {t.stats["stacks"]:8,}  {t.spares:6,}  {rates}')
    lines.append('   ' + ('of each a second' if before else 'of each since the begin'))
    lines.append('')
    if options.awes:
        lines += [f'{t.tid:9}  {a.state:9}  {a.entry:32}  {a.where:32}  {a.name:16}  {"0x%x" % a.id if a.id else "-"}'
                  for t, a in awes]
    else:
        groups = collections.Counter((a.entry, a.state, a.where) for _, a in awes)
        lines.append('    AWEs  state      entry                             waits in')
        lines += [f'{n:8,}  {state:9}  {entry:32}  {where}' for (entry, state, where), n in groups.most_common()]
    return lines, now


def main():
    parser = argparse.ArgumentParser(prog='fin-top', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('pid', type=int)
    parser.add_argument('--once', action='store_true', help='look once')
    parser.add_argument('--awes', action='store_true', help='show each AWE')
    parser.add_argument('--interval', type=float, default=1, metavar='S', help='seconds between two looks')
    options = parser.parse_args()
    process = Process(options.pid)
    before, last = {}, time.monotonic()
    try:
        while True:
            seconds = time.monotonic() - last
            last += seconds
            lines, before = shown(process, before, seconds or 1, options)
            if options.once:
                print('\n'.join(lines))
                return
            width, height = shutil.get_terminal_size()
            if sys.stdout.isatty():
                print('\033[H\033[2J', end='')
            print('\n'.join(line[:width] for line in lines[:height - 1]), flush=True)
            time.sleep(max(options.interval, 0.05))
    except (OSError, Gone):
        sys.exit(f'fin-top: process {options.pid} has ended')
    except (KeyboardInterrupt, BrokenPipeError):
        pass


if __name__ == '__main__':
    main()
