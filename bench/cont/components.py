#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Instructions of a null call by component (continuations, table 5), counted by callgrind: components.py FIN-BENCH-CONT

Each row of the bench is run twice, with more calls the second time; what is reported is the difference for each call.
Between processes it is the sum of both, in lock step: on one processor, which who looks in vain gives away before it would
sleep, to the other. What it looks for in vain is shown by itself, not in the total."""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FEW, MANY = 1000, 3000
ROWS = sys.argv[2:] or [
    'with stacks, directed switches', 'with stacks, cancellable waits', 'explicit, through the queue',
    'explicit, stack handed over', 'explicit, switched to', 'explicit, recognized', 'in a thread, with stacks',
    'in a thread, explicit, queued', 'in a thread, explicit, recognized', 'in a thread, fin_rpc_call',
    'in a thread, fin_rpc_call_on', 'in a thread, fin_rpc_call_on, served', 'between processes, with stacks',
    'between processes, explicit']  # a waitset's looks are in functions that also find what has come
LOOKS = 'looks'
COMPONENTS = [
    (LOOKS, r'^(look_awhile|came_|other_work|fin_ump_spin|fin_ump_arrived)'),
    ('block, handoff or switch', r'^(fin_cont_|fin_block_|fin_thread_|fin_core_|fin_arch_|fin_awe_|fin_schedule|'
                                 r'fin_call_con|hand_over|fin_here|fin_yield|fin_suspend|dispatch|fin_resume|'
                                 r'block_on|fin_stack|fin_find|fin_look|give_stack|work$|leave_body|fin_holds|'
                                 r'fin_cancel_item|call_with|done_slow)'),
    ('client and server', r'^(call_|serve|begin|answer|queued_|handed_|switching_|recogniz|waiting_|stacks|end$|here_|'
                          r'here$|reply|cancellable|hand_and)'),
    ('sleep and wake', r'^(look$|sleep_|fin_ump_arm|fin_ump_disarm|fin_ump_barrier|fin_bell_|fin_event_|fin_io_|'
                       r'fin_uring_|fin_on_|io_uring_|fin_timer|poll|reap|submit|wait_for$|__io_uring|fin_waiter|fin_how|'
                       r'syscall|epoll|again|over|completed|packet_came|ppoll|fin_message_|fin_track_written|fin_owned|'
                       r'fin_recvmsg|there$|fin_drain|enter$|may_wait|run$|woken)'),
    ('send and receive', r'^(fin_chan_|fin_lmp_|fin_ump_|fin_rpc_|fin_calls_|take|try_|next_|in_|out_|recv|send|put|'
                         r'read|peek|await|wait_|start_|memcpy|__mem|waits|turn|fin_turn|fin_mutex|fin_sem|fin_latch|'
                         r'fin_cancel|fin_waitset|give_and_end|nothing$|hear|rung)'),
]


def lock_step():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def counted(bench, row, calls):
    """{function: instructions}"""
    found = collections.Counter()
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(['valgrind', '--tool=callgrind', f'--callgrind-out-file={out}/%p', bench, '--only', row,
                        str(calls)], check=True, capture_output=True, preexec_fn=lock_step, timeout=300)
        for file in pathlib.Path(out).iterdir():
            text = subprocess.run(['callgrind_annotate', '--threshold=100', '--auto=no', file], check=True,
                                  capture_output=True, text=True).stdout
            for count, name in re.findall(r'^\s*([\d,]+) (?:\([^)]*\) )?\s*[^:\s]*:([^\s\'\[]+)', text, re.M):
                found[name] += int(count.replace(',', ''))
    return found


def component(function):
    return next((name for name, pattern in COMPONENTS if re.match(pattern, function)), 'other')


def main():
    names = [name for name, _ in COMPONENTS] + ['other']
    names.remove(LOOKS)
    print('\nInstructions of a null call, by component; aim: recognized at most 0.70 of with stacks [components]')
    if not shutil.which('callgrind_annotate'):
        print('  skipped: valgrind is not installed')
        return
    print(f'  {"":42}' + ''.join(f'{name:>26}' for name in [*names, 'total']))
    looks = {}
    for row in ROWS:
        few, many = counted(sys.argv[1], row, FEW), counted(sys.argv[1], row, MANY)
        sums = collections.Counter()
        for function in many:
            sums[component(function)] += (many[function] - few[function]) / (MANY - FEW)
        looks[row] = sums.pop(LOOKS, 0)
        print(f'  {row:42}' + ''.join(f'{sums[name]:26.0f}' for name in names) + f'{sums.total():26.0f}')
    print(f'\nInstructions of a null call for looks before a sleep, not in its total [looks]\n  {"":42}{"looks":>26}')
    for row, n in looks.items():
        if n >= 1:
            print(f'  {row:42}{n:26.0f}')


main()
