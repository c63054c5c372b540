#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compiles and runs the samples of a page of documentation, and compares what they print with what the page shows.

    samples.py BUILD PAGE.md        C and C++ with the compilers in $CC and $CXX, Fin from the build directory BUILD
    samples.py --show PAGE.md [N]   the programs, or only the Nth, as they are compiled

Samples are the fenced blocks. One of `c` or `cpp` with a main in it is a program. Otherwise a comment in front of it,
<!-- part NAME -->, makes it a part; a comment <!-- part NAME, hidden, and lines of code, up to -->, is one that readers do
not see. A part replaces the earlier one of its name, so a page can grow one program. <!-- run --> makes a program of all
parts so far, in the order in which their names came up first, but `main` last; <!-- run NAME... --> of these. <!-- new -->
forgets all parts. A block of `text` right after a program, or after `run`, is what it prints; a line of it that ends in ...
stands for any that begins so. Environment variables stand in front of names: <!-- run A=B NAME -->.

All blocks are samples, so that nothing is shown which does not work: commands are indented instead of fenced. A part that
is in no program is an error, and so is a fence that does not begin its line."""
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

TOKEN = re.compile(r'^<!-- (?P<new>new) -->$|^<!-- run ?(?P<run>[^\n]*?)-->$|'
                   r'^<!-- part (?P<hidden>\w+), hidden(?P<inside>.*?)^-->$|^<!-- part (?P<part>\w+) -->$|'
                   r'^```(?P<kind>\S*)\n(?P<code>.*?)^```$', re.M | re.S)


class Program:
    def __init__(self, line, kind, code, environment=()):
        self.line, self.kind, self.code, self.environment = line, kind, code, dict(environment)
        self.prints = None


def numbered(line, code, name):
    return f'#line {line} "{name}"\n{code}'


def programs(text, name):
    parts, kinds, out, last, pending = {}, {}, [], None, None
    idle = {}  # parts that have been in no program yet, and where they are

    def is_part(part, where):
        if part in idle:
            sys.exit(f'{idle[part]}: part {part} is replaced before it was in a program')
        idle[part] = where

    for m in TOKEN.finditer(text):
        line = text.count('\n', 0, m.start()) + 1
        where = f'{name}:{line}'
        if pending and not m['code']:
            sys.exit(f'{where}: part {pending} has no block behind it')
        if m['new']:
            if idle:
                break
            parts, kinds, last = {}, {}, None
        elif m['run'] is not None:
            words = m['run'].split()
            chosen = [w for w in words if '=' not in w] or sorted(parts, key=lambda name: name == 'main')
            if not chosen or set(chosen) - set(parts):
                sys.exit(f'{where}: no such part: {" ".join(sorted(set(chosen) - set(parts)))}')
            idle = {part: at for part, at in idle.items() if part not in chosen}
            kind = 'cpp' if 'cpp' in (kinds[c] for c in chosen) else 'c'
            last = Program(line, kind, '\n'.join(parts[c] for c in chosen), (w.split('=', 1) for w in words if '=' in w))
            out.append(last)
        elif m['hidden']:
            is_part(m['hidden'], where)
            parts[m['hidden']] = numbered(line + 1, m['inside'].lstrip('\n'), name)
            kinds.setdefault(m['hidden'], 'c')
        elif m['part']:
            pending = m['part']
        elif m['kind'] == 'text':
            if not last or last.prints is not None:
                sys.exit(f'{where}: which program prints this?')
            last.prints = m['code']
        elif m['kind'] in ('c', 'cpp'):
            code = numbered(line + 1, m['code'], name)
            if pending:
                is_part(pending, where)
                parts[pending], kinds[pending], pending = code, m['kind'], None
            elif re.search(r'^.*\bmain\(', m['code'], re.M):
                last = Program(line, m['kind'], code)
                out.append(last)
            else:
                sys.exit(f'{where}: neither a program nor a part of one')
        else:
            sys.exit(f'{where}: a block of kind "{m["kind"]}" is no sample')
    if pending:
        sys.exit(f'{name}: part {pending} has no block behind it')
    for part, where in idle.items():
        sys.exit(f'{where}: part {part} is in no program')
    for m in re.finditer(r'^[ >]*(?:```|~~~).*$', TOKEN.sub('', text), re.M):
        sys.exit(f'{name}: a block does not end, or is none that is run: {m[0].strip()}')
    return out


def flags_for(build, code):
    examples = pathlib.Path(__file__).resolve().parent.parent / 'examples'
    libraries = ['fin-uninstalled']
    for header in ('resolve', 'tls'):
        if re.search(fr'<fin/(?:co_)?{header}\.h', code):
            libraries.append(f'fin-{header}-uninstalled')
    environment = {**os.environ, 'PKG_CONFIG_PATH': f'{build}/meson-uninstalled'}
    found = subprocess.run(['pkg-config', '--cflags', '--libs', *libraries], env=environment, capture_output=True, text=True)
    if found.returncode:
        return None
    return [f'-I{examples}', *shlex.split(found.stdout), f'-Wl,-rpath,{build}/src:{build}/src/resolve:{build}/src/tls']


def is_clang(command):
    return any(os.path.basename(word).startswith('clang') for word in command)


def compiler(kind, code):
    if kind == 'cpp':
        command = shlex.split(os.environ.get('CXX', 'c++'))
        if not re.search(r'fin/co(?:ro|_\w+)\.hpp', code):
            return [*command, '-std=c++17'], []
        # GCC takes a page for a header, from which the frame of a coroutine with a closure might get into two programs
        return [*command, '-std=c++20', *([] if is_clang(command) else ['-Wno-subobject-linkage'])], []
    command = shlex.split(os.environ.get('CC', 'cc'))
    blocks = is_clang(command)
    return [*command, '-std=gnu11', *(['-fblocks'] if blocks else [])], (['-lBlocksRuntime'] if blocks else [])


def same(shown, printed):
    shown, printed = shown.splitlines(), printed.splitlines()
    return len(shown) == len(printed) and all(p.startswith(s[:-3]) if s.endswith('...') else p == s
                                              for s, p in zip(shown, printed))


def check(program, build, name, scratch):
    """What is wrong with a program; '' for nothing. None: it needs what was not built."""
    where = f'{name}:{program.line}: '
    flags = flags_for(build, program.code)
    if flags is None:
        return None
    source = pathlib.Path(scratch) / f'{program.line}.{program.kind}'
    source.write_text(program.code)
    command, after = compiler(program.kind, program.code)
    binary = str(source.with_suffix(''))
    built = subprocess.run([*command, '-O1', '-Wall', '-Wextra', '-Werror', str(source), '-o', binary, *flags, *after],
                           capture_output=True, text=True)
    if built.returncode:
        return where + 'does not compile\n' + built.stderr
    try:
        run = subprocess.run([binary], cwd=scratch, env={**os.environ, **program.environment}, timeout=60,
                             capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        return where + 'does not end'
    if run.returncode:
        return where + f'ends with {run.returncode}\n{run.stdout}{run.stderr}'
    if program.prints is not None and not same(program.prints, run.stdout):
        return where + f'prints something else than is shown:\n{run.stdout}'
    return ''


def show(found, which):
    if which and not 1 <= int(which[0]) <= len(found):
        sys.exit(f'there are {len(found)} programs')
    chosen = [found[int(which[0]) - 1]] if which else found
    print('\n// ---- another program\n'.join(p.code for p in chosen))
    return 0


def main():
    which = sys.argv[3:] if sys.argv[1:2] == ['--show'] else []
    if len(sys.argv) != 3 + len(which) or len(which) > 1 or not all(w.isdigit() for w in which):
        print(__doc__)
        return 2
    page = pathlib.Path(sys.argv[2])
    found = programs(page.read_text(), page.name)
    if sys.argv[1] == '--show':
        return show(found, which)
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda p: check(p, os.path.abspath(sys.argv[1]), page.name, scratch), found))
    if any(results):
        print('\n'.join(r for r in results if r))
        return 1
    if None in results:
        print(f'skipped: {results.count(None)} of {len(found)} samples need a library that was not built')
        return 77
    print(f'{len(found)} programs, {sum(p.prints is not None for p in found)} with output')
    return 0


if __name__ == '__main__':
    sys.exit(main())
