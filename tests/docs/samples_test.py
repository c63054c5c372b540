#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""samples.py finds what is wrong with a page, and where: samples_test.py TOOLS BUILD"""
import pathlib
import subprocess
import sys
import tempfile

tools, build = sys.argv[1:]
GOOD = '```c\n#include <stdio.h>\nint main(void) { puts("one"); return 0; }\n```\n'
PARTS = '<!-- part main -->\n```c\nint main(void) { return f(); }\n```\n' \
        '<!-- part f, hidden\nint f(void) { return 0; }\n-->\n'
CASES = {  # page: what is said about it
    GOOD + '```text\none\n```\n': '1 programs, 1 with output',
    GOOD + '\n```text\no...\n```\n': '1 programs, 1 with output',
    GOOD + '```text\ntwo\n```\n': 'page.md:1: prints something else',
    '\n' + GOOD.replace('return 0', 'return 3'): 'page.md:2: ends with 3',
    GOOD.replace('"one"', 'one'): 'page.md:3:',
    '```c\nint a;\n```\n': 'page.md:1: neither a program nor a part',
    '```sh\nls\n```\n': 'page.md:1: a block of kind "sh"',
    '```text\none\n```\n': 'page.md:1: which program prints this',
    GOOD.rstrip('`\n'): 'a block does not end',
    '<!-- part f -->\n\n<!-- run -->\n': 'part f has no block',
    PARTS: 'page.md:2: part main is in no program',
    PARTS + PARTS + '<!-- run -->\n': 'page.md:2: part main is replaced before it was in a program',
    GOOD + '- so:\n\n  ```c\n  int a;\n  ```\n': 'is none that is run: ```c',
    GOOD + '~~~c\nint a;\n~~~\n': 'is none that is run: ~~~c',
    PARTS + '<!-- run -->\n': '1 programs, 0 with output',
    PARTS + '<!-- run g -->\n': 'no such part: g',
    PARTS + '<!-- run -->\n<!-- new -->\n<!-- run -->\n': 'no such part',
    PARTS + '<!-- new -->\n' + GOOD: 'page.md:2: part main is in no program',
}
bad = 0
with tempfile.TemporaryDirectory() as scratch:
    page = pathlib.Path(scratch) / 'page.md'
    for text, expected in CASES.items():
        page.write_text(text)
        run = subprocess.run([f'{tools}/samples.py', build, page], capture_output=True, text=True)
        said = run.stdout + run.stderr
        if expected not in said or (run.returncode == 0) != (' programs, ' in expected):
            bad += 1
            print(f'--- {text}--- {run.returncode}, expected "{expected}":\n{said}')
    page.write_text(GOOD + GOOD.replace('one', 'two'))
    shows = {(): (0, 'one', 'two'), ('1',): (0, 'one'), ('2',): (0, 'two'), ('3',): (1,), ('x',): (2,)}
    for which, expected in shows.items():
        run = subprocess.run([f'{tools}/samples.py', '--show', page, *which], capture_output=True, text=True)
        shown = [word for word in ('one', 'two') if f'puts("{word}")' in run.stdout]
        if (run.returncode, *shown) != expected:
            bad += 1
            print(f'--- --show {which}: {run.returncode}, expected {expected}:\n{run.stdout}{run.stderr}')
sys.exit(bool(bad))
