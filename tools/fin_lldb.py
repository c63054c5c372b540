# SPDX-License-Identifier: BSD-2-Clause
"""lldb commands for programs that use Fin: (lldb) command script import fin_lldb.py. docs/gdb.md describes them.

An AWE becomes a thread of lldb's, whose registers are its context: this file is also the plug-in by which lldb asks for
them. So all that acts in a thread acts in an AWE."""
import os
import pathlib
import re
import struct
import sys

import lldb

# This file may be linked to or installed: fin_look.py lies beside it, or in share/fin under the same prefix.
HERE = pathlib.Path(os.path.realpath(__file__))
PLACES = [d for p in HERE.parents for d in (p, p / 'fin', p / 'share' / 'fin') if (d / 'fin_look.py').exists()]
sys.path[:0] = [str(d) for d in PLACES[:1]]
from fin_look import Broken, Gone, Look, readable  # noqa: E402

# Of a struct fin_context and the base pointer beside it: name, what it is, its number in DWARF.
REGISTERS = {'x86_64': (('rip', 'pc', 16), ('rsp', 'sp', 7), ('rbp', 'fp', 6), ('rbx', None, 3)),
             'aarch64': (('pc', 'pc', 32), ('sp', 'sp', 31), ('x29', 'fp', 29), ('x19', None, 19))}
FIRST_TID = 0xf1 << 48
CONTEXTS = {}  # of the threads that are AWEs


class Failed(Exception):
    """With the reason."""


def machine(process):
    name = process.target.triple.split('-')[0]
    return 'aarch64' if name in ('aarch64', 'arm64') else name


class OperatingSystemPlugIn:
    """What lldb asks: the name is lldb's."""

    def __init__(self, process):
        self.process = process

    def get_thread_info(self):
        return []

    def get_register_info(self):
        registers = []
        for i, (name, generic, number) in enumerate(REGISTERS[machine(self.process)]):
            register = {'name': name, 'bitsize': 64, 'offset': 8 * i, 'encoding': 'uint', 'format': 'hex', 'set': 0,
                        'gcc': number, 'dwarf': number}
            registers.append({**register, 'generic': generic} if generic else register)
        return {'sets': ['General Purpose Registers'], 'registers': registers}

    def create_thread(self, tid, unused):
        return {'tid': tid, 'name': 'AWE', 'queue': '', 'state': 'stopped', 'stop_reason': 'none'}

    def get_register_data(self, tid):
        return struct.pack('<4Q', *CONTEXTS.get(tid, (0, 0, 0, 0)))


