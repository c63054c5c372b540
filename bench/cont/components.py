#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Instructions, loads and stores of a null call by component (continuations, table 5), counted by callgrind:
components.py FIN-BENCH-CONT [ROW...]; with --check each row is only run, a few calls.

Each row of the bench is run twice, with more calls the second time; what is reported is the difference for each call.
Between processes it is the sum of both, in lock step (lock_step.c). There each wait looks in vain a number of times before
it gives the other a turn. That is not in the total: most of it is in functions of its own, and of the rest there is twice
as much where turns are given at each second occasion, so that once the difference is taken off. Of 8 callers those who
look give each other turns, one for each call; that is in the total. Where both sides sleep at each call each looks as
often as it ever does before that, and what the looks of a waitset cost its row in lock step says.

Then those with recognition beside those without, by the aim: 30% fewer instructions."""
import collections
import functools
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from callgrind import plus, processes  # noqa: E402

FEW, MANY, FEW_ASLEEP, MANY_ASLEEP = 1000, 3000, 80, 320
EVENTS = ['Instructions of a null call, by component [instructions]', 'Loads of a null call, by component [loads]',
          'Stores of a null call, by component [stores]']
HERE, FAR = 'in a thread', 'between processes'
RECOGNIZED, STACKS, AT_ONCE = 'explicit, recognized', 'with stacks, queued', 'with stacks, handed over'
# Those with recognition and a hand-off, what they are held against, and what that compares. The paper's own comparison is
# that of a kernel with both and one with neither (its table 5: 1,167 and 1,480, 21% fewer).
AIM = 0.70
AIMS = [(RECOGNIZED, 'with stacks, cancellable waits', 'waits alone'),
        (f'{HERE}, {RECOGNIZED}', f'{HERE}, {STACKS}', 'with both and with neither, as the paper'),
        (f'{HERE}, {RECOGNIZED}', f'{HERE}, {AT_ONCE}', 'the same calls'),
        (f'{HERE}, fin_rpc_call_on, accept loop', f'{HERE}, fin_rpc_call, accept loop', 'the same calls'),
        (f'{HERE}, fin_rpc_call_on, served', f'{HERE}, fin_rpc_call, served', 'the same calls'),
        (f'{FAR}, explicit', f'{FAR}, with stacks', 'the same calls, nobody sleeps'),
        (f'{FAR}, 8 callers, explicit', f'{FAR}, 8 callers, with stacks', 'the same calls'),
        (f'{FAR}, asleep, explicit', f'{FAR}, asleep, by a waitset', 'recognized, and by readiness'),
        (f'{FAR}, asleep, explicit', f'{FAR}, asleep, with stacks', 'the same calls'),
        (f'{FAR}, 8 asleep, explicit', f'{FAR}, 8 asleep, with stacks', 'the same calls')]
ASLEEP = [f'{FAR}, {who}' for who in ('asleep, with stacks', 'asleep, by a waitset', 'asleep, explicit',
                                      '8 asleep, with stacks', '8 asleep, explicit')]
# Whose looks are told apart by turns.
IN_STEP = [f'{FAR}, with stacks', f'{FAR}, explicit, by a waitset', f'{FAR}, explicit']
SET_ASLEEP, SET = ASLEEP[1], IN_STEP[1]
SET_LOOKS = 199 / 150  # of one that sleeps, for each of those before a turn: it gives none after the last 49
CHECK = sys.argv[2:] == ['--check']
ROWS = not CHECK and sys.argv[2:] or [
    'with stacks, directed switches', 'with stacks, cancellable waits', 'explicit, through the queue',
    'explicit, stack handed over', 'explicit, switched to', RECOGNIZED,
    f'{HERE}, {STACKS}', f'{HERE}, {AT_ONCE}', f'{HERE}, explicit, queued', f'{HERE}, {RECOGNIZED}',
    f'{HERE}, fin_rpc_call, accept loop', f'{HERE}, fin_rpc_call_on, accept loop',
    f'{HERE}, fin_rpc_call, served', f'{HERE}, fin_rpc_call_on, served',
    *IN_STEP, f'{FAR}, 8 callers, with stacks', f'{FAR}, 8 callers, explicit', *ASLEEP]
LOOKS = 'looks'
# Of stacks; what they call to look, where it is not inlined, is not in their own cost, and calls nothing.
LOOKING, LOOKED_WITH = ('look_awhile', 'came_message'), ('fin_ump_arrived', 'other_work')
COMPONENTS = [
    (LOOKS, r'^(fin_ump_spin|look_awhile|came_|fin_ump_give_turn|fin_now|sched_yield|give_turn_to|await_turn|'
            r'clock_gettime|syscall|lock_step_|usleep|clock_nanosleep|nanosleep|fin_ump_doze|__vdso)'),
    ('block, handoff or switch', r'^(fin_cont_|fin_block_|fin_thread_|fin_core_|fin_arch_|fin_awe_|fin_schedule|'
                                 r'fin_call_con|hand_over|fin_here|fin_yield|fin_suspend|dispatch|fin_resume|'
                                 r'block_on|begin_slowly|fin_stack|fin_find|fin_look|give_stack|work$|leave_body|fin_holds|'
                                 r'fin_cancel_item|call_with|done_slow|leave_step|fin_watch_switch)'),
    ('client and server', r'^(call_|serve|begin|answer|queued_|handed_|switching_|recogniz|waiting_|stacks|end$|here_|'
                          r'here$|reply|cancellable|hand_and)'),
    ('sleep and wake', r'^(look$|sleep_|fin_ump_arm|fin_ump_disarm|fin_ump_barrier|fin_bell_|fin_event_|fin_io_|'
                       r'fin_uring_|fin_on_|io_uring_|fin_timer|poll|reap|submit|wait_for$|__io_uring|fin_waiter|fin_how|'
                       r'syscall|epoll|again|over|completed|packet_came|ppoll|fin_message_|fin_track_written|fin_owned|'
                       r'fin_recvmsg|there$|arm$|fin_drain|enter$|may_wait|run$|woken)'),
    ('send and receive', r'^(fin_chan_|fin_lmp_|fin_ump_|fin_rpc_|fin_calls_|take|try_|next_|in_|out_|recv|send|put|'
                         r'read|peek|await|wait_|start_|memcpy|__mem|waits|turn|fin_turn|fin_mutex|fin_sem|fin_latch|'
                         r'fin_cancel|fin_waitset|give_and_end|nothing$|hear|rung|other_work|skip$|call$|ended$)'),
]


def counted(bench, row, calls, each):
    """{function: [instructions, loads, stores]}, and how often turns were given. Of what looks call, those are looks."""
    zeros = [0] * len(EVENTS)
    found, turns = collections.defaultdict(lambda: zeros), 0
    try:
        parts = processes([bench, '--lock-step', str(each), '--only', row, str(calls)], ('Ir', 'Dr', 'Dw'))
    except RuntimeError as e:
        sys.exit(f'{row}: {e}')
    for process in parts:
        for name, n in process.own.items():
            found[name] = plus(found[name], n)
        for (caller, called), (times, n) in process.calls.items():
            turns += times if called == 'sched_yield' else 0
            if caller in LOOKING and called in LOOKED_WITH:
                found[called], found[caller] = plus(found[called], n, -1), plus(found[caller], n)
    return found, turns


def component(function):
    return next((name for name, pattern in COMPONENTS if re.match(pattern, function)), 'other')


@functools.lru_cache(None)
def of_a_call(bench, row, each=1):
    """{component: [instructions, loads, stores]}, turns given"""
    each, a, b = (0, FEW_ASLEEP, MANY_ASLEEP) if row in ASLEEP else (each, FEW, MANY)
    (few, few_turns), (many, many_turns) = counted(bench, row, a, each), counted(bench, row, b, each)
    sums = collections.defaultdict(lambda: [0] * len(EVENTS))
    for function in many:
        for i, n in enumerate(many[function]):
            sums[component(function)][i] += (n - few[function][i]) / (b - a)
    return sums, (many_turns - few_turns) / (b - a)


def without(sums, part):
    return {name: plus(n, part[name], -1) if name in part else n for name, n in sums.items()}


def looks_of(bench, row, sums, turns):
    """What of a row's sums is looks in vain, outside the functions that do nothing else."""
    if row in IN_STEP:
        return without(of_a_call(bench, row, 2)[0], sums)
    if row == SET_ASLEEP:
        in_step, in_turn = of_a_call(bench, SET)
        looks = looks_of(bench, SET, in_step, in_turn)
        return {name: [x * SET_LOOKS * turns / in_turn for x in n] for name, n in looks.items()}
    return {}


