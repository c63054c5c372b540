#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks models with SPIN: check.py [-DMORE] MODEL.pml...

Each as it stands, where nothing may fail; and once for each way to make it wrong that its comment lists, where something
must fail. The functions that it stands for must be where its comment says, and each of their files must name the model.
`check.py MODEL.pml=N` shows how number N fails, step by step; with -DMORE some models are larger."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
SHORT = 100  # characters of what failed


def build(model, directory, define):
    shutil.copy(model, os.path.join(directory, 'model.pml'))
    spin = subprocess.run(['spin', '-a', *define, 'model.pml'], cwd=directory, capture_output=True, text=True)
    if spin.returncode:
        sys.exit(f'{model}: {spin.stdout}')
    # The models take the number of what is wrong from the environment: so each is compiled once.
    level = '-O2' if define else '-O0'  # where little is explored, compiling takes longer
    subprocess.run(['gcc', '-w', level, '-DSAFETY', '-include', 'stdlib.h', '-o', 'pan', 'pan.c'], cwd=directory, check=True)


def explore(directory, wrong):
    """What failed, or None; and the number of states. A larger stack (-m) and hash table (-w) would take most of the time
    for being made: SPIN says where the stack is too small, and is only slower with a small table."""
    env = {**os.environ, 'WRONG': str(wrong)}
    out = subprocess.run(['./pan', '-m100000', '-w20'], cwd=directory, env=env, capture_output=True, text=True).stdout
    errors = re.search(r'errors: (\d+)', out)
    states = re.search(r'(\d+) states, stored', out)
    if not errors or not states or 'max search depth too small' in out or 'out of memory' in out:
        sys.exit('the exploration is not complete: ' + out)
    failed = re.search(r'^pan:\d+: (.*)$', out, re.M)
    return failed.group(1)[:SHORT] if errors.group(1) != '0' else None, int(states.group(1))


def show(directory, wrong):
    explore(directory, wrong)
    subprocess.run(['./pan', '-r', '-n'], cwd=directory, env={**os.environ, 'WRONG': str(wrong)})


def check_source(model):
    """Reads `It stands for: a, b (src/x.h, y.c); c (src/z.c).` What stands for something else is named somewhere all
    the same."""
    name = os.path.basename(model)
    text = open(model).read().replace('\n// ', ' ')
    stands = re.search(r'It stands for: (.*)', text)
    if not stands:
        named = any(name in p.read_text() for p in (TOP / 'src').rglob('*.c'))
        return named or print(f'{model}: no source names it')
    wrong = []
    for functions, files in re.findall(r'([^();]+)\((src/[^)]+)\)', stands.group(1)):
        first, *others = files.split(', ')
        source = {p: p.read_text() for p in (TOP / first, *((TOP / first).with_name(f) for f in others))}
        wrong += [f'{p.name} does not name it' for p in source if name not in source[p]]
        for f in re.findall(r'\w+', functions):
            begins = re.compile(rf'^[a-zA-Z_].*\b{f}\(.*[^;]$', re.M)
            if not any(begins.search(s) for s in source.values()):
                wrong.append(f'{f} is not in {files}')
    for what in wrong:
        print(f'{model}: {what}')
    return not wrong


def check(model, define):
    name = os.path.basename(model)
    with tempfile.TemporaryDirectory() as directory:
        build(model, directory, define)
        failed, states = explore(directory, 0)
        if failed:
            print(f'{name}: {failed}')
            show(directory, 0)
            return False
        print(f'{name}: {states} states, nothing fails')
        found = True
        for n, what in re.findall(r'^// WRONG (\d+) (.*)$', open(model).read(), re.M):
            failed, _ = explore(directory, n)
            print(f'    {n}. {what}: {failed or "NOTHING FAILS"}')
            found &= failed is not None
        return found


def main():
    if not shutil.which('spin') or not shutil.which('gcc'):
        print('skipped: no spin, or no gcc')
        return 77
    good = True
    define = [a for a in sys.argv[1:] if a.startswith('-')]
    for argument in sys.argv[1 + len(define):]:
        model, _, wrong = argument.partition('=')
        if wrong:
            with tempfile.TemporaryDirectory() as directory:
                build(model, directory, define)
                show(directory, wrong)
        else:
            good &= check_source(model) and check(model, define)
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
