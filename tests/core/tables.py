#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The call sites compile whatever the compiler does about unwinding tables, which they write into:
tables.py INCLUDE COMPILER... -- FILE"""
import itertools
import subprocess
import sys

split = sys.argv.index('--')
include, compiler, name = sys.argv[1], sys.argv[2:split], sys.argv[split + 1]
TABLES = [[], ['-fno-asynchronous-unwind-tables'], ['-fno-asynchronous-unwind-tables', '-fno-unwind-tables'],
          ['-fno-dwarf2-cfi-asm']]
for tables, exceptions in itertools.product(TABLES, ['-fexceptions', '-fno-exceptions']):
    command = [*compiler, '-O2', *tables, exceptions, '-I' + include, '-c', '-o', '/dev/null', name]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(' '.join(command) + '\n' + run.stderr[:1000])
