#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Few rules about the text of the tree, each of which something depends on: style.py DIRECTORY"""
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(sys.argv[1])
COLUMNS, FILE, FUNCTION = 125, 500, 80
SOURCE = re.compile(r'\.(c|h|cpp|hpp|S|py|build|sh|ini|map|rs|go|js)$')
SCRIPTS = {'run', 'test', '.ci/run', 'bench/rivals/build'}
# What a room includes beside its own headers, which lie in front of others. host.h of a room is what it asks of the host.
BELOW = {'arch': {'core'}, 'core': {'arch'}, 'host': {'core'}, 'sync': {'core'}, 'io': {'core'}, 'chan': {'core', 'sync'},
         'bufio': {'core'}, 'resolve': set(), 'tls': set()}
ELSEWHERE = re.compile(r'(?<![\w.])/(work|home)/\w|https?://[\w.]*(pypi|pythonhosted|crates\.io|npmjs|golang\.org|yarnpkg)')
AWAITS_WRONGLY = re.compile(r'[\s}]*(while|for) \(.*(&&|\|\|)\s*[^;]*co_await\b')
wrong = []


def complain(path, line, what):
    wrong.append(f'{path}:{line}: {what}')


def in_tree():
    listed = subprocess.run(['git', '-C', TOP, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
                            capture_output=True, text=True)
    if listed.returncode:
        print('skipped: no git checkout to list the files of')
        sys.exit(77)
    return [p for p in listed.stdout.split('\0') if p and (TOP / p).is_file()]


def check_functions(path, lines):
    begin = 0
    for n, line in enumerate(lines, 1):
        if line == '}':
            if begin and n - begin >= FUNCTION:
                complain(path, begin, f'a function of {n - begin + 1} lines, more than {FUNCTION}')
            begin = 0
        elif not begin and re.match(r'[A-Za-z_].*\)( {$|$)', line) and not line.startswith(('typedef', 'struct {')):
            begin = n


def check_source(path, text):
    lines = text.splitlines()
    room = path.split('/')[1] if path.startswith('src/') and path.count('/') > 1 else None
    if 'SPDX-License-Identifier: BSD-2-Clause' not in '\n'.join(lines[:3]):
        complain(path, 1, 'no SPDX line')
    for n, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            complain(path, n, f'{len(line)} columns, more than {COLUMNS}')
        include = re.match(r'\s*#\s*include\s*"(\w+)/([^"]+)"', line)
        if include and room and include[1] in BELOW and include[1] not in BELOW[room] | {room}:
            if room != 'host' or include[2] != 'host.h':
                complain(path, n, f'includes {include[1]}/{include[2]}, of a room that is not below this one')
    if path.startswith(('src/', 'include/')):
        if len(lines) > FILE:
            complain(path, FILE, f'{len(lines)} lines, more than {FILE}')
        check_functions(path, lines)


def check_listed(paths):
    """Each program of a room of tests is one that meson.build knows."""
    for path in paths:
        program = re.fullmatch(r'(tests/\w+)/(\w+)\.(c|cpp)', path)
        if not program:
            continue
        build = (TOP / program.group(1) / 'meson.build').read_text()
        file, name = f'{program.group(2)}.{program.group(3)}', program.group(2)
        if not re.search(rf"'{re.escape(file)}'|'{name}\.?'", build):
            complain(path, 1, f'not in {program.group(1)}/meson.build: it never runs')


paths = in_tree()
for path in paths:
    data = (TOP / path).read_bytes()
    if b'\0' in data:
        continue
    text = data.decode()
    if path != 'tests/core/style.py':
        for n, line in enumerate(text.splitlines(), 1):
            if ELSEWHERE.search(line):
                complain(path, n, 'names a place that is not in the tree: ' + line.strip())
            if AWAITS_WRONGLY.match(line):
                complain(path, n, 'GCC 12 awaits what stands behind && or ||, in a loop, whatever stands before it')
    if SOURCE.search(path) or path in SCRIPTS:
        check_source(path, text)
check_listed(paths)
if wrong:
    print('\n'.join(wrong))
sys.exit(bool(wrong))
