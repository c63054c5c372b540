# SPDX-License-Identifier: BSD-2-Clause
"""gdb commands for programs that use Fin: (gdb) source fin-gdb.py. docs/gdb.md describes them.

An AWE that waits is known by its context: where it goes on, on which stack, in which frame. An unwinder makes that context
the caller of the thread's innermost frame; from there gdb unwinds as ever, and what it shows begins with the AWE's own
frames.
"""
import os
import re

import gdb
from gdb.unwinder import Unwinder

# <fin/finish.h>, <fin/awe.h>
AWE_WAITS, AWE_KIND, AWE_EXPLICIT = 0xa7, 0x70, 0x80
KINDS = {0x10: 'queued', 0x20: 'suspended', 0x30: 'woken', 0x40: 'saved', 0x50: 'busy'}
FINISH_CLEAN, FINISH_EAGER, FINISH_WAITING = 4, 16, 32
PENDING_NAMED, PENDING_FLAGS = 2, 3

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


BROKEN = """The list "%s" of a runtime is broken. In a core file: gdb before version 17 leaves out memory with guard pages in
it; make it with "fin core", or let the kernel make it."""

UNWINDER = AweUnwinder()
gdb.unwinder.register_unwinder(None, UNWINDER, replace=True)
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


class Awe:
    def __init__(self, runtime, awe, state=None):
        self.runtime, self.awe, self.thread = runtime, awe, runtime.thread
        self.name = self.entry = None
        if awe is None:
            self.state, self.id, body, named = 'running', 0, *runtime.running_body()
        else:
            word = int(awe['state'])
            kind = KINDS.get(word & AWE_KIND) if word >> 24 == AWE_WAITS else None
            self.state = state or kind or '0x%x?' % word
            self.id, body, named = int(awe['id']), awe['body'], True
        if not body:
            name = runtime.rt['name']
        else:
            name = body['name'] if named else None
            self.entry = entry_of(body)
        if name:
            self.name = name.string(errors='replace')

    def context(self):
        c = self.awe['context']
        return tuple(flat(v) for v in (c['ip'], c['sp'], c['fp'], self.awe['bx']))

    def frames(self):
        if self.awe is not None:
            # memory and code are the same in all threads: any that exists will do
            if self.context()[0]:
                yield from frames_from(self.context())
        else:
            selected = gdb.selected_thread()
            self.thread.switch()
            try:
                yield from frames_from(None)
            finally:
                selected.switch()

    def stopped_in(self):
        """What the program itself called last, and where."""
        call, where = None, '?'
        for frame in self.frames():
            name = frame.name() or '??'
            if not is_fins(frame):
                sal = frame.find_sal()
                where = readable(name)
                if sal.symtab:
                    where += ' (%s:%d)' % (os.path.basename(sal.symtab.filename), sal.line)
                break
            call = name
        return where + (': ' + call if call else '')


class Explicit(Awe):
    """An AWE that waits with a continuation: struct fin_cont_record in src/core/cont.h. It has no frames."""

    def __init__(self, runtime, record):
        self.runtime, self.awe, self.thread, self.name = runtime, record, runtime.thread, None
        self.state, self.id = KINDS.get(int(record['state']) & AWE_KIND, '?'), int(record['id'])
        self.entry = readable(function_at(flat(record['cont'])))

    def frames(self):
        return iter(())

    def stopped_in(self):
        sal = gdb.find_pc_line(flat(self.awe['cont']))
        return 'continuation' + (' (%s:%d)' % (os.path.basename(sal.symtab.filename), sal.line) if sal.symtab else '')


def function_at(pc):
    block, name = gdb.block_for_pc(pc), '0x%x' % pc
    while block and not block.is_global:  # past what is inlined there
        name, block = block.function.name if block.function else name, block.superblock
    return name


def entry_of(body):
    entry = flat(body['entry'])
    if entry:
        name = function_at(entry)
        if name != 'fin_block_run_':
            return readable(name)
    sal = gdb.find_pc_line(site_of(body) - 1)
    return 'async at %s:%d' % (os.path.basename(sal.symtab.filename), sal.line) if sal.symtab else 'async'


