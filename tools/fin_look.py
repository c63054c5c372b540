# SPDX-License-Identifier: BSD-2-Clause
"""The AWEs of a program, found in its memory: what fin-top, fin-gdb.py and fin_lldb.py share. Where things lie says the
table fin_look_ in the program itself (src/core/look.c); debugging information is not needed for that."""
import re
import struct

# <fin/finish.h>, <fin/awe.h>
AWE_WAITS, AWE_KIND, AWE_EXPLICIT = 0xa7, 0x70, 0x80
KINDS = {0x10: 'queued', 0x20: 'suspended', 0x30: 'woken', 0x40: 'saved', 0x50: 'busy'}
RECORD_AT_END = 3  # src/core/cont.h
FINISH_CLEAN, FINISH_EAGER, FINISH_WAITING, FINISH_CONT = 4, 16, 32, 64
PENDING_NAMED, PENDING_FLAGS = 2, 7
MOST = 1000000  # AWEs looked at in a list
MOST_SLAB = 1 << 24
MOST_KEPT = 4   # continuations of ours around the program's
MOST_NAMED = 4  # coroutines of a task, in a table
ROUTINE_START = 16     # in the state of a task (<fin/coro.hpp>)
COROUTINE_CALLER = 24  # in a coroutine's frame: it begins with two pointers, the promise (<fin/coro.hpp>) with one more


class Gone(Exception):
    """What was to be read is not there, or not any more."""


class Broken(Exception):
    """A list of a runtime leads nowhere."""


def plain(text):
    """What another process calls something, without what a terminal takes for a command."""
    return ''.join(c if c.isprintable() else '?' for c in text)


def readable(name):
    """The name of a C++ lambda, continuation or coroutine without what is the same in all."""
    name = coroutine(name) if '.Frame' in name else name
    body = re.match(r'fin::detail::run<(.*?) *>\(void ?\*\)$', name) or \
        re.match(r'fin::detail::step<[(&]*(.*?)\)?, .*>\(void ?\*, ?int\)$', name)
    name = re.sub(r'::operator\(\)\([^()]*\) const', '', body.group(1) if body else name)
    return name.replace('fin::detail::body_scope', '')


def of_coroutine(symbol):
    """GCC makes of a coroutine a function that has its frame as an argument, whose type bears the name of the coroutine."""
    frame = re.search(r'E\d+(_Z\w+)\.Frame\b', symbol)
    return frame.group(1) if frame else symbol


def without_arguments(name):
    """A function's name without the list of its arguments."""
    if not name.endswith(')') or name.endswith('operator()'):
        return name
    at, depth = len(name) - 1, 1
    while depth and at > 0:  # to where it begins
        at -= 1
        depth += (name[at] == ')') - (name[at] == '(')
    return name[:at]


def coroutine(name):
    """What a coroutine is called, by the name that a debugger has for its function."""
    frame = re.search(r'\.Frame ?\*\)', name)
    if frame:
        name = name[:frame.end()]
    else:
        name = re.sub(r'\.(resume|actor)$| (\[clone .*\]|\(\.\w+\))$', '', of_coroutine(name))
    returned = r'^(::|fin::task<([^<>]|<([^<>]|<[^<>]*>)*>)*> )'  # a template's name begins with what it returns
    return re.sub(returned, '', without_arguments(name))


def chain(coroutines, name):
    """Their names, from the innermost outwards, in short."""
    if len(coroutines) <= MOST_NAMED:
        return ' < '.join(map(name, coroutines))
    return ' < '.join([*map(name, coroutines[:MOST_NAMED - 2]), '...', name(coroutines[-1])])


class Awe:
    """`context`: where it goes on, its stack and frame, the base pointer; None for the one that runs. `data`: the state of
    one without a stack, else None. `coroutines`: where those of a task go on, from the innermost outwards."""

    def __init__(self, tid, state, entry, name, ident, coroutines, context=None, data=None):
        self.tid, self.state, self.entry, self.name, self.id = tid, state, entry, name, ident
        self.coroutines, self.context, self.data = coroutines, context, data


