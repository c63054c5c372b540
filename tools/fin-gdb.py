# SPDX-License-Identifier: BSD-2-Clause
"""gdb commands for programs that use Fin: (gdb) source fin-gdb.py. docs/gdb.md describes them.

An AWE that waits is known by its context: where it goes on, on which stack, in which frame. An unwinder makes that context
the caller of the thread's innermost frame; from there gdb unwinds as ever, and what it shows begins with the AWE's own
frames.
"""
import os
import pathlib
import re
import struct
import sys

import gdb
from gdb.unwinder import Unwinder

# This file may be linked to or installed: fin_look.py lies beside it, or in share/fin under the same prefix.
HERE = pathlib.Path(os.path.realpath(__file__))
PLACES = [d for p in HERE.parents for d in (p, p / 'fin', p / 'share' / 'fin') if (d / 'fin_look.py').exists()]
sys.path[:0] = [str(d) for d in PLACES[:1]]
from fin_look import Broken, Gone, Look, readable  # noqa: E402

MADV_GUARD_REMOVE = 103

# The registers of a struct fin_context, in its order, and the base pointer that an AWE keeps beside it.
REGISTERS = {'i386:x86-64': ('rip', 'rsp', 'rbp', 'rbx'), 'aarch64': ('pc', 'sp', 'x29', 'x19')}


def registers():
    name = gdb.selected_inferior().architecture().name()
    if name not in REGISTERS:
        raise gdb.GdbError('Fin does not run on ' + name + '.')
    return REGISTERS[name]


def flat(value):
    return int(value.cast(gdb.lookup_type('unsigned long')))


class Innermost:
    """A frame id below every stack: gdb refuses callers that lie lower than the frame they called."""

    def __init__(self, pc):
        word = gdb.lookup_type('unsigned long')
        self.sp, self.pc = gdb.Value(16).cast(word), gdb.Value(pc).cast(word)


class AweUnwinder(Unwinder):
    def __init__(self):
        super().__init__('fin-awe')
        self.context = self.here = None

    def show(self, context):
        """Makes `context` the caller of the selected thread's innermost frame; None: shows the thread as it is."""
        self.context = None
        gdb.invalidate_cached_frames()
        if context:
            frame = gdb.newest_frame()
            self.here = tuple(flat(frame.read_register(r)) for r in registers()[:2])
            self.context = context
            gdb.invalidate_cached_frames()

    def __call__(self, pending):
        if not self.context:
            return None
        names = registers()
        try:
            if tuple(flat(pending.read_register(r)) for r in names[:2]) != self.here:
                return None
        except gdb.error:
            return None
        info = pending.create_unwind_info(Innermost(self.here[0]))
        for name, value in zip(names, self.context):
            info.add_saved_register(name, gdb.Value(value).cast(pending.read_register(name).type))
        for name in ('pauth_dmask', 'pauth_cmask'):
            try:
                info.add_saved_register(name, pending.read_register(name))
            except (gdb.error, ValueError):
                pass
        return info


BROKEN = """Not all of %s can be read: %s. It may have been stopped while it changes that. In a core file: gdb before
version 17 leaves out memory with guard pages in it; make it with "fin core", or let the kernel make it."""

UNWINDER = AweUnwinder()
gdb.unwinder.register_unwinder(None, UNWINDER, replace=True)
# The AWE that is looked at is shown as the caller of what its thread runs: that may be main.
gdb.execute('set backtrace past-main on')
# What was shown is over once the program runs on.
gdb.events.cont.connect(lambda event: setattr(UNWINDER, 'context', None))


def frames_from(context):
    """The frames of a context, or of the selected thread; each is valid until the next is asked for. A stack whose caller
    lies lower in memory ends a backtrace in gdb: then it goes on from that frame's registers, as from another context."""
    UNWINDER.show(context)
    frame, skip = gdb.newest_frame(), 0
    while True:
        frame, news = frame.older() if context else frame, False
        while frame:
            if skip:
                skip -= 1
            else:
                news = True
                yield frame
            last, frame = frame, frame.older()
        if not news or last.unwind_stop_reason() != gdb.FRAME_UNWIND_INNER_ID:
            return
        context, skip = tuple(flat(last.read_register(r)) for r in registers()), 1
        while last.type() == gdb.INLINE_FRAME:  # the frames of one function have its registers in common
            last, skip = last.older(), skip + 1
        UNWINDER.show(context)
        frame = gdb.newest_frame()


