# SPDX-License-Identifier: BSD-2-Clause
"""The tables and figures with measurements of the four papers: what was published, and which rows of which benchmark
measure the like, Fin's and those beside it. One without rows says why it is not measured. At the end, the other tables and
figures, and what stands for them."""
from plots import Bars, Columns, Lines, Said, Stacked

AC, EXT, HTM, MACH = ('AC (Harris and others, 2011)', 'AC extensions', 'HTM and message passing',
                      'Continuations (Draves and others, 1991)')


class Item:
    """`ours` and `rivals`: (step of report.py, words of a table's title, words that begin its rows' names...). `plots`: of
    tables that bench.c does not print; those it prints are plotted anyway."""

    def __init__(self, paper, name, what, published, ours=(), rivals=(), remark='', plots=()):
        self.paper, self.name, self.what, self.published = paper, name, what, published
        self.ours, self.rivals, self.remark, self.plots = ours, rivals, remark, plots

    def steps(self):
        return list(dict.fromkeys(rows[0] for rows in (*self.ours, *self.rivals)))


MICRO = 'Microbenchmarks'
ALERTS = ('alerts (signal)', 'steps of 1,000')
SIX = [Bars(2 * i + 1, f'% of the blocks of {program}') for i, program in enumerate((
    'the quote server', 'the file tree', 'an RPC service in a thread', 'the clients of one in a process',
    'the servers of one in a process', 'examples/store.c'))]
POLLING = ('polling every 1,000,000', 'polling every 100,000', 'polling every 10,000 ', 'polling every 1,000 ',
           'polling every 100 ', 'polling every 50 ', 'polling every 25 ')
# Of Mach's table 5 what was published, by the components that bench/cont/components.py tells apart: those of a request and
# of its reply together, the entry into the kernel and the way out of it as "other".
COMPONENTS = 'client and server', 'block, handoff or switch', 'send and receive', 'other'
TABLE_5 = {'Instructions': {'MK40': (41, 166, 598, 362), 'MK32': (41, 500, 593, 346)},
           'Loads': {'MK40': (7, 44, 208, 56), 'MK32': (7, 104, 192, 38)},
           'Stores': {'MK40': (10, 36, 114, 52), 'MK32': (10, 54, 100, 42)}}

