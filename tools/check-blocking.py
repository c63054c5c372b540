#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reports calls of FIN_BLOCKING functions from functions that are not so marked: docs/blocking.md.

    check-blocking.py compile_commands.json [SOURCE...]      the sources of a build, or those of them that are named
    check-blocking.py --plain SOURCE [FLAG...]               one source, with its flags

The environment variable CLANG names the compiler to use: clang-19 or clang otherwise. The result is 1 where something was
reported, 77 where there is no Clang."""
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

CHECK = ['-fsyntax-only', '-DFIN_CHECK_BLOCKING', '-Wno-everything', '-Wthread-safety-analysis', '-fno-caret-diagnostics']
TAKES_VALUE = ('-I', '-D', '-U', '-isystem', '-iquote', '-include', '-idirafter')


def kept(flags):
    """Of a command, what says how the text is to be read: the command may be another compiler's."""
    out, flags = [], iter(flags)
    for f in flags:
        if f in TAKES_VALUE:
            out += [f, next(flags, '')]
        elif f.startswith(TAKES_VALUE) or f.startswith('-std=') or f in ('-fblocks', '-pthread'):
            out.append(f)
    return out


def check(source, flags, directory):
    clang = os.environ.get('CLANG') or shutil.which('clang-19') or shutil.which('clang')
    if not clang:
        print('skipped: no clang here')
        sys.exit(77)
    language = 'c' if source.endswith('.c') else 'c++'
    run = subprocess.run([clang, *CHECK, '-x', language, *flags, source], cwd=directory, capture_output=True, text=True)
    told = [line for line in run.stderr.splitlines() if 'FIN_BLOCKING_' in line]
    told = [line.replace("requires holding mark 'FIN_BLOCKING_' exclusively [-Wthread-safety-analysis]",
                         'may block: the caller is not marked FIN_BLOCKING') for line in told]
    if run.returncode:
        told.append(run.stderr)
    return told


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ('-h', '--help'):
        print(__doc__)
        return 2
    if sys.argv[1] == '--plain':
        told = check(sys.argv[2], sys.argv[3:], '.')
    else:
        wanted = {str(pathlib.Path(s).resolve()) for s in sys.argv[2:]}
        told, seen = [], set()
        for entry in json.loads(pathlib.Path(sys.argv[1]).read_text()):
            source = str((pathlib.Path(entry['directory']) / entry['file']).resolve())
            if source in seen or (wanted and source not in wanted) or not source.endswith(('.c', '.cc', '.cpp', '.cxx')):
                continue
            seen.add(source)
            flags = entry['arguments'] if 'arguments' in entry else shlex.split(entry['command'])
            told += check(source, kept(flags[1:]), entry['directory'])
        missing = wanted - seen
        if missing or not seen:
            sys.exit('not among the commands: ' + (' '.join(sorted(missing)) or 'any source'))
    print('\n'.join(dict.fromkeys(told)), end='\n' if told else '')
    return bool(told)


sys.exit(main())
