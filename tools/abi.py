#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares what a library offers to programs with the record of the last release, package/*.abi; needs abigail-tools.

    tools/abi.py check LIBRARY RECORD             says what a program built with the record would not find in the library
    tools/abi.py record LIBRARY RECORD INCLUDE    writes the record: at a release, and before the first one at a change

Additions are no break. A release whose interface breaks gets another soversion (meson.build)."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PRIVATE = ['--suppressions', os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'package', 'abi.suppress')]


def abidw(library, include):
    options = ['--drop-private-types', '--exported-interfaces-only', '--no-corpus-path', '--no-comp-dir-path',
               '--no-show-locs']
    return subprocess.run(['abidw', '--headers-dir', include, *options, *PRIVATE, library],
                          check=True, capture_output=True, text=True).stdout


def breaks(record, library):
    """abidiff's exit status is a set of bits: 4 says that something changed, 8 that it surely breaks programs."""
    done = subprocess.run(['abidiff', *PRIVATE, '--no-added-syms', record, library], capture_output=True, text=True)
    if done.returncode & 3:
        sys.exit('abidiff failed:\n' + done.stdout + done.stderr)
    return done.stdout if done.returncode else ''


def notices_breaks(record, library):
    """The check can fail: a record with one more function, and one with a member elsewhere, differ from the library."""
    with open(record) as f:
        text = f.read()
    for what, pattern, new in (
            ('a function that is gone', r"( *)<elf-symbol name='fin_sleep' .*\n", r"\g<0>\1<elf-symbol name='fin_gone' "
             r"version='FIN_0.1' is-default-version='yes' type='func-type' binding='global-binding' "
             r"visibility='default-visibility' is-defined='yes'/>\n"),
            ('a moved member', r"(<data-member access='public' layout-offset-in-bits=')64('>\s*<var-decl name='suspended')",
             r'\g<1>192\2')):
        changed, found = re.subn(pattern, new, text, count=1)
        if not found:
            sys.exit(f'{record} has not what the check is checked with: {what}')
        with tempfile.NamedTemporaryFile('w', suffix='.abi') as f:
            f.write(changed)
            f.flush()
            if not breaks(f.name, library):
                sys.exit(f'abidiff does not notice {what}')


def main():
    if len(sys.argv) != {'check': 4, 'record': 5}.get(sys.argv[1] if sys.argv[1:] else None):
        sys.exit(__doc__)
    if not shutil.which('abidiff'):
        print('skipped: no abidiff (abigail-tools)', file=sys.stderr)
        return 77
    library, record = sys.argv[2:4]
    if sys.argv[1] == 'record':
        with open(record, 'w') as f:
            f.write(abidw(library, sys.argv[4]))
        return 0
    difference = breaks(record, library)
    if difference:
        print(difference + f'\nPrograms built with the last release break. If that release has not been made yet:\n'
              f'  tools/abi.py record {library} {record} include')
        return 1
    notices_breaks(record, library)
    return 0


if __name__ == '__main__':
    sys.exit(main())