ITEMS = [
    Item(AC, 'Section 5.1, microbenchmarks', 'a call, an async that does not block, an async that yields: cycles',
         'lazy in the compiler 8, 10, 245; lazy by macros 8, 44, 269; eager 8, 120, 247',
         [('micro', MICRO, 'Fin, lazy', 'Fin, eager'),
          ('create', 'finish + async', 'fin_async_call', 'fin_async, lambda')],
         [('micro', MICRO, 'published: lazy', 'published: eager'),
          ('create', 'finish + async', 'C++20 coroutine', 'Boost fcontext'),
          ('million', 'Spawn and join', 'Fin', 'Boost.Fiber', 'Go', 'Tokio')],
         plots=[Bars(0, 'cycles, a call', title=MICRO), Bars(1, 'cycles, an async', title=MICRO),
                Bars(2, 'cycles, an async that yields', title=MICRO), Bars(0, 'cycles', 1, 'Spawn and join')]),
    Item(AC, 'Section 5.1, ping-pong', 'round trip of a message between two cores: cycles',
         'callbacks 1,121; AC on one side 1,198, on both 1,274, without YieldTo 1,437; MPI 2,780',
         [('chan', 'round trip of one line', 'fin_chan between threads', 'fin_chan as between processes')],
         [('chan', 'round trip of one line', 'bare:', 'rte_ring', 'ZeroMQ, a pair', 'pipe', 'Unix socket'),
          ('chan', 'the same by MPI', 'Open MPI', 'MPICH')]),
    Item(AC, 'Figure 10', 'a capability operation: one after the other, by events, async, in batches',
         'Async and Batch scale as events written by hand do, Seq does not; the same where processes are preempted',
         [('commit', 'two-phase commit', 'spread over the processors', 'on one processor')], (),
         'Two-phase commit between processes instead of capabilities between cores, which only Barrelfish has. The rivals, '
         'Seq and Event, stand in each line; figures say most where there are as many processors as processes.',
         plots=[Columns('other processes', 'us an operation', ('Seq', 'Event', 'Async', 'Batch'))]),
    Item(AC, 'Figure 11', 'random reads of 4 and 64 KiB with 1 to 1024 in flight: throughput and CPU',
         'AC and callbacks alike; CPU of AC +5.4 to +11.8% (4 KiB), -3.7 to +9.8% (64 KiB); one at a time much slower',
         [('reads', 'Random reads', 'Fin')], [('reads', 'Random reads', 'io_uring callbacks', 'pread', 'fio')],
         'Files in the page cache, and on a virtual disk, instead of two SSDs; Linux instead of Windows. Fin with '
         'stacks of 16 KiB (fin_set_stack_size).',
         plots=[Lines('in flight', 0, 'reads a second'), Lines('in flight', 3, 'us of CPU a read')]),
    Item(AC, 'Figure 12', 'stock-quote server: clients served, and CPU time',
         '18,000 clients with AC and with callbacks, C# 8,000, F# 10,000, threads 4,500; CPU of AC and callbacks alike, '
         'that of C# and F# five times as much',
         [('quotes', 'clients, a quote a second each', 'Fin', 'Fin without stacks'), ('quotes', 'targets: ', 'clients:'),
          ('crowd', 'clients, a quote in', 'Fin without stacks'), ('crowd', 'targets: ', 'clients:')],
         [('quotes', 'clients, a quote a second each', 'io_uring callbacks', 'epoll callbacks', 'libuv', 'thread per client',
           'Go', 'Tokio', 'Node', 'asyncio'), ('crowd', 'clients, a quote in', 'io_uring callbacks')],
         'Rivals of today instead of .NET; Linux instead of Windows.',
         plots=[Bars(0, 'clients served a second'), Bars(2, 'ms of CPU time a second')]),
    Item(EXT, 'Figure 4', 'the dispatch loop: quick transactions go on while slow ones wait',
         'hundreds of messages of the quick type arrive before the first of the slow type',
         [('relay', 'dispatch loop', 'quick transactions', 'quick ones were answered')], (),
         'No rival: the figure says that others do not wait, not how fast it is. The third process takes 10 ms to answer.',
         plots=[Said('transactions', {'quick ones answered before the first slow one': r'(\d+) quick ones were answered',
                                      'under way at a time, at most': r'up to (\d+) were'})]),
    Item(EXT, 'Table 1', 'context switch, average: cycles', 'lazy 95, no dispatch 80; eager 83, no dispatch 71',
         [('extensions', 'table 1', 'lazy', 'eager')],
         [('switch', 'Switch between two', 'minimal switch', 'Boost fcontext')]),
    Item(EXT, 'Table 2', 'context switch, bounds: cycles',
         'lazy 90 to 1,712, no dispatch 79 to 2,814; eager 74 to 404, no dispatch 54 to 316',
         [('extensions', 'table 2', 'lazy', 'eager')], (),
         'No rival: one switch is shorter than the timer is exact. The greatest value is an interrupt of the machine.',
         plots=[Bars(0, 'cycles, least', 4), Bars(1, 'cycles, most', 5)]),
    Item(EXT, 'Table 3', 'creation of an AWE, minimum, maximum, median, average: cycles',
         'lazy 4, 96, 8, 7; eager 20, 1,920, 26, 24', [('extensions', 'table 3', 'lazy', 'eager')], (),
         'Rivals stand at table 5, where the whole life of a task can be compared.',
         plots=[Bars(2, 'cycles, median', 6), Bars(3, 'cycles, average', 7)]),
    Item(EXT, 'Table 4', 'message throughput: messages in 10,000 cycles', 'lazy 15, eager 17, synchronous 20: 667, 588 and '
         '500 cycles a message', [('chan', 'fin_rpc_call to another', 'one after the other', 'from 16 AWEs')],
         [('chan', 'fin_rpc_call to another', 'bare:')]),
    Item(EXT, 'Table 5', 'creation and tear-down of an AWE: cycles',
         'empty 6; empty in async 26 lazy, 74 eager; blocking by THCYield 335, 330; by THCYieldTo 326, 260',
         [('extensions', 'table 5', 'lazy', 'eager')],
         [('create', 'finish + async', 'C++20 coroutine', 'Boost fcontext'), ('million', 'Spawn and join', 'Boost.Fiber',
                                                                              'Go', 'Tokio')],
         plots=[Bars(0, 'cycles', 1, 'Spawn and join')]),
    Item(HTM, 'Section 3.1', 'a transaction: begin and commit, begin and abort, how long one can last: cycles',
         '48, 155 and 10,752,920', [('chan', 'transactions (htm 3.1)', 'commit', 'abort', 'until')], (),
         'Measured where a transaction commits.'),
    Item(HTM, 'Figures 3.1, 3.2', 'modifying cache lines in and out of transactions',
         'linear in a transaction that commits; nearly constant outside and in one that aborts, up to 49 lines',
         [('chan', 'lines modified (htm 3.1.3)', 'lines')], (), 'Measured where a transaction commits. Drained: figure 3.2.',
         plots=[Columns('lines', 'cycles', ('plain', 'commit', 'abort', 'plain, drained', 'abort, drained'))]),
    Item(HTM, 'Figure 3.3', 'NAS benchmarks and a compilation beside a hyperthread that is off, idle, used, or spins: '
         'run time', 'idle +4.3%, used -9.5%, beside a loop of nops +22%', (), (),
         'a virtual machine does not say which of its processors share a core; nothing of Fin runs in it'),
    Item(HTM, 'Figure 6.1', 'where the latency of an alert goes', '1,611 cycles, 1,137 with a tight loop that polls: '
         'sending 20%, the alert itself 13%, the look at all channels 22%, the rest in the messaging library and the switch',
         [('chan', 'on 1 channel', 'alerts (signal)')], [('chan', 'round trip of one line', 'fin_chan between threads')],
         'The third number of the first row is the latency; a round trip is two messages, for which both sides poll. The '
         'parts are not measured: the paper has them from a simulated processor (gem5) with alert-on-update; here an '
         'alert is a signal of the kernel.', plots=[Bars(2, 'cycles', 4)]),
    Item(HTM, 'Table 6.2', 'a computation that receives messages, polled every so many additions or alerted: slowdown and '
         'median latency in cycles', 'alerts +1.06%, 1,611; polling every 25 +3.64%, 6,637; every 100 +1.82%, 21,094',
         [('chan', 'on 1 channel', *ALERTS), ('chan', 'by 1 channel', *ALERTS),
          ('chan', 'as a fin_monitored_step', '1,000 additions', '3,000 additions', '10,000 additions')],
         [('chan', 'on 1 channel', 'polling never', *POLLING)],
         'Alerts are signals here. Latency contains what the machine takes to interrupt another processor. Steps are '
         'transactions where there are some.',
         plots=[Bars(1, '% slower', 3), Bars(2, 'cycles of latency, median', 4)]),
    Item(HTM, 'Figure 6.2', 'the same with 10 and 100 channels: slowdown', 'polling every 25: +7.89% and +50.34%; alerts '
         '+1.09% and +1.15%', [('chan', 'on 10 channels', *ALERTS), ('chan', 'on 100 channels', *ALERTS),
                        ('chan', 'by 10 channels', *ALERTS), ('chan', 'by 100 channels', *ALERTS)],
         [('chan', 'on 10 channels', *POLLING), ('chan', 'on 100 channels', *POLLING)],
         plots=[Bars(1, '% slower')]),
    Item(MACH, 'Table 1', 'blocks with a continuation, by reason', '98.4%, 99.9% and 100.0% of all (compilation, kernel '
         'build, DOS emulation)', [('cont', 'by reason', 'compression total', 'aim: 99% with compression', 'no compression',
                                    'blocks')], (),
         'No rival: programs of ours instead of an operating system\'s load.', plots=SIX),
    Item(MACH, 'Table 2', 'continuations recognized, stacks handed off', '60.2 to 85.9% and 96.8 to 100.0%',
         [('cont', 'by reason', 'recognition', 'aim: 60% with recognition', 'stack handoff', 'stacks in use')], (),
         'No rival: nothing else here hands stacks off.', plots=SIX),
    Item(MACH, 'Table 3', 'bytes of an idle thread', 'MK40 656 to 792, on average 690; MK32 788 to 4,884, on average 4,474',
         [('cont', 'Idle work', 'explicit AWEs')],
         [('cont', 'Idle work', 'AWEs with stacks', 'C++20 coroutines', 'Tokio tasks', 'Boost.Asio coroutines', 'goroutines',
           'Boost.Fiber')],
         'With the object that each waits in. The aim is 95% less than what the same wait takes with a stack.',
         plots=[Bars(0, 'bytes')]),
    Item(MACH, 'Table 4', 'null RPC, exception: microseconds', 'null RPC: MK40 95, MK32 110, Mach 2.5 185; exception: 135, '
         '425, 380 (DS3100)', [('cont', 'Null RPC', 'explicit'),
          ('cont', 'A null call', 'explicit', 'by a waitset', 'fin_rpc_call_on,'),
          ('cont', 'Waits of the callers', 'explicit', 'by a waitset')],
         [('cont', 'Null RPC', 'with stacks', 'a function call'), ('cont', 'A null call', 'with stacks', 'fin_rpc_call,'),
          ('cont', 'Waits of the callers', 'with stacks')],
         'In cycles; times: what makes the same calls with stacks. Exceptions are an operating system\'s.'),
    Item(MACH, 'Table 5', 'instructions, loads, stores of an RPC by component', '1,167 instructions, 315 loads and 212 '
         'stores in MK40, 1,480, 341 and 206 in MK32; instructions of the hand-off 166, of the switch 500',
         [('components', 'with recognition and a hand-off', 'explicit', 'fin_rpc_call_on,')] +
         [('components', f'{event} of a null call', 'explicit', 'by a waitset', 'fin_rpc_call_on,') for event in TABLE_5],
         [('components', f'{event} of a null call', 'with stacks', 'fin_rpc_call,') for event in TABLE_5],
         'Counted by callgrind. The aim is 30% fewer than what each row names, with neither recognition nor a hand-off or '
         'the same calls with stacks; the paper has 21% fewer. The path through a kernel does not exist here: it is "other" '
         'of what was published.',
         plots=[Stacked(f'{event} of a null call, by', {f'published: {kernel}': dict(zip(COMPONENTS, counts))
                                                        for kernel, counts in kernels.items()})
                for event, kernels in TABLE_5.items()]),
]