class Shown:
    """An AWE of fin_look.py, as gdb sees it."""

    def __init__(self, found, awe):
        self.look, self.awe, self.thread = found, awe, thread_of(awe.tid)

    def frames(self):
        if self.awe.data is not None:
            return
        if self.awe.context:
            # memory and code are the same in all threads: any that exists will do
            if self.awe.context[0]:
                yield from frames_from(self.awe.context)
            return
        selected = gdb.selected_thread()
        self.thread.switch()
        try:
            yield from frames_from(None)
        finally:
            selected.switch()

    def stopped_in(self):
        """What the program itself called last, and where."""
        if self.awe.data is not None:
            return self.look.waits_in(self.awe)
        call, inlined, where = None, False, '?'
        for frame in self.frames():
            name = frame.name() or '??'
            if not is_fins(frame):
                if call and not inlined:  # it may have gone on in another by a jump
                    call = called_at(frame.pc()) or call
                sal = frame.find_sal()
                where = readable(name)
                if sal.symtab:
                    where += ' (%s:%d)' % (os.path.basename(sal.symtab.filename), sal.line)
                break
            call, inlined = name, frame.type() == gdb.INLINE_FRAME
        return where + (': ' + call if call else '')


def thread_of(tid):
    return next((t for t in gdb.selected_inferior().threads() if tid in t.ptid[1:]), None)


def function_at(pc):
    block, name = gdb.block_for_pc(pc), None
    while block and not block.is_global:  # past what is inlined there
        name, block = block.function.name if block.function else name, block.superblock
    return name or symbol_at(pc) or '0x%x' % pc  # without debugging information: by the table of symbols


def symbol_at(pc):
    symbol = re.match(r'(.+?)(?: \+ \d+)? in section', gdb.execute('info symbol 0x%x' % pc, to_string=True))
    return symbol[1] if symbol else None


def called_at(pc):
    """The function of Fin that is called right before `pc`, by its name or through the table of a shared library."""
    size = 4 if registers()[0] == 'pc' else 5
    if pc < size:  # the end of the scheduler's stack
        return None
    try:
        called = gdb.selected_frame().architecture().disassemble(pc - size)[0]
    except gdb.MemoryError:
        return None
    name = re.match(r'(?:call|bl)\b.*<(fin_\w+)(?:@plt)?>$', called['asm'])
    return name[1] if name and called['length'] == size else None


def place_of(pc):
    sal = gdb.find_pc_line(pc)
    return '%s:%d' % (os.path.basename(sal.symtab.filename), sal.line) if sal.symtab else None


def is_fins(frame):
    """Does the frame run Fin's own code, in the library or inlined from its headers?"""
    sal = frame.find_sal()
    if not sal.symtab:
        return (frame.name() or '').startswith('fin_')
    path = sal.symtab.fullname()
    symbol = gdb.lookup_global_symbol('fin_thread_begin_')
    source = os.path.dirname(os.path.dirname(symbol.symtab.fullname())) if symbol else ''
    return path.startswith(source + os.sep) or re.search(r'/fin(/arch)?/\w+\.h$|/fin\.hpp$', path) is not None


def read(at, size):
    try:
        return bytes(gdb.selected_inferior().read_memory(at, size))
    except gdb.MemoryError:
        raise Gone(at)


def sp_of(tid):
    thread = thread_of(tid)
    if not thread:
        return None
    selected = gdb.selected_thread()
    thread.switch()
    UNWINDER.show(None)
    sp = flat(gdb.newest_frame().read_register(registers()[1]))
    selected.switch()
    return sp


