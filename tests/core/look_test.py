#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tools/fin_look.py says nothing of a body that its thread has not yet written: look_test.py TOOLS

Another thread may have been stopped at any instruction, and a debugger's calls do not take the address -1. And it reads
nothing behind the table in the program, which may be the last that is mapped there. Of other threads all is told.
Coroutines have the names that they have in the program, whatever debuggers and compilers make of them."""
import collections
import struct
import sys

sys.path.insert(0, sys.argv[1])
import fin_look  # noqa: E402
from fin_look import Broken, Gone, Look, Runtime  # noqa: E402


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
    if Runtime(look, 4096).body_name(8192) is not None:
        sys.exit('a body that is not there yet has an entry')


TABLE = struct.pack('<Q', 77) + b''.join(struct.pack('<28sI', name, at) for name, at in ((b'rt.next', 8), (b'', 0)))


def read(at, size):
    if at < 4096 or at + size > 4096 + len(TABLE):
        raise Gone
    return TABLE[at - 4096:at - 4096 + size]


look = Look(4096, read, None, None, None, 'x86_64', True)
try:
    look.half(-24)
    sys.exit('there is memory below 0')
except Gone:
    pass
if look.first != 77 or look.at != {'rt.next': 8}:
    sys.exit('the table is read as %d, %r' % (look.first, look.at))


class Stopped(Look):
    """Two threads, of which the second, 6, was stopped while it changed a list."""
    at = collections.defaultdict(int)

    def __init__(self):
        self.wrong = []

    def runtimes(self):
        return [4096, 8192]

    def half(self, at):
        return 5 if at == 4096 else 6


class OneOf:
    def __init__(self, look, rt):
        self.rt = rt

    def awes(self, sp):
        yield self.rt, sp
        if self.rt == 8192:
            raise Broken('queue')


fin_look.Runtime = OneOf
look = Stopped()
if list(look.all(lambda tid: -tid)) != [(4096, -5), (8192, -6)] or look.wrong != [(6, 'queue')]:
    sys.exit('of a thread that cannot be read: %r' % look.wrong)

COROUTINES = {  # as gdb and lldb have the names, with debugging information and without
    'prog::K::coro(prog::_ZN4prog1K4coroEv.Frame *)': 'prog::K::coro',
    'prog::K::coro(prog::K::coro()::_ZN4prog1K4coroEv.Frame*) [clone .actor]': 'prog::K::coro',
    'prog::tmpl(fin::task<void> prog::tmpl<int>(int)::_ZN4prog4tmplIiEEN3fin4taskIvEET_.Frame*) (.actor)': 'prog::tmpl',
    '(anonymous namespace)::f((anonymous namespace)::_ZN12_GLOBAL__N_11fEi.Frame *)': '(anonymous namespace)::f',
    '_ZN4prog1K4coroEPZNS0_4coroEvE23_ZN4prog1K4coroEv.Frame.actor': '_ZN4prog1K4coroEv',
    '::plain': 'plain',
    'prog::K::coro() [clone .resume]': 'prog::K::coro',
    'prog::f((anonymous namespace)::arg (*)(int)) (.resume)': 'prog::f',
    '(anonymous namespace)::f(int)': '(anonymous namespace)::f',
    'fin::task<std::vector<int> > prog::tmpl<int>(int) [clone .resume]': 'prog::tmpl<int>',
    'prog::f()::{lambda()#1}::operator()': 'prog::f()::{lambda()#1}::operator()',
    '_Z5plainv.resume': '_Z5plainv',
}
for name, wanted in COROUTINES.items():
    if fin_look.coroutine(name) != wanted:
        sys.exit(f'{name} is shown as {fin_look.coroutine(name)}')
if fin_look.readable('prog::f(prog::_ZN4prog1fEv.Frame *)') != 'prog::f':
    sys.exit('of a coroutine that blocks its frame is shown')
if fin_look.chain('abcd', str) != 'a < b < c < d' or fin_look.chain('abcde', str) != 'a < b < ... < e':
    sys.exit('coroutines are not shown in short')
