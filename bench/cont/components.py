#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Instructions, loads and stores of a null call by component (continuations, table 5), counted by callgrind:
components.py FIN-BENCH-CONT [ROW...]

Each row of the bench is run twice, with more calls the second time; what is reported is the difference for each call.
Between processes it is the sum of both, in lock step (lock_step.c). There each wait looks in vain a number of times before
it gives the other a turn. That is not in the total: some of it is in functions of its own, and of the rest there is twice
as much where turns are given at each second occasion, so that once the difference is taken off."""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FEW, MANY = 1000, 3000
EVENTS = ['Instructions of a null call, by component; aim: recognized at most 0.70 of with stacks [instructions]',
          'Loads of a null call, by component [loads]', 'Stores of a null call, by component [stores]']
FAR = 'between processes'
ROWS = sys.argv[2:] or [
    'with stacks, directed switches', 'with stacks, cancellable waits', 'explicit, through the queue',
    'explicit, stack handed over', 'explicit, switched to', 'explicit, recognized', 'in a thread, with stacks',
    'in a thread, explicit, queued', 'in a thread, explicit, recognized', 'in a thread, fin_rpc_call',
    'in a thread, fin_rpc_call_on', 'in a thread, fin_rpc_call_on, served', f'{FAR}, with stacks',
    f'{FAR}, explicit, by a waitset', f'{FAR}, explicit']
LOOKS = 'looks'
COMPONENTS = [
    (LOOKS, r'^(fin_ump_spin|sched_yield|give_turn_to|await_turn|clock_gettime|syscall)'),
    ('block, handoff or switch', r'^(fin_cont_|fin_block_|fin_thread_|fin_core_|fin_arch_|fin_awe_|fin_schedule|'
                                 r'fin_call_con|hand_over|fin_here|fin_yield|fin_suspend|dispatch|fin_resume|'
                                 r'block_on|begin_slowly|fin_stack|fin_find|fin_look|give_stack|work$|leave_body|fin_holds|'
                                 r'fin_cancel_item|call_with|done_slow)'),
    ('client and server', r'^(call_|serve|begin|answer|queued_|handed_|switching_|recogniz|waiting_|stacks|end$|here_|'
                          r'here$|reply|cancellable|hand_and)'),
    ('sleep and wake', r'^(look$|sleep_|fin_ump_arm|fin_ump_disarm|fin_ump_barrier|fin_bell_|fin_event_|fin_io_|'
                       r'fin_uring_|fin_on_|io_uring_|fin_timer|poll|reap|submit|wait_for$|__io_uring|fin_waiter|fin_how|'
                       r'syscall|epoll|again|over|completed|packet_came|ppoll|fin_message_|fin_track_written|fin_owned|'
                       r'fin_recvmsg|there$|fin_drain|enter$|may_wait|run$|woken)'),
    ('send and receive', r'^(fin_chan_|fin_lmp_|fin_ump_|fin_rpc_|fin_calls_|take|try_|next_|in_|out_|recv|send|put|'
                         r'read|peek|await|wait_|start_|memcpy|__mem|waits|turn|fin_turn|fin_mutex|fin_sem|fin_latch|'
                         r'fin_cancel|fin_waitset|give_and_end|nothing$|hear|rung|look_awhile|other_work|came_|skip$)'),
]
COUNTS = r'^ *' + r'([\d,]+|\.) +(?:\( *[\d.]+%\) +)?' * len(EVENTS)


def number(count):
    return 0 if count == '.' else int(count.replace(',', ''))


def counted(bench, row, calls, each):
    """{function: [instructions, loads, stores]}"""
    found, totals = collections.defaultdict(lambda: [0] * len(EVENTS)), [0] * len(EVENTS)
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(['valgrind', '--tool=callgrind', '--cache-sim=yes', f'--callgrind-out-file={out}/%p', bench,
                        '--lock-step', str(each), '--only', row, str(calls)],
                       check=True, capture_output=True, timeout=300)
        for file in pathlib.Path(out).iterdir():
            text = subprocess.run(['callgrind_annotate', '--threshold=100', '--auto=no', '--show=Ir,Dr,Dw', file],
                                  check=True, capture_output=True, text=True).stdout
            for *counts, name in re.findall(COUNTS + r'[^:\s]*:([^\s\'\[]+)', text, re.M):
                found[name] = [n + number(count) for n, count in zip(found[name], counts)]
            counts = re.search(COUNTS + 'PROGRAM TOTALS', text, re.M).groups()
            totals = [n + number(count) for n, count in zip(totals, counts)]
    if any(abs(sum(n) - total) > total / 1000 for n, total in zip(zip(*found.values()), totals)): # it omits some of one
        sys.exit(f'{row}: the functions have not all that callgrind counted')
    return found


def component(function):
    return next((name for name, pattern in COMPONENTS if re.match(pattern, function)), 'other')


def of_a_call(bench, row, each=1):
    """{component: [instructions, loads, stores]}"""
    few, many = counted(bench, row, FEW, each), counted(bench, row, MANY, each)
    sums = collections.defaultdict(lambda: [0] * len(EVENTS))
    for function in many:
        for i, n in enumerate(many[function]):
            sums[component(function)][i] += (n - few[function][i]) / (MANY - FEW)
    return sums


def without_looks(bench, row):
    """The same, and the instructions for looks in vain."""
    sums, looks = of_a_call(bench, row), 0
    if row.startswith(FAR):
        looks = sum(n[0] for n in sums.values())
        twice = of_a_call(bench, row, 2)
        del sums[LOOKS]
        for name, n in sums.items():
            sums[name] = [2 * once - more for once, more in zip(n, twice[name])]
        looks -= sum(n[0] for n in sums.values())
    return sums, looks


def main():
    names = [name for name, _ in COMPONENTS if name != LOOKS] + ['other']
    if not shutil.which('callgrind_annotate'):
        print('\nInstructions of a null call, by component [components]\n  skipped: valgrind is not installed')
        return
    rows = {row: without_looks(sys.argv[1], row) for row in ROWS}
    for i, event in enumerate(EVENTS):
        print(f'\n{event}\n  {"":42}' + ''.join(f'{name:>26}' for name in [*names, 'total']))
        for row, (sums, _) in rows.items():
            n = [sums[name][i] for name in names]
            print(f'  {row:42}' + ''.join(f'{round(x):26}' for x in [*n, sum(n)]))
    print(f'\nInstructions of a null call for looks in vain, not in its total [looks]\n  {"":42}{"looks":>26}')
    for row, (_, looks) in rows.items():
        if looks:
            print(f'  {row:42}{looks:26.0f}')


main()