def look():
    try:
        table = int(gdb.parse_and_eval('(unsigned long)&fin_look_'))
        machine = 'aarch64' if registers()[0] == 'pc' else 'x86_64'
        return Look(table, read, function_at, symbol_at, place_of, machine, True)
    except (gdb.error, Gone):
        raise gdb.GdbError('This program does not use Fin, does not run, or has lost its symbols: there is no fin_look_.')


def all_awes():
    found = look()
    try:
        for number, awe in enumerate(found.all(sp_of), 1):
            yield number, Shown(found, awe)
        for tid, what in found.wrong:
            thread = thread_of(tid)
            print(BROKEN % ('thread %d' % thread.num if thread else 'a thread', what))
    except Broken as e:
        raise gdb.GdbError(BROKEN % ('this', e))
    except Gone as e:
        raise gdb.GdbError(BROKEN % ('this', hex(e.args[0])))
    except KeyError as e:
        raise gdb.GdbError(f'Another version of Fin is in this program: it does not say where {e} is.')


def numbered(text):
    number = int(gdb.parse_and_eval(text))
    for n, awe in all_awes():
        if n == number:
            return awe
    raise gdb.GdbError('There is no AWE %d; see "fin awes".' % number)


class Quietly:
    """Whatever is done to the selection of frames and threads is undone."""

    def __enter__(self):
        if not gdb.selected_thread():
            raise gdb.GdbError('The program is not running.')
        self.thread, self.context = gdb.selected_thread(), UNWINDER.context
        self.level = gdb.selected_frame().level()

    def __exit__(self, *exception):
        self.thread.switch()
        UNWINDER.show(self.context)
        frame = gdb.newest_frame()
        while frame and frame.level() < self.level:
            frame = frame.older()
        (frame or gdb.newest_frame()).select()


def line(*columns):
    return '  '.join(str(c).ljust(width) for c, width in zip(columns, (4, 6, 9, 16, 28, 10, 0))).rstrip()


def describe(number, awe, where=''):
    found = awe.awe
    return line(number, awe.thread.num if awe.thread else '?', found.state, found.name or '-', found.entry or '-',
                '0x%x' % found.id if found.id else '-', where)


def backtrace(awe):
    for i, frame in enumerate(awe.frames()):
        frame.select()
        text = gdb.execute('with print frame-info location -- frame', to_string=True).strip()
        print(re.sub(r'^#\d+ +', '#%-3d' % i, text))
    for text in awe.look.without_stack(awe.awe):
        print(text)


class Fin(gdb.Command):
    """Fin's commands. Without one of them it is gdb's "finish", which it hides the short name of."""

    def __init__(self):
        super().__init__('fin', gdb.COMMAND_USER, prefix=True)

    def invoke(self, argument, from_tty):
        if argument:  # which finish has none of
            raise gdb.GdbError('fin awes, fin awe or fin core; see "help fin". fin alone is finish.')
        gdb.execute('finish', from_tty)