class Program:
    """The selected process, as fin_look.py wants it."""

    def __init__(self, debugger):
        self.target = debugger.GetSelectedTarget()
        self.process = self.target.process
        if not self.process.IsValid() or self.process.state != lldb.eStateStopped:
            raise Failed('The program is not running, or not stopped.')
        tables = self.target.FindSymbols('fin_look_')
        if not tables.GetSize():
            raise Failed('This program does not use Fin, does not run, or has lost its symbols: there is no fin_look_.')
        table = tables[0].symbol.addr.GetLoadAddress(self.target)
        begin = [f.symbol.addr.line_entry for f in self.target.FindFunctions('fin_thread_begin_')]
        self.source = os.path.dirname(begin[0].file.dirname) + os.sep if begin and begin[0].IsValid() else '\0'
        self.look = Look(table, self.read, self.function, self.symbol, self.place, machine(self.process), True)

    def read(self, at, size):
        error = lldb.SBError()
        data = self.process.ReadMemory(at, size, error)
        if not error.Success():  # a core file has no code: the program's file has it
            error = lldb.SBError()
            data = self.target.ReadMemory(self.address(at), size, error)
        if not error.Success() or len(data) != size:
            raise Gone(at)
        return data

    def address(self, pc):
        return self.target.ResolveLoadAddress(pc)

    def function(self, pc):
        name = self.address(pc).function.GetDisplayName()
        if not name or re.search(r'\(anonymous(?! namespace)', name):  # as GCC leaves the functions of coroutines
            name = self.symbol(pc)
        return name or '0x%x' % pc

    def symbol(self, pc):
        return self.address(pc).symbol.name

    def place(self, pc):
        line = self.address(pc).line_entry
        return '%s:%d' % (line.file.basename, line.line) if line.IsValid() else None

    def sp_of(self, tid):
        thread = self.process.GetThreadByID(tid)
        return thread.frames[0].sp if thread.IsValid() and thread.num_frames else None

    def awes(self):
        try:
            found = list(self.look.all(self.sp_of))
        except (Broken, Gone) as e:
            raise Failed('The list of runtimes is not all there: %s.' % e)
        except KeyError as e:
            raise Failed(f'Another version of Fin is in this program: it does not say where {e} is.')
        return list(enumerate(found, 1))

    def numbered(self, text):
        for n, awe in self.awes():
            if text == str(n):
                return n, awe
        raise Failed('There is no AWE %s; see "fin awes".' % text)

    def thread(self, awe):
        """lldb's for an AWE: the thread itself where it runs, None where it has no stack."""
        if not awe.context:
            return self.process.GetThreadByID(awe.tid)
        if awe.data is not None or not awe.context[0]:
            return None
        ip, sp, fp, bx = awe.context
        thread, moved = self.thread_at(awe.context), self.moved_at(ip)
        if moved and not self.is_called(thread):
            other = self.thread_at((ip, sp - moved, fp, bx))
            thread = other if self.is_called(other) else thread
        return thread

    def thread_at(self, context):
        tid = next((t for t, known in CONTEXTS.items() if known == context), FIRST_TID + len(CONTEXTS))
        CONTEXTS[tid] = context
        thread = self.process.GetThreadByID(tid)
        return thread if thread.IsValid() else self.process.CreateOSPluginThread(tid, 0)

    def moved_at(self, ip):
        """For the innermost frame lldb reads instructions where the unwind table has no note of the site (FIN_ARCH_BLOCK_).
        It then takes the stack pointer to be where the site moves it before it jumps into the runtime: how far that is."""
        if machine(self.process) != 'x86_64':
            return 0
        before = self.read(ip - 16, 9)  # sub, push
        return struct.unpack('<I', before[3:7])[0] + 8 if before[:3] == b'\x48\x81\xec' and before[7] == 0x6a else 0

    def is_called(self, thread):
        """Does the second frame go on behind a call?"""
        caller = (f for f in thread.frames if f.GetCFA() != thread.frames[0].GetCFA() and not f.IsArtificial())
        frame = next(caller, None)  # not one that lldb adds for a call in a function's last place
        try:
            before = self.read(frame.pc - 7, 7) if frame else bytes(7)
        except Gone:
            return False
        return before[2] == 0xe8 or any(before[-n] == 0xff and before[1 - n] & 0x38 == 0x10 for n in (2, 3, 4, 6, 7))

    def frames(self, awe):
        thread = self.thread(awe)
        return list(thread.frames) if thread and thread.IsValid() else []

    def stopped_in(self, awe):
        """What the program itself called last, and where."""
        if awe.data is not None:
            return self.look.waits_in(awe)
        call, inlined, where = None, False, '?'
        for frame in self.frames(awe):
            if not self.is_fins(frame):
                where = readable(frame.GetDisplayFunctionName() or '??')
                if call and not inlined:  # it may have gone on in another by a jump
                    call = self.called_at(frame.GetPC()) or call
                if frame.line_entry.IsValid():
                    where += ' (%s:%d)' % (frame.line_entry.file.basename, frame.line_entry.line)
                break
            call, inlined = frame.GetFunctionName(), frame.IsInlined()
        return where + (': ' + call if call else '')

    def called_at(self, pc):
        """The function of Fin that is called right before `pc`, by its name or through the table of a shared library."""
        size = 4 if machine(self.process) == 'aarch64' else 5
        for called in self.target.ReadInstructions(self.address(pc - size), 1):
            name = re.search(r'\bfin_\w+', called.GetComment(self.target))
            if name and called.GetByteSize() == size and re.match('call|bl', called.GetMnemonic(self.target)):
                return name[0]
        return None

    def is_fins(self, frame):
        """Does it run Fin's own code, in the library or inlined from its headers?"""
        path = frame.line_entry.file.fullpath if frame.line_entry.IsValid() else None
        if not path:
            return (frame.GetFunctionName() or '').startswith('fin_')
        return path.startswith(self.source) or re.search(r'/fin(/arch)?/\w+\.h$|/fin\.hpp$', path) is not None


