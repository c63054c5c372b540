#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check-blocking.py reports the marked lines of a program, and no other: blocking.py CHECK INCLUDE FILE [FLAG...]"""
import re
import subprocess
import sys

check, include, file, *flags = sys.argv[1:]
with open(file) as f:
    expected = {n for n, line in enumerate(f, 1) if '// reported' in line}
run = subprocess.run([check, '--plain', file, '-I' + include, *flags], capture_output=True, text=True)
if run.returncode == 77:
    print(run.stdout)
    sys.exit(77)
told = {int(n) for n in re.findall(rf'^{re.escape(file)}:(\d+):', run.stdout, re.M)}
bad = [f'{file}:{n}: not reported' for n in sorted(expected - told)]
bad += [f'{file}:{n}: reported' for n in sorted(told - expected)]
if bad or run.returncode != bool(expected):
    print('\n'.join(bad), run.stdout, run.stderr, sep='\n')
    sys.exit(1)