# (paper, tables and figures that show no measurement, what they show, where it is here)
SHOWN_OTHERWISE = [
    (AC, 'Figures 1, 2, 3, 4', 'name lookups: by callbacks, concurrently, the first answer, with a timeout',
     'examples/lookup.c over TCP, examples/names.c over channels, docs/tutorial.md; by callbacks: examples/callback.c'),
    (AC, 'Figure 5', 'the operational semantics', 'models/ac/semantics.cpp, a program with which Fin is compared'),
    (AC, 'Figure 6', 'data structures of the runtime while an async blocks', 'ARCHITECTURE.md; src/core/runtime.h'),
    (AC, 'Figure 7', 'the low-level interface', 'include/fin/awe.h, include/fin/cancel.h; by its names include/fin/thc.h'),
    (AC, 'Figures 8, 9', 'a library with callbacks, wrapped', 'examples/callback.c, docs/callbacks.md'),
    (EXT, 'Figures 1, 2', 'a first program; how its finish blocks nest', 'tests/thc/figure_1.c; tests/thc/finish.c'),
    (EXT, 'Figure 3', 'stacks of lazy and of eager asyncs', 'ARCHITECTURE.md; src/core/stack.c'),
    (HTM, 'Figures 2.1, 2.2', 'how Barrelfish is built: dispatchers and threads', 'nothing: the system under it is Linux'),
    (HTM, 'Tables 4.1, 5.1', 'the instructions of alert-on-update', 'src/chan/alert.c does with a signal what they are for'),
    (HTM, 'Figures 4.1, 5.2', 'what an alert\'s handler finds in registers and memory',
     'src/chan/alert.c: the kernel saves registers in the signal\'s frame'),
    (HTM, 'Figure 5.1', 'the protocol of the simulated caches', 'nothing: caches are the processor\'s'),
    (HTM, 'Figure 5.3', 'two states of the model of alerts', 'models/alert.pml, which SPIN checks'),
    (HTM, 'Table 6.1', 'what is simulated', 'the machine on top of this page'),
    (MACH, 'Figures 1, 2', 'a transfer of control, and a procedure that blocks, with and without a continuation',
     'docs/cont.md; tests/cont/implicit.c blocks in both ways'),
    (MACH, 'Figure 3', 'half of the fast path of RPC: recognition', 'src/chan/recv_on.c; tests/chan/on_recognized.c'),
    (MACH, 'Figures 4, 5', 'the interface for continuations, and thread_handoff and thread_block on it',
     'include/fin/cont.h; src/core/cont.c, handoff.c and attach.c; tests/cont/parts.c'),
]