def readable(name):
    """The name of a C++ lambda or continuation without what is the same in all."""
    body = re.match(r'fin::detail::run<(.*?) *>\(void ?\*\)$', name) or \
        re.match(r'fin::detail::step<[(&]*(.*?)\)?, .*>\(void ?\*, ?int\)$', name)
    name = re.sub(r'::operator\(\)\([^()]*\) const', '', body.group(1) if body else name)
    return name.replace('fin::detail::body_scope', '')


def site_of(body):
    """fin_arch_site in src/arch/*/site.h."""
    here = not body['entry'] and not int(body['block']['flags']) & FINISH_EAGER
    if registers()[0] == 'rip' and not here:
        return flat((body.cast(gdb.lookup_type('unsigned long').pointer()) - 1).dereference())
    return flat(body['resume'])


def is_fins(frame):
    """Does the frame run Fin's own code, in the library or inlined from its headers?"""
    sal = frame.find_sal()
    if not sal.symtab:
        return (frame.name() or '').startswith('fin_')
    path = sal.symtab.fullname()
    symbol = gdb.lookup_global_symbol('fin_thread_begin_')
    source = os.path.dirname(os.path.dirname(symbol.symtab.fullname())) if symbol else ''
    return path.startswith(source + os.sep) or re.search(r'/fin(/arch)?/\w+\.h$|/fin\.hpp$', path) is not None