def line(*columns):
    return '  '.join(str(c).ljust(width) for c, width in zip(columns, (4, 6, 9, 16, 28, 10, 0))).rstrip()


def describe(program, number, awe, where=''):
    thread = program.process.GetThreadByID(awe.tid)
    return line(number, thread.idx if thread.IsValid() else '?', awe.state, awe.name or '-', awe.entry or '-',
                '0x%x' % awe.id if awe.id else '-', where)


def backtrace(program, awe, out):
    for i, frame in enumerate(program.frames(awe)):
        place = frame.line_entry
        out('#%-3d 0x%x in %s%s' % (i, frame.pc, frame.GetDisplayFunctionName() or '??',
                                    ' at %s:%d' % (place.file.basename, place.line) if place.IsValid() else ''))
    for text in program.look.without_stack(awe):
        out(text)


def command(debugger, words, out):
    if words[:1] == ['awes'] and (len(words) == 1 or len(words) == 2 and words[1].isdecimal()):
        program, most = Program(debugger), int(words[1]) if len(words) == 2 else 1000
        out(line('Num', 'Thread', 'State', 'Name', 'Entry', 'Id', 'Stopped in'))
        for number, awe in program.awes()[:most]:
            out(describe(program, number, awe, program.stopped_in(awe)))
        for tid, what in program.look.wrong:
            thread = program.process.GetThreadByID(tid)
            out('Not all of %s can be read: %s. It may have been stopped while it changes that.'
                % ('thread %d' % thread.idx if thread.IsValid() else 'a thread', what))
    elif words[:1] == ['awe'] and len(words) == 3 and words[2] in ('bt', 'backtrace'):
        program = Program(debugger)
        for number, awe in program.awes() if words[1] == 'all' else [program.numbered(words[1])]:
            out('\nAWE ' + describe(program, number, awe))
            backtrace(program, awe, out)
    elif words[:1] == ['awe'] and len(words) == 2:
        program = Program(debugger)
        thread = program.thread(program.numbered(words[1])[1])
        if not thread:
            raise Failed('It has no stack.')
        program.process.SetSelectedThread(thread)
        out('thread #%d; "thread select" goes back' % thread.idx)
    else:
        raise Failed('fin awes [COUNT], fin awe N, fin awe N bt, fin awe all bt')


def fin(debugger, text, result, unused):
    """fin awes [COUNT]: lists the AWEs of all threads. fin awe N bt: the backtrace of one; of all: fin awe all bt. fin awe N
    makes it the selected thread."""
    selected = debugger.GetSelectedTarget().process.selected_thread.id
    try:
        command(debugger, text.split(), result.AppendMessage)
    except Failed as e:
        result.SetError(str(e))
    if text.split()[:1] == ['awes'] or text.endswith('bt'):
        debugger.GetSelectedTarget().process.SetSelectedThreadByID(selected)


def __lldb_init_module(debugger, unused):
    # As lldb loads the plug-in it runs this again, and as the setting is set it loads the plug-in.
    setting, there = 'target.process.python-os-plugin-path', '"%s"' % HERE
    if there not in list(debugger.GetInternalVariableValue(setting, debugger.GetInstanceName())):
        debugger.HandleCommand('settings set %s %s' % (setting, there))
    debugger.HandleCommand('command script add --overwrite -f %s.fin fin' % __name__)
