#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tools/fin_look.py says nothing of a body that its thread has not yet written: look_test.py TOOLS

Another thread may have been stopped at any instruction, and a debugger's calls do not take the address -1."""
import collections
import sys

sys.path.insert(0, sys.argv[1])
from fin_look import Runtime  # noqa: E402


class Nothing:
    """Memory in which all is zero."""
    at = collections.defaultdict(int)

    def half(self, at):
        return 0

    word = half

    def field(self, at, name):
        return 0

    def function(self, pc):
        raise SystemExit('asked for the function at %d' % pc)

    place = function


for machine in ('x86_64', 'aarch64'):
    look = Nothing()
    look.machine = machine
    if Runtime(look, 4096).entry(8192) is not None:
        sys.exit('a body that is not there yet has an entry')