class Runtime:
    def __init__(self, rt):
        self.rt, self.thread = rt, None
        for thread in gdb.selected_inferior().threads():
            if int(rt['tid']) in thread.ptid[1:]:
                self.thread = thread

    def runs(self):
        """Whether the thread runs an AWE; otherwise it is on its scheduler's stack and looks for work."""
        if not self.thread:
            return False
        selected, top, size = gdb.selected_thread(), flat(self.rt['thread']['scheduler']), int(self.rt['stack_size'])
        self.thread.switch()
        UNWINDER.show(None)
        sp = flat(gdb.newest_frame().read_register(registers()[1]))
        selected.switch()
        return not top & -size <= sp < top

    def running_body(self):
        """See running_body in src/core/dispatch.h. With it: whether its name is set."""
        block = self.rt['thread']['current']
        while not block['pending']:
            if int(block['flags']) & FINISH_CLEAN:
                return self.rt['body'], True
            block = block['parent']
        pending = flat(block['pending'])
        body = gdb.Value(pending & ~PENDING_FLAGS).cast(gdb.lookup_type('struct fin_body').pointer())
        return body, bool(pending & PENDING_NAMED)

    def listed(self):
        """AWEs on the queue, on the list of the suspended (with those that other threads have woken), and under ids."""
        type = gdb.lookup_type('struct fin_awe')
        offset = next(f.bitpos // 8 for f in type.fields() if f.name == 'link')
        for list in ('queue', 'suspended'):
            head, seen = self.rt[list], set()
            link = head['next']
            while link != head.address:
                if not link or flat(link) in seen:
                    raise gdb.GdbError(BROKEN % list)
                    break
                seen.add(flat(link))
                awe = gdb.Value(flat(link) - offset).cast(type.pointer())
                if not int(awe['state']) & AWE_EXPLICIT:
                    yield awe
                link = link['next']
        for i in range(1, int(self.rt['id_count'])):
            awe = self.rt['ids'][i]['awe']
            if awe and not int(awe['state']) & AWE_EXPLICIT:
                yield awe

    def explicit(self):
        slab = self.rt['cont_slabs']
        if slab:
            record = gdb.lookup_type('struct fin_cont_record')
        while slab:
            first = (slab + 1).cast(record.pointer())
            for i in range((int(slab['size']) - slab.dereference().type.sizeof) // record.sizeof):
                word = int(first[i]['state'])
                if word >> 24 == AWE_WAITS:
                    yield first[i]
            slab = slab['next']

    def awes(self):
        """All AWEs, each once. An owner that waits at the end of its finish block is on no list: the blocks lead to it."""
        seen = set()
        if self.runs():
            yield Awe(self, None)
            yield from self.owners(self.rt['thread']['current'], seen)
        for awe in self.listed():
            if flat(awe) not in seen:
                seen.add(flat(awe))
                yield Awe(self, awe)
                yield from self.owners(awe['block'], seen)
        for record in self.explicit():
            yield Explicit(self, record)
            yield from self.owners(record['block'], seen)

    def owners(self, block, seen):
        while block and flat(block) not in seen:
            seen.add(flat(block))
            if int(block['flags']) & FINISH_WAITING:
                yield Awe(self, block['awe'].address, 'finish')
            block = block['parent']


def all_runtimes():
    """Oldest first."""
    try:
        rt = gdb.parse_and_eval('fin_runtimes')
        rt['in_use']
    except gdb.error:
        raise gdb.GdbError('No debugging information of Fin here: the library has none, or the program does not use it.')
    runtimes = []
    while rt:
        if int(rt['in_use']):
            runtimes.append(Runtime(rt))
        rt = rt['next']
    return reversed(runtimes)


def all_awes():
    number = 0
    for runtime in all_runtimes():
        for awe in runtime.awes():
            number += 1
            yield number, awe


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
    return line(number, awe.thread.num if awe.thread else '?', awe.state, awe.name or '-', awe.entry or '-',
                '0x%x' % awe.id if awe.id else '-', where)


def backtrace(awe):
    if isinstance(awe, Explicit):
        print('no stack: waits with %s, %s' % (awe.entry, awe.stopped_in()))
        print('state ' + ' '.join('%02x' % (int(awe.awe['data'][i]) & 0xff) for i in range(awe.awe['data'].type.sizeof)))
    for i, frame in enumerate(awe.frames()):
        frame.select()
        text = gdb.execute('with print frame-info location -- frame', to_string=True).strip()
        print(re.sub(r'^#\d+ +', '#%-3d' % i, text))


class Fin(gdb.Command):
    """Fin's commands. Without one of them it is gdb's "finish", which it hides the short name of."""

    def __init__(self):
        super().__init__('fin', gdb.COMMAND_USER, prefix=True)

    def invoke(self, argument, from_tty):
        gdb.execute('finish ' + argument, from_tty)


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
        if awe.awe is None:
            awe.thread.switch()
            UNWINDER.show(None)
        else:
            UNWINDER.show(awe.context())
            gdb.newest_frame().older().select()
        gdb.execute('frame', from_tty)


class FinCore(gdb.Command):
    """Makes a core file of the program, with its stacks: fin core FILE.
gdb before version 17 leaves out all memory around a guard page. This takes the guards off for the moment."""

    def __init__(self):
        super().__init__('fin core', gdb.COMMAND_DATA)

    @staticmethod
    def call(function, *arguments):
        call = '((int (*)(unsigned long, unsigned long, int))%s)(%s)' % (function, ', '.join(map(str, arguments)))
        return int(gdb.parse_and_eval(call))

    def invoke(self, argument, from_tty):
        if not argument:
            raise gdb.GdbError('fin core FILE')
        locking = gdb.parameter('scheduler-locking')
        with Quietly():
            UNWINDER.show(None)
            gdb.execute('set scheduler-locking on')  # no other thread runs during the calls
            page, unguarded = self.call('fin_host_page_size', 0, 0, 0), []
            for runtime in all_runtimes():
                slab, size = runtime.rt['slabs'], int(runtime.rt['stack_size'])
                while slab:
                    base, stacks = flat(slab['base']), int(slab['stacks'])
                    if self.call('madvise', base, stacks * size, MADV_GUARD_REMOVE) == 0:
                        unguarded += [base + i * size for i in range(stacks)]
                    slab = slab['next']
            try:
                gdb.execute('generate-core-file ' + argument, from_tty)
            finally:
                for stack in unguarded:
                    self.call('fin_host_guard', stack, page, 0)
                gdb.execute('set scheduler-locking ' + locking)


Fin()
FinAwes()
FinAwe()
FinCore()
