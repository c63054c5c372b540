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
import pathlib
import re
import shutil
import struct
import sys
import time

# This file may be linked to or installed: fin_look.py lies beside it, or in share/fin under the same prefix.
HERE = pathlib.Path(os.path.realpath(__file__))
PLACES = [d for p in HERE.parents for d in (p, p / 'fin', p / 'share' / 'fin') if (d / 'fin_look.py').exists()]
sys.path[:0] = [str(d) for d in PLACES[:1]]
from fin_look import Gone, Look, of_coroutine, plain, readable  # noqa: E402

SHT_SYMTAB, SHT_DYNSYM, STT_OBJECT, STT_FUNC = 2, 11, 1, 2
RATES = {'detached': 'detached', 'suspended': 'suspended', 'compressed': 'compressed', 'woken_remotely': 'woken',
         'slept': 'slept', 'cancelled': 'cancelled', 'requests': 'requests', 'completions': 'completed',
         'entered': 'entered'}
LIBC = ctypes.CDLL(None, use_errno=True)


def demangler():
    try:
        demangle = ctypes.CDLL('libstdc++.so.6').__cxa_demangle
    except (OSError, AttributeError):
        return lambda symbol: None
    demangle.restype = ctypes.c_void_p

    def whole_name(symbol):
        text = demangle(symbol.encode(), None, None, None)
        name = ctypes.string_at(text).decode(errors='replace') if text else None
        LIBC.free(ctypes.c_void_p(text))
        return name
    return whole_name


DEMANGLE = demangler()


def short(symbol):
    """A function's name in a table: without what compilers append, and in C++ without types and what is in templates."""
    symbol = re.sub(r'(\.(constprop|isra|part|cold|lto_priv)(\.\d+)?)+$', '', symbol)
    if not symbol.startswith('_Z'):
        return symbol
    name = DEMANGLE(of_coroutine(symbol).split('.')[0])
    if not name:  # without libstdc++ here: the first part of it, if it is a plain one
        size = re.match(r'_Z(\d+)', symbol)
        return symbol[size.end():size.end() + int(size[1])] if size else symbol
    name = readable(re.sub('^void ', '', name)).replace('(anonymous namespace)', '{anonymous}')
    if 'operator' in name:
        return name
    for inner in (r'<[^<>]*>', r'\([^()]*\)'):
        while re.search(inner, name):
            name = re.sub(inner, '', name)
    return re.sub(r' const\b', '', name).split(' ')[-1]


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


class File:
    """The symbols of an ELF file that the process has mapped."""

    def __init__(self, path):
        self.loads, self.functions, self.objects = [], [], {}
        with open(path, 'rb', opener=lambda p, flags: os.open(p, flags | os.O_NONBLOCK)) as f:  # a FIFO by now?
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
        self.pid, self.memory, self.files, self.maps, self.names, self.symbols = pid, Memory(pid), {}, [], {}, {}
        self.read_maps()
        base = next((b for b in self.tables()), None)
        if base is None:
            sys.exit(f'fin-top: process {pid} does not use Fin, or its symbols have gone: it has no fin_look_')
        self.look = Look(base, self.memory.read, self.function, self.symbol, lambda at: None, os.uname().machine, False)

    def read_maps(self):
        self.maps, self.channels = [], collections.Counter()
        try:
            with open(f'/proc/{self.pid}/maps') as f:
                lines = f.readlines()
        except (FileNotFoundError, ProcessLookupError):
            sys.exit(f'fin-top: there is no process {self.pid}')
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
            place = f'root{path}'
            if path.endswith(' (deleted)'):  # or replaced: what is mapped is still there
                lo, hi = next((lo, hi) for lo, hi, _, p in self.maps if p == path)
                place = f'map_files/{lo:x}-{hi:x}'
            try:
                self.files[path] = File(f'/proc/{self.pid}/{place}')
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
            self.names[address] = plain(short(self.symbol(address) or f'0x{address:x}'))
        return self.names[address]

    def symbol(self, address):
        if address not in self.symbols:
            self.symbols[address] = self.symbol_at(address)
        return self.symbols[address]

    def symbol_at(self, address):
        name = None
        for lo, hi, offset, path in self.maps:
            if lo <= address < hi:
                file = self.file(path)
                inside = file.address(address - lo + offset) if file else None
                name = file.function(inside) if inside is not None else None
                name = name or f'{os.path.basename(path)}+0x{address - lo + offset:x}'
        return name

    def waits_in(self, awe):
        if awe.data is None:
            return self.function(awe.context[0])
        return self.look.awaited(awe) or '(continuation)'


class Runtime:
    """One look at the runtime of a thread."""

    def __init__(self, look, rt):
        self.rt, self.tid, self.asleep = rt, look.half(rt + look.at['rt.tid']), look.half(rt + look.at['rt.asleep'])
        self.stats = {k[5:]: look.word(rt + v) for k, v in look.at.items() if k.startswith('stat.')}
        self.spares = look.field(rt, 'rt.spares') + look.field(rt, 'rt.colds')
        self.awes = look.awes(rt)