def without_looks(bench, row):
    """The same, and the instructions for looks in vain."""
    sums, turns = of_a_call(bench, row)
    if not row.startswith(FAR):
        return sums, 0
    all_of_it = sum(n[0] for n in sums.values())
    sums = without(sums, looks_of(bench, row, sums, turns))  # not the one that is kept
    del sums[LOOKS]
    return collections.defaultdict(lambda: [0] * len(EVENTS), sums), all_of_it - sum(n[0] for n in sums.values())


def total(rows, row):
    return sum(n[0] for n in rows[row][0].values())


def print_aims(rows):
    print(f'\nThe aim: {round(100 - 100 * AIM)}% fewer instructions, with recognition and a hand-off [aim]\n'
          f'  {"":42}{"":>12}{"beside":>10}{"times":>8}  target')
    for row, base, what in AIMS:
        if row in rows and base in rows:
            n, of = total(rows, row), total(rows, base)
            print(f'  {row:42}{round(n):12}{round(of):10}{n / of:7.2f}x  <= {AIM:.2f}x  '
                  f'{"met   " if n <= AIM * of else "MISSED"}  {base}: {what}')


def check(bench):
    """The bench has each row, alone and in lock step."""
    for row in ROWS:
        for step in [[], ['--lock-step', '0' if row in ASLEEP else '1']]:
            done = subprocess.run([bench, *step, '--only', row, '16'], capture_output=True, text=True, timeout=60)
            if done.returncode:
                sys.exit(f'{" ".join(step)} {row}: status {done.returncode}: {done.stderr}')
    if any(row not in ROWS for aim in AIMS for row in aim[:2]):
        sys.exit('an aim is of rows that there are not')


def main():
    if CHECK:
        check(sys.argv[1])
        return
    names = [name for name, _ in COMPONENTS if name != LOOKS] + ['other']
    if not shutil.which('valgrind'):
        print('\nInstructions of a null call, by component [components]\n  skipped: valgrind is not installed')
        return
    rows = {row: without_looks(sys.argv[1], row) for row in ROWS}
    for i, event in enumerate(EVENTS):
        print(f'\n{event}\n  {"":42}' + ''.join(f'{name:>26}' for name in [*names, 'total']))
        for row, (sums, _) in rows.items():
            n = [sums[name][i] for name in names]
            print(f'  {row:42}' + ''.join(f'{round(x):26}' for x in [*n, sum(n)]))
    print_aims(rows)
    print(f'\nInstructions of a null call for looks in vain, not in its total [looks]\n  {"":42}{"looks":>26}')
    for row, (_, looks) in rows.items():
        if looks:
            print(f'  {row:42}{looks:26.0f}')


main()
