#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""registers.py INCLUDE COMPILER... -- OPTION...: a call site keeps no value in a register that only newer processors have.

A processor that has them need not be here: so what the compiler makes of a site is read. Behind the wait nothing may be
expected in such a register."""
import re
import subprocess
import sys

PROGRAM = """
#include <fin.h>
typedef double vector __attribute__((vector_size(32)));
void of_integers(long *v);
void of_vectors(vector *v);
#define TAKE(i) a##i = v[i] * (2 * i + 3);
#define GIVE(i) v[i] = a##i;
#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19)
void of_integers(long *v) { ALL(long TAKE) fin_yield(); ALL(GIVE) }
void of_vectors(vector *v) { ALL(vector TAKE) fin_yield(); ALL(GIVE) }
"""
NEWER = re.compile(r'%(?:r|[xyz]mm)(1[6-9]|2[0-9]|3[01])\b')


def names(text):
    return {m[0] for m in NEWER.finditer(text)}


def expected(lines):
    """The registers that are read before they are written."""
    read, written = set(), set()
    for line in lines:
        *sources, last = re.split(r',\s*(?![^(]*\))', line.split('#')[0])
        is_register = NEWER.fullmatch(last.strip())
        read |= names(','.join(sources) + ('' if is_register else last)) - written
        written |= names(last) if is_register else set()
    return read


def main():
    include, *rest = sys.argv[1:]
    compiler, options = rest[:rest.index('--')], rest[rest.index('--') + 1:]
    command = compiler + options + ['-O2', '-fno-tree-slp-vectorize', '-I' + include, '-xc', '-', '-S', '-o', '-']
    out = subprocess.run(command, input=PROGRAM, stdout=subprocess.PIPE, check=True, text=True).stdout
    failed = False
    for function in ('of_integers', 'of_vectors'):
        body = out[out.index(f'\n{function}:'):]
        body = body[:body.index('.cfi_endproc')]
        behind = body[body.index('fin_core_yield_'):].split('\n')
        kept = expected(behind[1:])
        if kept:
            print(f'{function}: kept in {" ".join(sorted(kept))}')
            failed = True
    return failed


if __name__ == '__main__':
    sys.exit(main())