def plural(n, one):
    return f'{n:,} {one}' + ('' if n == 1 else 's')


def rates(stats, before, seconds):
    """Of a thread that has begun since, or has cleared its counters, all that it has counted."""
    return {r: (stats[r] - (before.get(r, 0) if before.get(r, 0) <= stats[r] else 0)) / seconds for r in RATES}


def shown(process, before, seconds, options):
    lines, now = [], {}
    process.read_maps()
    runtimes = [Runtime(process.look, rt) for rt in process.look.runtimes()]
    awes = [(t, a) for t in runtimes for a in t.awes]
    for _, a in awes:
        a.entry, a.where = a.entry or '-', process.waits_in(a)
    with open(f'/proc/{process.pid}/comm') as f:
        name = f.read().strip()
    memory = sum(process.channels.values())
    states = collections.Counter(a.state for _, a in awes)
    lines.append(f'{name} ({process.pid}): {plural(len(runtimes), "thread")}, {plural(len(awes), "AWE")}' +
                 ''.join(f', {n:,} {s}' for s, n in states.most_common()) +
                 (f'; {plural(len(process.channels), "channel mapping")}, {memory // 1024:,} KiB' if memory else ''))
    lines.append('')
    lines.append('   thread  state      AWEs    stacks   spare  ' + '  '.join(r.rjust(10) for r in RATES.values()))
    for t in runtimes:
        now[t.rt, t.tid] = t.stats
        counts = rates(t.stats, before.get((t.rt, t.tid), {}), seconds) if before else t.stats
        state = 'asleep' if t.asleep else 'running'
        lines.append(f'{t.tid:9}  {state:8} {len(t.awes):6,}  {t.stats["stacks"]:8,}  {t.spares:6,}  ' +
                     '  '.join(f'{counts[r]:10,.0f}' for r in RATES))
    lines.append('   ' + ('of each a second' if before else 'of each since the begin'))
    lines.append('')
    if options.awes:
        lines.append('   thread  state      ' + 'entry'.ljust(34) + 'waits in'.ljust(34) + 'name'.ljust(18) + 'id')
        lines += [f'{t.tid:9}  {a.state:9}  {a.entry:32}  {a.where:32}  {a.name:16}  {"0x%x" % a.id if a.id else "-"}'
                  for t, a in awes]
    else:
        groups = collections.Counter((a.entry, a.state, a.where) for _, a in awes)
        lines.append('    AWEs  state      entry                             waits in')
        lines += [f'{n:8,}  {state:9}  {entry:32}  {where}' for (entry, state, where), n in groups.most_common()]
    return lines, now


def ended(pid):
    try:
        with open(f'/proc/{pid}/stat') as f:
            return f.read().rsplit(')', 1)[1].split()[0] in 'ZX'
    except OSError:
        return True


def put(text):
    """Where nobody reads it any more, this is the end."""
    try:
        print(text, flush=True)
    except OSError as e:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left of it
        sys.exit(None if isinstance(e, BrokenPipeError) else f'fin-top: {e.strerror}')


def interval(text):
    try:
        if 0 <= float(text) <= 86400:  # a nan is not
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f'{text} is not a number of seconds up to a day')


def main():
    parser = argparse.ArgumentParser(prog='fin-top', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('pid', type=int)
    parser.add_argument('--once', action='store_true', help='look once')
    parser.add_argument('--awes', action='store_true', help='show each AWE')
    parser.add_argument('--interval', type=interval, default=1, metavar='S', help='seconds between two looks, up to a day')
    options = parser.parse_args()
    if not sys.stdout:
        sys.exit('fin-top: stdout is closed')
    sys.stdout.reconfigure(errors='replace')
    before, last = {}, time.monotonic()
    try:
        process = Process(options.pid)
        while True:
            seconds = time.monotonic() - last
            last += seconds
            lines, before = shown(process, before, seconds or 1, options)
            if options.once:
                put('\n'.join(lines))
                return
            width, height = shutil.get_terminal_size()
            clear = '\033[H\033[2J' if sys.stdout.isatty() else ''
            put(clear + '\n'.join(line[:width] for line in lines[:height - 1]))
            time.sleep(max(options.interval, 0.05))
    except (OSError, Gone, struct.error, ValueError, OverflowError, MemoryError):
        what = 'has ended' if ended(options.pid) else 'has no AWEs where it says that they are'
        sys.exit(f'fin-top: process {options.pid} {what}')
    except KeyError as e:
        sys.exit(f'fin-top: process {options.pid} has another version of Fin in it, which does not say where {e} is')
    except KeyboardInterrupt:
        pass


if __name__ == '__main__':
    main()