class Look:
    """read(at, size) gives memory, or raises Gone; function(at) names one, symbol(at) does so as the linker, or is None;
    place(at) is file and line, or None. `strict`: a list that leads nowhere raises Broken; otherwise it is one that moves
    meanwhile."""

    def __init__(self, table, read, function, symbol, place, machine, strict):
        self.memory, self.function, self.symbol, self.place = read, function, symbol, place
        self.machine, self.strict, self.wrong = machine, strict, []
        self.first, self.at = self.word(table), {}
        for i in range(table + 8, table + 4096, 32):  # one by one: behind the table nothing need be mapped
            name, at = struct.unpack('<28sI', read(i, 32))
            if name[0] == 0:
                break
            self.at[name.split(b'\0')[0].decode()] = at

    def read(self, at, size):
        if not 0 <= at <= (1 << 64) - size:  # debuggers have errors of their own for such
            raise Gone(at)
        return self.memory(at, size)

    def word(self, at):
        return struct.unpack('<Q', self.read(at, 8))[0]

    def half(self, at):
        return struct.unpack('<I', self.read(at, 4))[0]

    def field(self, base, name):
        return self.word(base + self.at[name])

    def text(self, at, most=40):
        got = b''
        while at and len(got) < most and b'\0' not in got:
            try:
                got += self.read(at + len(got), min(most, 4096 - (at + len(got)) % 4096))
            except Gone:
                break
        return plain(got.split(b'\0')[0][:most].decode(errors='replace'))

    def each(self, at, what, following):
        """The parts of a list; one that goes round is broken."""
        met = set()
        while at:
            if at in met or len(met) == MOST:
                if self.strict:
                    raise Broken(what)
                return
            met.add(at)
            yield at
            at = following(at)

    def coroutine(self, at):
        """The name of one that goes on there."""
        return readable(coroutine(self.function(at) or hex(at)))

    def awaited(self, awe):
        """What a task without a stack awaits: the function that starts it is made for a function of Fin, which it bears in
        its name, or by one of fin::co."""
        start = struct.unpack_from('<Q', awe.data, ROUTINE_START)[0] if awe.coroutines else 0
        made = re.search(r'(L_Z\d+|&\(?)(?P<c>fin_[a-z0-9_]+)|(fin::co::|3fin2co\d+)(?P<co>[a-z_]+)',
                         self.symbol(start) or '') if start else None
        if not made:
            return None
        return re.sub('_on(?=$|_nc$)', '', made['c']) if made['c'] else 'fin::co::' + made['co']

    def waits_in(self, awe):
        """Where an AWE without a stack is to go on: in its innermost coroutine, or in its continuation."""
        at, awaited = (awe.coroutines or awe.context)[0], self.awaited(awe)
        place = self.place(at)
        return (self.coroutine(at) if awe.coroutines else 'continuation') + (' (%s)' % place if place else '') + \
            (': ' + awaited if awaited else '')

    def without_stack(self, awe):
        """What an AWE is beside its frames, in lines: the coroutines of a task, or a continuation and its state."""
        if awe.coroutines:
            yield ('' if awe.data is None else 'no stack: ') + 'coroutines, each awaited by the next'
        elif awe.data is not None:
            yield 'no stack: waits with %s, %s' % (awe.entry, self.waits_in(awe))
            yield 'state ' + awe.data.hex(' ')
        for i, at in enumerate(awe.coroutines):
            place = self.place(at)
            yield '#%-3d %s' % (i, self.coroutine(at)) + (' at ' + place if place else '')

    def runtimes(self):
        """Oldest first."""
        every = self.each(self.word(self.first), 'runtimes', lambda rt: self.field(rt, 'rt.next'))
        return [rt for rt in every if self.half(rt + self.at['rt.in_use'])][::-1]

    def awes(self, rt, sp=None):
        """Those of a thread, each once. sp: its stack pointer, where one knows it: then the one that runs, too."""
        return list(Runtime(self, rt).awes(sp))

    def all(self, sp_of):
        """Those of all threads that can be read. A thread may have been stopped while it changes its lists: `wrong` has the
        others' ids, each with what of it leads nowhere. sp_of(tid): its stack pointer."""
        self.wrong = []
        for rt in self.runtimes():
            tid = self.half(rt + self.at['rt.tid'])
            try:
                yield from Runtime(self, rt).awes(sp_of(tid))
            except Broken as e:
                self.wrong.append((tid, str(e)))
            except Gone as e:
                self.wrong.append((tid, hex(e.args[0])))


