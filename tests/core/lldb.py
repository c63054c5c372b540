#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tools/fin_lldb.py shows the AWEs of a live program and of its core file, as gdb.py wants them shown:
lldb.py FIN_LLDB_PY PROGRAM [PROGRAM_OF_CALLS [COROUTINES]]"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from gdb import FIRST, SECOND, check, check_calls, check_coroutines, commands, fail, gdb, part


def look(name):
    return [f'script print("begin {name}")', 'fin awe all bt', f'script print("end {name}")']


# Seldom, and where the machine is busy, lldb 19 does not set the program counter back to the breakpoint that it stopped at,
# or sees no caller of where it stopped.
def stopped_at_it(text):
    stops = re.findall(r'stop reason = breakpoint 1\.1\n +frame #0: (0x[0-9a-f]+)', text)
    plainly = re.findall(r'^begin plain\n(.*?)^end plain', text, re.M | re.S)
    return len(set(stops)) < 2 and all('`main at' in p for p in plainly)


def core_file(lldb, script, program):
    """Of gdb's: there the program's code is missing, as in those of the kernel."""
    if not shutil.which('gdb'):
        return
    with tempfile.TemporaryDirectory() as directory:
        core = os.path.join(directory, 'core')
        made = gdb('-ex', 'source ' + os.path.join(os.path.dirname(script), 'fin-gdb.py'),
                   *commands('break stop_here', 'run', 'fin core ' + core), program)
        if not os.path.exists(core):
            fail('gdb has made no core file', made)
        words = [w for c in ['command script import ' + script, *look('core')] for w in ('-o', c)]
        text = subprocess.run([lldb, '-b', '--no-lldbinit', *words, '-c', core, program], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60).stdout
        check(re.sub(r'^\(lldb\) .*\n', '', text, flags=re.M), 'core', FIRST)


# Each time that lldb runs the script, which it may do over and over.
COUNTS = ('script import sys; sys.begun = []; sys.setprofile(lambda frame, event, arg: event == "call" and '
          'frame.f_code.co_name == "__lldb_init_module" and sys.begun.append(1))')
COUNTED = 'script sys.setprofile(None); print("begun", len(sys.begun))'
PLAIN = ['script print("begin plain")', 'bt', 'script print("end plain")']


def main():
    script, program, *others = sys.argv[1:]
    lldb = shutil.which('lldb-19') or shutil.which('lldb')
    if not lldb:
        print('skipped: no lldb', file=sys.stderr)
        return 77
    commands = [COUNTS, 'command script import ' + script, 'breakpoint set -n stop_here', 'run', COUNTED, *PLAIN,
                *look('first'), 'fin awes', 'script print("begin select")', 'fin awe 2', 'bt', 'thread select 1',
                'script print("end select")', 'script lldb.debugger.HandleCommand("fin awe 99")',
                'script lldb.debugger.HandleCommand("fin awes all")', 'continue', *PLAIN, *look('second'), 'continue',
                'fin awes']
    words = [lldb, '-b', '--no-lldbinit', *[w for c in commands for w in ('-o', c)], program]
    for _ in range(3):
        done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        text = re.sub(r'^\(lldb\) .*\n', '', done.stdout, flags=re.M)
        if stopped_at_it(text):
            break
    if re.search('error: (process launch failed|unable to locate lldb-server|.*ptrace|.*not permitted)|No module', text):
        print('skipped: lldb may not run a program here, or has no Python', file=sys.stderr)
        return 77
    check(text, 'first', FIRST)
    check(text, 'second', SECOND)
    if not re.search(r'^\d+ +1 +suspended +deep +nested_calls +- +inner \(gdb_program\.c:\d+\): fin_suspend$', text, re.M):
        fail('"fin awes" does not say where an AWE has stopped', text)
    if not re.search('^begun [12]$', text, re.M):
        fail('lldb runs the script over and over', text)
    if 'inner' not in part(text, 'select'):
        fail('an AWE was not selected', text)
    for said in ('no stack: waits with goes_on', 'state 73 74 61 74 65', 'There is no AWE 99', 'fin awes [COUNT], ',
                 'exited with status = 0', 'The program is not running'):
        if said not in text:
            fail(f'it does not say "{said}"', text)
    core_file(lldb, script, program)
    for check_shown, program_of_it in zip((check_calls, check_coroutines), others):
        stop = ['command script import ' + script, 'breakpoint set -n stop_here', 'run', 'fin awes', 'fin awe all bt']
        done = subprocess.run([lldb, '-b', '--no-lldbinit', *[w for c in stop for w in ('-o', c)], program_of_it],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        check_shown(re.sub(r'^\(lldb\) .*\n', '', done.stdout, flags=re.M))
    return 0


if __name__ == '__main__':
    sys.exit(main())
