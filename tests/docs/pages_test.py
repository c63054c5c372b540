#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pages.py finds what is wrong with pages, all of it and no more: pages_test.py TOP"""
import pathlib
import re
import subprocess
import sys
import tempfile

top = pathlib.Path(sys.argv[1])
CODE = '```c\nint main(void) { return 0; }\n```\n'
VARIABLES = re.findall(r'`(FIN_\w+)=', (top / 'docs/core.md').read_text())
TABLE = ''.join(f'| `{v}=1` | |\n' for v in VARIABLES)
GOOD = {
    'README.md': CODE,
    'CONTRIBUTING.md': '',
    'ARCHITECTURE.md': '`first_step` of cont.c, and `fin_find_work`',
    'docs/tested.md': 'A `fin_yield`, in `src/core/awe.c` and [here](tested.md).\n' + CODE,
    'docs/core.md': TABLE,
    'docs/results.md': CODE,
    'docs/results-other.md': CODE,
}
BAD = {  # page: (its text, how each line begins that is said about it)
    'README.md': (CODE + CODE, 'README.md: its samples are not tested'),
    'ARCHITECTURE.md': ('`first_no_step` of no.c\n' + CODE, 'ARCHITECTURE.md: its samples are not tested',
                        'ARCHITECTURE.md: names first_no_step, which no source has',
                        'ARCHITECTURE.md: names no.c, which does not exist'),
    'docs/core.md': (TABLE.replace('FIN_DOZE', 'FIN_IO'), 'docs/core.md: its table does not have FIN_DOZE'),
    'docs/function.md': ('A `fin_yeild`.', 'docs/function.md: names fin_yeild, which no header has'),
    'docs/link.md': ('See [that](that.md).', 'docs/link.md: leads to that.md, which does not exist'),
    'docs/source.md': ('See `src/core/no.c`.', 'docs/source.md: names src/core/no.c, which does not exist'),
    'docs/header.md': ('`fin/no.h`', 'docs/header.md: names fin/no.h, which does not exist'),
    'docs/indented.md': ('So:\n\n    int n = fin_now();\n', 'docs/indented.md: is this code?'),
    'docs/untested.md': (CODE, 'docs/untested.md: its samples are not tested'),
    'docs/tilde.md': ('~~~c\nint n;\n~~~\n', 'docs/tilde.md: its samples are not tested'),
}


def said_of(pages):
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch)
        (tree / 'docs').mkdir()
        for folder in ('include', 'src', 'tests', 'tools'):
            (tree / folder).symlink_to(top / folder)
        for name, text in pages.items():
            (tree / name).write_text(text)
        run = subprocess.run([top / 'tests/docs/pages.py', tree, 'tested'], capture_output=True, text=True)
    if run.stderr or run.returncode != bool(run.stdout):
        sys.exit(f'it ended with {run.returncode}\n{run.stdout}{run.stderr}')
    return run.stdout.splitlines()


wrong = said_of(GOOD)
lines = said_of({**GOOD, **{name: text for name, (text, *_) in BAD.items()}})
for expected in (line for _, *found in BAD.values() for line in found):
    found = [line for line in lines if line.startswith(expected)]
    lines = [line for line in lines if line not in found]
    if len(found) != 1:
        wrong.append(f'{len(found)} times: {expected}')
print('\n'.join(wrong + lines))
sys.exit(bool(wrong + lines))