class Runtime:
    """One look at a thread."""

    def __init__(self, look, rt):
        self.look, self.rt, self.seen = look, rt, set()
        self.tid = look.half(rt + look.at['rt.tid'])

    def awes(self, sp):
        for found in (lambda: self.running(sp), lambda: self.listed('rt.queue'), lambda: self.listed('rt.suspended'),
                      self.identified, self.explicit):
            try:
                yield from found()
            except Gone:
                if self.look.strict:
                    raise

    def program_cont(self, cont, data):
        """What the program waits with, where the library waits in its stead (src/core/kept.h); and its state."""
        look = self.look
        first, end = struct.unpack('<QQ', look.read(self.rt + look.at['rt.inner'], 16))
        for _ in range(MOST_KEPT):
            if not first <= cont < end:
                break
            kept = struct.unpack_from('<Q', data)[0]
            cont, data = look.field(kept, 'kept.cont'), look.read(kept + look.at['kept.state'], len(data))
        return cont, data

    def coroutines(self, data):
        """Where the innermost goes on, the one that awaits it, and so on: a frame begins with that. As far as they can be
        read."""
        found, look = [], self.look
        innermost = struct.unpack_from('<Q', data)[0]
        try:
            for frame in look.each(innermost, 'coroutines', lambda f: look.word(f + COROUTINE_CALLER)):
                found.append(look.word(frame))
        except (Broken, Gone):
            pass
        return found

    def cont_entry(self, cont, data):
        """What an explicit AWE is called, and its coroutines."""
        if not cont:
            return 'fin_cont_set is to say', []
        name = self.look.function(cont) or hex(cont)
        found = self.coroutines(data) if 'continue_routine' in name else []
        return chain(found, self.look.coroutine) or readable(name), found

    def explicit_at(self, at):
        """The continuation of a record, and its state."""
        look = self.look
        data = look.read(at + look.at['record.data'], look.at['record.size'] - look.at['record.data'])
        return self.program_cont(look.field(at, 'awe.context.ip'), data)

    def entry(self, body):
        """What an AWE with a stack is called, and its coroutines."""
        look = self.look
        if body and look.half(look.field(body, 'body.block') + look.at['block.flags']) & FINISH_CONT:
            return self.cont_entry(*self.explicit_at(look.field(body, 'body.resume')))
        return self.body_name(body) if body else None, []

    def body_name(self, body):
        look = self.look
        entry = look.field(body, 'body.entry')
        name = look.function(entry) if entry else None
        if name and name != 'fin_block_run_':
            return readable(name)
        site = self.site(body, entry) - 1
        if site < 0:  # another thread was stopped between two of the stores that make a body
            return None
        place = look.place(site)
        return 'async at ' + place if place else 'async in ' + readable(look.function(site))

    def site(self, body, entry):
        """fin_arch_site in src/arch/*/site.h."""
        look = self.look
        return look.field(body, 'body.resume') if not entry or look.machine == 'aarch64' else look.word(body - 8)

    def described(self, state, body, named, ident, context):
        look = self.look
        name = look.field(body, 'body.name') if body and named else 0 if body else look.field(self.rt, 'rt.name')
        entry, coroutines = self.entry(body)
        return Awe(self.tid, state, entry, look.text(name), ident, coroutines, context)

    def awe(self, at, state=None):
        """It, and the owners of the blocks around it that wait at their ends: these are on no list, blocks lead to them."""
        look, where = self.look, self.look.at
        if at in self.seen:
            return
        self.seen.add(at)
        raw = look.read(at, where['awe.size'])

        def word(name):
            return struct.unpack_from('<Q', raw, where['awe.' + name])[0]
        bits, ident = (struct.unpack_from('<I', raw, where[name])[0] for name in ('awe.state', 'awe.id'))
        kind = KINDS.get(bits & AWE_KIND) if bits >> 24 == AWE_WAITS else None
        if not kind and not self.look.strict:
            return
        state = state or kind or f'0x{bits:x}?'
        if bits & AWE_EXPLICIT:
            cont, data = self.explicit_at(at)
            if state == 'busy' and look.half(at + where['record.cancellable']) == RECORD_AT_END:
                state = 'finish'
            entry, coroutines = self.cont_entry(cont, data)
            yield Awe(self.tid, state, entry, '', ident, coroutines, (cont, 0, 0, 0), data)
        else:
            context = tuple(word(name) for name in ('context.ip', 'context.sp', 'context.fp', 'bx'))
            yield self.described(state, word('body'), True, ident, context)
        yield from self.owners(word('block'))

    def owners(self, block):
        look = self.look
        while block and block not in self.seen:
            self.seen.add(block)
            if look.half(block + look.at['block.flags']) & FINISH_WAITING:
                yield from self.awe(block + look.at['block.awe'], 'finish')
            block = look.field(block, 'block.parent')

    def links(self, name):
        """Of a list, before anything else of them is looked at. One that is not behind who led to it has moved to another
        list, at whose head those end that moved together: the way goes on from before them."""
        look = self.look
        def read(at):
            return struct.unpack('<QQ', look.read(at, 16))
        path, on_path, links = [self.rt + look.at[name]], set(), {}
        heads = {self.rt + look.at[n] for n in ('rt.queue', 'rt.suspended')} - {path[0]}
        for _ in range(2 * MOST):
            link, before = read(path[-1])
            moved = len(path) - 1 if len(path) > 1 and before != path[-2] else 0
            if not moved and link in heads:
                moved = next((k for k in range(len(path) - 1, 0, -1) if read(path[k])[1] != path[k - 1]), 0)
            if moved and not look.strict:
                on_path.difference_update(path[moved:])
                del path[moved:]
                continue
            if link == path[0] or len(links) == MOST:
                break
            if not link or link in on_path or link in heads:
                if look.strict:
                    raise Broken(name[3:])
                break
            path.append(link)
            on_path.add(link)
            links[link] = True
        return links

    def listed(self, name):
        look = self.look
        for link in self.links(name):
            at = link - look.at['awe.link']
            try:
                if not look.half(at + look.at['awe.state']) & AWE_EXPLICIT:
                    yield from self.awe(at)
            except Gone:  # this one: it runs by now
                if look.strict:
                    raise

    def identified(self):
        look = self.look
        slots = look.field(self.rt, 'rt.ids')
        for i in range(1, min(look.half(self.rt + look.at['rt.id_count']), MOST)):
            at = look.word(slots + i * look.at['slot.size'] + look.at['slot.awe'])
            if at and not look.half(at + look.at['awe.state']) & AWE_EXPLICIT:
                yield from self.awe(at)

    def explicit(self):
        look, size = self.look, self.look.at['record.size']
        for slab in look.each(look.field(self.rt, 'rt.cont_slabs'), 'cont_slabs', look.word):
            raw = look.read(slab, min(look.word(slab + 8), MOST_SLAB))
            for at in range(size, len(raw) - size + 1, size):
                if struct.unpack_from('<I', raw, at + look.at['awe.state'])[0] >> 24 == AWE_WAITS:
                    yield from self.awe(slab + at)

    def running(self, sp):
        """The scheduler's stack is nobody's: a thread there looks for work."""
        look = self.look
        current = look.field(self.rt, 'rt.current')
        if sp is not None:
            top, size = look.field(self.rt, 'rt.scheduler'), look.field(self.rt, 'rt.stack_size')
            if not top & -size <= sp < top:
                yield self.described('running', *self.running_body(current), 0, None)
        yield from self.owners(current)

    def running_body(self, block):
        """See running_body in src/core/dispatch.h. With it: whether its name is set."""
        look = self.look
        def outer(at):
            eager = look.half(at + look.at['block.flags']) & FINISH_EAGER
            return look.field(at, 'block.away' if eager else 'block.parent')
        for at in look.each(block, 'blocks', outer):
            pending = look.field(at, 'block.pending')
            if pending:
                return pending & ~PENDING_FLAGS, bool(pending & PENDING_NAMED)
            if look.half(at + look.at['block.flags']) & FINISH_CLEAN:
                break
        return look.field(self.rt, 'rt.body'), True
