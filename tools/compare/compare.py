#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a revision and the working tree do alike: tools/compare/compare.py REVISION [ROOM...]

The names that the revision exports and the tree does not; the tests of that time, built against the library of now (those of
all rooms, or of some); the instructions of the main operations, then and now, counted by callgrind. All of it is built in
.build/compare. docs/correctness.md says what came of it."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = TOP / '.build' / 'compare'
ROOMS = ['core', 'sync', 'cont', 'io', 'chan', 'thc']
FEW, MANY = 1000, 3000
ENV = {**os.environ, 'FIN_FEW': '1'}


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, errors='replace', **options)


def must(*command, **options):
    done = run(*command, **options)
    if done.returncode:
        sys.exit(' '.join(map(str, command)) + f' failed:\n{done.stdout}{done.stderr}')
    return done.stdout


def library(tree, build):
    if not (build / 'build.ninja').exists():
        must('meson', 'setup', build, tree, '--buildtype=release', '-Dtests=false', '-Dbench=false', '-Dresolve=disabled',
             '-Dtls=disabled', '-Dwerror=false')
    must('ninja', '-C', build, 'src/libfin.a')
    return build / 'src' / 'libfin.a'


def compiled(source, program, tree, archive, *more):
    folders = [f'-I{tree / d}' for d in ('include', 'src', f'src/arch/{os.uname().machine}')]
    return run('gcc', '-O2', '-w', *more, *folders, source, '-o', program, archive, '-luring', '-lpthread').returncode == 0


def names(tree):
    return set(re.findall(r'\bfin_\w+', (tree / 'src' / 'exports.map').read_text()))


def outcome(program):
    try:
        return run(program, env=ENV, cwd=WORK, timeout=120).returncode
    except subprocess.TimeoutExpired:
        return 'no end'


def tests(then, archives, rooms):
    """How many of them pass with the library of now, or end as they did; and what the others do."""
    passed, alike, odd = 0, 0, []
    for room in rooms:
        for source in sorted((then / 'tests' / room).glob('*.c')):
            ends = {}
            for when in ('now', 'then'):
                tree = TOP if when == 'now' else then
                built = compiled(source, WORK / 'test', tree, archives[when], f'-I{then / "tests"}')
                ends[when] = outcome(WORK / 'test') if built else 'not built'
                if ends['now'] == 0:
                    break
            if ends['now'] == 0:
                passed += 1
            elif ends['now'] == ends['then']:
                alike += 1
            else:
                odd.append(f'{room}/{source.stem}: {ends["then"]} then, {ends["now"]} now')
    return passed, alike, odd


def instructions(program, operation):
    def total(n):
        done = run('valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', program, operation, n, env=ENV)
        return int(re.search(r'Collected : (\d+)', done.stderr).group(1))
    return (total(MANY) - total(FEW)) / (MANY - FEW)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith('-'):
        sys.exit(__doc__)
    shutil.rmtree(WORK / 'then', ignore_errors=True)
    then = WORK / 'then' / 'tree'
    then.mkdir(parents=True)
    must('sh', '-c', f'git archive "$1" | tar xf - -C "{then}"', 'sh', sys.argv[1], cwd=TOP)
    archives = {'then': library(then, WORK / 'then' / 'build'), 'now': library(TOP, WORK / 'now')}

    gone = names(then) - names(TOP)
    print(f'names: {len(names(then))} then, {len(names(TOP))} now; gone: {", ".join(sorted(gone)) or "none"}', flush=True)

    programs = {when: WORK / f'operations-{when}' for when in archives}
    for when, archive in archives.items():
        if not compiled(TOP / 'tools/compare/operations.c', programs[when], TOP if when == 'now' else then, archive):
            sys.exit(f'operations.c does not build with the library of {when}')
    print(f'\n{"instructions":28}{"then":>10}{"now":>10}')
    for operation in must(programs['now']).splitlines():
        counts = [instructions(programs[when], operation) for when in ('then', 'now')]
        print(f'{operation:28}' + ''.join(f'{c:10.1f}' for c in counts), flush=True)

    passed, alike, odd = tests(then, archives, sys.argv[2:] or ROOMS)
    print(f'\ntests of then with the library of now: {passed} pass, {alike} end as they did', *odd, sep='\n  ')


if __name__ == '__main__':
    main()
