#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A library exports what the public headers name, in declarations, macros or inlined code, and nothing else:
exports.py NM INCLUDE LIBRARY.a EXPORTS.map"""
import pathlib
import re
import subprocess
import sys

nm, include, library, exports = sys.argv[1:]


def names(text):
    return set(re.findall(r'\bfin_\w+', re.sub(r'//[^\n]*|/\*.*?\*/', '', text, flags=re.S)))


def defined():
    out = subprocess.run([nm, '-g', '--defined-only', library], check=True, capture_output=True, text=True).stdout
    return {line.split()[2] for line in out.splitlines() if len(line.split()) == 3 and not re.search(r' [VWvw] ', line)}


in_library = defined()
in_headers = {name: str(header) for header in sorted(pathlib.Path(include).rglob('*.h*'))
              for name in names(header.read_text()) & in_library}
in_map = names(pathlib.Path(exports).read_text())
if not in_headers or not in_map:
    sys.exit('nothing to compare: no name is both in a header and in the library, or the map is empty')

public = in_headers.keys()
wrong = [f'{in_headers[n]} names {n}, which is not exported: add it to {exports}' for n in sorted(public - in_map)]
wrong += [f'{exports} exports {n}, which no public header names: take it out' for n in sorted(in_map & in_library - public)]
wrong += [f'{exports} exports {n}, which {library} does not define: take it out' for n in sorted(in_map - in_library)]
if wrong:
    print('\n'.join(wrong))
sys.exit(bool(wrong))