class FinAwes(gdb.Command):
    """Lists the AWEs of all threads: fin awes [COUNT]. At most COUNT, by default 1000.
Each with its number, its thread, its state (finish: it waits at the end of a finish block), its name, the function or place
its async body begins in, its id, and the place in the program that it stopped in and what it called there."""

    def __init__(self):
        super().__init__('fin awes', gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        most = int(gdb.parse_and_eval(argument)) if argument else 1000
        with Quietly():
            print(line('Num', 'Thread', 'State', 'Name', 'Entry', 'Id', 'Stopped in'))
            for number, awe in all_awes():
                if number > most:
                    print('... and more: fin awes COUNT')
                    break
                print(describe(number, awe, awe.stopped_in()))


class FinAwe(gdb.Command):
    """Looks at an AWE, by its number in "fin awes".
fin awe N bt     its backtrace; it goes on into the owner of its finish block. fin awe all bt: those of all.
fin awe N        selects it: frame, up, down, info locals, print act in its frames, until the program runs on
fin awe          selects the thread itself again"""

    def __init__(self):
        super().__init__('fin awe', gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        if not words:
            UNWINDER.show(None)
            gdb.execute('frame', from_tty)
        elif len(words) == 1:
            self.select(numbered(words[0]), from_tty)
        elif len(words) == 2 and words[1] in ('bt', 'backtrace'):
            with Quietly():
                if words[0] == 'all':
                    for number, awe in all_awes():
                        print('\nAWE ' + describe(number, awe))
                        backtrace(awe)
                else:
                    backtrace(numbered(words[0]))
        else:
            raise gdb.GdbError('fin awe N [bt]; see "help fin awe".')

    def select(self, awe, from_tty):
        if not awe.awe.context:
            awe.thread.switch()
            UNWINDER.show(None)
        else:
            UNWINDER.show(awe.awe.context)
            gdb.newest_frame().older().select()
        gdb.execute('frame', from_tty)


def call_by_general_registers(function, arguments):
    """gdb before version 14 can call nothing where the processor has AMX: it has no room for all registers, and gives up
    when it writes them. The general ones it writes alone. The function returns to where the thread stands, so that gdb
    goes on from there as if nothing had been."""
    names = 'rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 eflags orig_rax rip'.split()
    saved = get_registers(names)
    top = (saved['rsp'] - 1024 & -16) - 8
    entry, end = int(gdb.parse_and_eval('(unsigned long)&' + function)), saved['rip']
    gdb.selected_inferior().write_memory(top, struct.pack('<Q', end))
    set_registers({'rsp': top, 'rip': entry, 'rax': 0, 'orig_rax': -1, **dict(zip(('rdi', 'rsi', 'rdx'), arguments))})
    others = [b for b in gdb.breakpoints() if b.enabled]
    for b in others:
        b.enabled = False
    back = gdb.Breakpoint('*%d' % end, internal=True, temporary=True)
    back.silent = True
    gdb.execute('continue', to_string=True)
    now = get_registers(names)
    set_registers(saved)
    for b in others:
        b.enabled = True
    if now['rip'] != end:
        raise gdb.GdbError('%s() was interrupted' % function)
    return now['rax'] & 0xffffffff


def get_registers(names):
    frame = gdb.newest_frame()
    return {name: int(frame.read_register(name)) & 0xffffffffffffffff for name in names}


def set_registers(values):
    for name, value in values.items():
        gdb.execute('set $%s = %d' % (name, value))


class FinCore(gdb.Command):
    """Makes a core file of the program, with its stacks: fin core FILE.
gdb before version 17 leaves out all memory around a guard page. This takes the guards off for the moment."""

    def __init__(self):
        super().__init__('fin core', gdb.COMMAND_DATA)

    @staticmethod
    def call(function, *arguments):
        call = '((int (*)(unsigned long, unsigned long, int))%s)(%s)' % (function, ', '.join(map(str, arguments)))
        try:
            return int(gdb.parse_and_eval(call))
        except gdb.error as error:
            if 'extended state' not in str(error):
                raise
            return call_by_general_registers(function, arguments)

    def invoke(self, argument, from_tty):
        if not argument:
            raise gdb.GdbError('fin core FILE')
        locking = gdb.parameter('scheduler-locking')
        unguarded, page = [], 0
        with Quietly():
            UNWINDER.show(None)
            gdb.execute('set scheduler-locking on')  # no other thread runs during the calls
            try:
                page = self.call('fin_host_page_size', 0, 0, 0)
                self.take_guards_off(unguarded)
                gdb.execute('generate-core-file ' + argument, from_tty)
            finally:
                for stack in unguarded:
                    self.call('fin_host_guard', stack, page, 0)
                gdb.execute('set scheduler-locking ' + locking)

    def take_guards_off(self, unguarded):
        type = gdb.lookup_type('struct fin_runtime').pointer()
        for at in look().runtimes():
            rt = gdb.Value(at).cast(type)
            slab, size = rt['slabs'], int(rt['stack_size'])
            while slab:
                base, stacks = flat(slab['base']), int(slab['stacks'])
                if self.call('madvise', base, stacks * size, MADV_GUARD_REMOVE) == 0:
                    unguarded += [base + i * size for i in range(stacks)]
                slab = slab['next']


Fin()
FinAwes()
FinAwe()
FinCore()
