#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""fin-top shows what a live process waits for: top.py FIN_TOP PROGRAM [PROGRAM_IN_CXX COROUTINES]"""
import importlib.machinery
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

ROWS = [(1, 'suspended', 'suspends'), (1, 'saved', 'saves_itself'), (1, 'suspended', 'goes_on'), (1, 'busy', 'message_came'),
        (100, 'busy', 'waits_for_a_semaphore'), (1, 'finish', 'owns_a_block'), (1, 'busy', 'reads'), (1, 'finish', 'closed'),
        (1, 'finish', '-')]


def top(script, *arguments):
    done = subprocess.run([sys.executable, script, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60)
    if done.returncode and 'not permitted' in done.stdout:
        print('skipped: a process may not look at another here', file=sys.stderr)
        sys.exit(77)
    return done.returncode, done.stdout


def complete(text):
    """It reads what moves: the program may not have got to its sleep yet."""
    rows = re.findall(r'^ +([\d,]+)  (\w+) +(\S+) +\S+$', text, re.M)
    return all((str(n), state, entry) in rows for n, state, entry in ROWS)


def may_read_mapped():
    """The kernel lets root read a file that has gone, where it is mapped; not in each container."""
    try:
        with open('/proc/self/map_files/' + os.listdir('/proc/self/map_files')[0], 'rb'):
            return True
    except OSError:
        return False


def look(script, program, remove=False):
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout.readline() != 'ready\n':
                sys.exit('the program did not begin')
            if remove and may_read_mapped():
                os.unlink(program)
            end, text = time.monotonic() + 20, ''
            while not complete(text):
                if time.monotonic() > end:
                    sys.exit(text + '\nnot all is there')
                _, text = top(script, '--once', process.pid)
            if '109 AWEs' not in text or 'channel mapping' not in text or 'asleep' not in text:
                sys.exit(text + '\nthe first lines are not true')
            _, text = top(script, '--once', '--awes', process.pid)
            if text.count('waits_for_a_semaphore') != 100 or not re.search(r'suspends .* the one ', text):
                sys.exit(text + '\nnot each AWE is there, or the name is not')
            check_output(script, process.pid)
        finally:
            process.stdin.close()
        if process.wait(20) != 0:
            sys.exit('the program did not end well')


CXX = [[r'main::(\{lambda#1\}|\$_0)::\{lambda#1\}', 'desk::clerk::waits'],
       ['waits', 'desk::clerk::member', 'desk::made_of', r'desk::\{anonymous\}::hidden',
        r'desk::calls::(\{lambda#1\}|\$_0) < desk::calls']]


def look_cxx(script, program, entries, waits_in):
    """C++ names are as in the program, and fit into the table."""
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout.readline() != 'ready\n':
            sys.exit('the program in C++ did not begin')
        _, text = top(script, '--once', process.pid)
        for entry in entries:
            if not re.search(rf'^ +1  busy +{entry} +{waits_in}$', text, re.M):
                process.kill()
                sys.exit(f'{text}\nthere is no {entry}')
        process.stdin.close()
        if process.wait(20) != 0:
            sys.exit('the program in C++ did not end well')


def check_liar(script):
    """A process whose runtimes go round, and which has names for a terminal to obey."""
    sys.path.insert(0, os.path.dirname(script))
    from fin_look import Broken, Look  # pylint: disable=import-outside-toplevel
    names = b''.join(name.ljust(28, b'\0') + struct.pack('<I', at) for name, at in ((b'rt.next', 0), (b'rt.in_use', 8)))
    memory = (struct.pack('<Q', 4096) + names).ljust(4096, b'\0') + struct.pack('<QQQ', 4104, 4104, 1)
    memory += b'\33[2J'.ljust(64, b'\0')
    looks = [Look(0, lambda at, size: memory[at:at + size], str, str, str, '', strict) for strict in (False, True)]
    if looks[0].runtimes() != [4104] or looks[0].text(4120) != '?[2J':
        sys.exit('a program that lies is believed')
    try:
        looks[1].runtimes()
        sys.exit('a list that goes round is not told')
    except Broken:
        pass


class Moving:
    """A list of one thread; where the third of it is looked at, it and the second have just gone to the end of another."""
    at, strict = {'rt.suspended': 8, 'rt.queue': 32}, False

    def __init__(self):
        self.lists, self.moved = {8: [100, 200, 300, 400, 500], 32: [600]}, False

    def read(self, at, size):
        if at == 300 and not self.moved:
            self.moved = True
            self.lists = {8: [100, 400, 500], 32: [600, 200, 300]}
        way = next([head, *links, head] for head, links in self.lists.items() if at in (head, *links))
        return struct.pack('<QQ', way[way.index(at) + 1], [way[-2], *way][way.index(at)])[:size]


def check_moving(script):
    """Those behind one that moves are found."""
    sys.path.insert(0, os.path.dirname(script))
    from fin_look import Runtime
    runtime = Runtime.__new__(Runtime)
    runtime.look, runtime.rt = Moving(), 0
    found = list(runtime.links('rt.suspended'))
    if found != [100, 200, 300, 400, 500]:
        sys.exit(f'of a list that moves were found {found}')


def check_rates(script):
    """What a new thread has counted is new, whatever was counted in its place before."""
    loader = importlib.machinery.SourceFileLoader('fin_top', script)
    fin_top = importlib.util.module_from_spec(importlib.util.spec_from_loader('fin_top', loader))
    loader.exec_module(fin_top)
    found = fin_top.rates(dict.fromkeys(fin_top.RATES, 30), {'slept': 10, 'suspended': 40}, 2)
    if (found['slept'], found['suspended'], found['woken_remotely']) != (10, 15, 15):
        sys.exit(f'the rates are {found}')


def check_output(script, pid):
    """A reader that goes away, a disk that is full, or characters that a terminal lacks are not the process's fault."""
    for where, said in ('full', 'fin-top: No space left on device'), ('pipe', ''), ('ascii', ''):
        read, write = os.pipe()
        os.close(read)
        with open('/dev/full', 'wb') as full, open(os.devnull, 'wb') as null:
            done = subprocess.run([sys.executable, script, '--once', '--awes', str(pid)], check=False, text=True, timeout=60,
                                  stdout={'full': full, 'pipe': write, 'ascii': null}[where], stderr=subprocess.PIPE,
                                  env={**os.environ, 'PYTHONIOENCODING': 'ascii'})
        os.close(write)
        if done.stderr.strip() != said:
            sys.exit(f'where output goes to {where}: {done.stderr}')
    done = subprocess.run(['sh', '-c', 'exec "$@" >&-', 'sh', sys.executable, script, '--once', str(pid)], check=False,
                          text=True, timeout=60, stderr=subprocess.PIPE)
    if done.stderr != 'fin-top: stdout is closed\n':
        sys.exit(f'where stdout is closed: {done.stderr}')


def check_interval(script):
    """What is no time is refused, before anything is looked at."""
    for text in 'nan', 'inf', '-1', '1e300', 'x':
        code, said = top(script, '--interval=' + text, os.getpid())
        if code != 2 or f'argument --interval: {text} is not a number of seconds up to a day' not in said:
            sys.exit(f'{said}\nthe interval {text} is not refused')


def main():
    script, program, *cxx = sys.argv[1:]
    check_rates(script)
    check_interval(script)
    check_moving(script)
    check_liar(script)
    look(script, program)
    for program_in_cxx, entries, waits_in in zip(cxx, CXX, (r'\S+', 'fin_sem_wait')):
        look_cxx(script, program_in_cxx, entries, waits_in)
    with tempfile.TemporaryDirectory() as directory:  # debugging information is not needed
        bare = os.path.join(directory, 'program')
        if shutil.which('strip'):
            subprocess.run(['strip', '-g', '-o', bare, program], check=True)
            look(script, bare, remove=True)
    code, text = top(script, '--once', os.getpid())
    if not code or 'does not use Fin' not in text:
        sys.exit(text + '\nfin-top found Fin in Python')


if __name__ == '__main__':
    main()
