#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tools/fin-gdb.py shows the AWEs of a live program and of its core file:
gdb.py FIN_GDB_PY PROGRAM PROGRAM_IN_MAIN PROGRAM_OF_CALLS [COROUTINES]"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

BODY = r'fin_body_\d+|__work_block_invoke(_\d+)?'  # GNU C, Clang
# entry, state, name, the program's own functions in the backtrace
AWES = [
    ('nested_calls', 'suspended', 'deep', ['inner', 'inner', 'inner', 'nested_calls', 'work', 'main']),
    ('saves_itself', 'saved', 'saved one', ['saves_itself', 'work', 'main']),
    ('waits_inside', 'suspended', '-', ['waits_inside', 'opens_a_block', 'owns_a_block', 'work', 'main']),
    ('waits_on_another_stack', 'suspended', '-',
     ['waits_on_another_stack', 'opens_a_block', 'owns_a_block', 'work', 'main']),
    ('owns_a_block', 'finish', '-', ['opens_a_block', 'owns_a_block', 'work', 'main']),
    ('is_called_last', 'suspended', '-', ['waits_in_a_tail_call', 'is_called_last', 'work', 'main']),
    ('eager_body', 'suspended', '-', ['eager_body', 'work', 'main']),
    (r'async at gdb_program\.c:\d+', 'suspended', '-', [BODY, 'work', 'main']),
    ('other_thread_waits', 'suspended', '-', ['other_thread_waits', 'thread']),
    ('goes_on', 'suspended', '-', []),
    ('message_came', 'busy', '-', []),
]
# What each calls of the shared library.
CALLS = {'receives': 'fin_recv', 'reads': 'fin_read', 'waits_for_a_signal': 'fin_signals_next'}
FIRST = AWES + [('-', 'running', '-', ['stop_here', 'work', 'main'])]
# Of each task: how its list begins, and its coroutines from the innermost outwards.
HIDDEN = r'shop::(\(anonymous namespace\)|{anonymous})::hidden'
TASKS = [('no stack: ', ['shop::stream::read', 'shop::fill', 'shop::serve(<int>)?']), ('', ['shop::with_a_stack']),
         ('', ['shop::blocks', *6 * [HIDDEN]])]
SHORT = ['shop::stream::read < shop::fill < shop::serve(<int>)?', f'shop::blocks < {HIDDEN} < \\.\\.\\. < {HIDDEN}']
SECOND = AWES + [
    ('-', 'finish', '-', ['work', 'main']),
    (r'async at gdb_program\.c:\d+', 'running', '-', ['stop_here', BODY, 'work', 'main']),
]


def fail(why, output):
    sys.exit(output + '\n' + why)


def gdb(*arguments):
    command = ['gdb', '-q', '-nx', '-batch', '-ex', 'set debuginfod enabled off', '-ex', 'set width 0', *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100).stdout


def commands(*lines):
    return [word for line in lines for word in ('-ex', line)]


def part(output, name):
    found = re.search(r'^begin %s\n(.*?)^end %s$' % (name, name), output, re.S | re.M)
    if not found:
        fail('no part "%s"' % name, output)
    return found.group(1)


def look(name):
    return commands('echo begin list\\n', 'fin awes', 'echo end list\\n', 'echo begin %s\\n' % name, 'fin awe all bt',
                    'echo end %s\\n' % name)


def own_functions(text):
    """Those of the program: without Fin's, the C library's and what starts a thread."""
    names = re.findall(r'^#\d+ +(?:0x[0-9a-f]+ in )?([\w.]+)(?: \(.*\))? at (?:.*/)?gdb_program\.c:\d+$', text, re.M)
    return [n.split('.')[0] for n in names]


def check(output, name, expected):
    text = part(output, name)
    rows = []
    for block in re.split(r'^AWE ', text, flags=re.M)[1:]:
        head, _, trace = block.partition('\n')
        columns = re.match(r'(\d+) +(\S+) +(\S+) +(.+?)  +(.+?)  +(\S+)$', head)
        if not columns:
            fail('not a description: ' + head, output)
        rows.append((columns, own_functions(trace)))
    for entry, state, called, functions in expected:
        for columns, names in rows:
            _, _, is_state, is_called, is_entry, ident = columns.groups()
            if (is_state, is_called) == (state, called) and re.fullmatch(entry, is_entry) and \
                    len(names) == len(functions) and all(map(re.fullmatch, functions, names)) and \
                    (ident == '-') == (state != 'saved'):
                break
        else:
            fail('not found in "%s": %s' % (name, (entry, state, called, functions)), output)
    if len(rows) > len(expected) + 1:  # the other thread may not have got to its scheduler yet
        fail('too many AWEs in "%s"' % name, output)


def without_information(script, program, directory):
    """The list needs no debugging information."""
    bare = os.path.join(directory, 'program')
    if not shutil.which('strip'):
        return
    subprocess.run(['strip', '-g', '-o', bare, program], check=True)
    text = gdb('-ex', 'source ' + script, *commands('break stop_here', 'run', 'fin awes', 'fin nothing'), bare)
    entries = re.findall(r'^\d+ +\d+ +\w+ +(?:-|deep|saved one) +(\S+(?: in \S+)?)', text, re.M)
    expected = {entry for entry, *_ in AWES if re.fullmatch(r'\w+', entry)} | {'async in work'}
    if not expected <= {re.sub(r'\.[\w.]+$', '', e) for e in entries} or 'fin awes, fin awe or fin core' not in text:
        fail('%s are not all listed without debugging information' % expected, text)


def stopped_in_main(script, program):
    text = gdb('-ex', 'source ' + script,
               *commands('break gdb_in_main.c:15', 'run', 'fin awes', 'fin awe 2 bt', 'fin awe 2'), program)
    if not re.search(r'^2 .* suspended .* waits .*: fin_suspend$', text, re.M) or \
            not re.search(r'^#\d+ +0x[0-9a-f]+ in main \(\)', text, re.M) or \
            not re.search(r'^#\d+ .*\bwaits \(', text, re.M) or 'Error' in text:
        fail('the AWE is not shown where its thread is stopped in main', text)


def stopped_in_switch(script, program):
    """Behind the frames of Fin's own there is nothing on the stack where its threads choose what runs."""
    text = gdb('-ex', 'source ' + script, *commands('set breakpoint pending on', 'break fin_core_yield_', 'run', 'fin awes'),
               program)
    if not re.search(r'^\d+ .* running .*: fin_core_yield_$', text, re.M) or 'Error' in text or \
            not re.search(r'^\d+ .* queued .* message_came ', text, re.M):
        fail('where a thread is stopped in a switch, the AWEs are not listed', text)


def check_calls(text):
    """What the program called is named, also where that went on in another function by a jump."""
    for entry, call in CALLS.items():
        if not re.search(r'^\d+ .* busy .* %s .* %s \(gdb_calls\.c:\d+\): %s$' % (entry, entry, call), text, re.M):
            fail('an AWE is not shown to have stopped in ' + call, text)


def awaited(trace):
    """The task's coroutines in a backtrace: their names, and what stands in the source where they are said to be."""
    begin, _, rows = trace.partition('coroutines, each awaited by the next\n')
    with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), 'gdb_coroutines.cpp'), encoding='utf-8') as f:
        source = f.readlines()
    found = re.findall(r'^#(\d+) +(.+?)(?: at (?:.*/)?gdb_coroutines\.cpp:(\d+))?$', rows, re.M)
    if [int(number) for number, *_ in found] != list(range(len(found))):
        fail('not numbered', trace)
    return begin.split('\n')[-1], [name for _, name, _ in found], [source[int(at) - 1] for *_, at in found if at]


def check_coroutines(text, bare=False):
    """Coroutines are shown with those that await them. Without debugging information (`bare`) only by their names."""
    tasks = [awaited(trace) for trace in re.split(r'^AWE ', text, flags=re.M) if 'awaited by the next' in trace]
    for begin, names in TASKS:
        for is_begin, is_names, lines in tasks:
            if is_begin == begin and len(names) == len(is_names) and all(map(re.fullmatch, names, is_names)):
                there = [n for n, line in zip(is_names, lines) if re.sub('.*::|<.*', '', n) + '(' in line]
                if not bare and there != is_names:
                    fail('only %s are in the lines that are shown' % there, text)
                break
        else:
            fail('the coroutines %s are not shown' % names, text)
    for short in SHORT:
        if not re.search(r'^\d+ +1 +busy +- +%s  ' % short, text, re.M):
            fail('not listed: ' + short, text)
    place = '' if bare else r' \(gdb_coroutines\.cpp:\d+\)'
    if not re.search(f'  shop::stream::read{place}: fin_mutex_lock_nc$', text, re.M):
        fail('what a coroutine awaits, and where, is not shown', text)


def show_coroutines(script, program):
    def shown(program):
        return gdb('-ex', 'source ' + script, *commands('break stop_here', 'run', 'fin awes', 'fin awe all bt'), program)
    check_coroutines(shown(program))
    if shutil.which('strip'):
        with tempfile.TemporaryDirectory() as directory:
            bare = os.path.join(directory, 'program')
            subprocess.run(['strip', '-g', '-o', bare, program], check=True)
            check_coroutines(shown(bare), True)


def main():
    script, program, in_main, calls, *coroutines = sys.argv[1:]
    if not shutil.which('gdb'):
        print('skipped: no gdb', file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory() as directory:
        core = os.path.join(directory, 'core')
        number = 'next(n for n, a in all_awes() if a.awe.entry == "nested_calls")'
        live = gdb('-ex', 'source ' + script, *commands('break stop_here', 'run'), *look('first'),
                   *commands('echo begin select\\n', 'python gdb.execute("fin awe %%d" %% %s)' % number, 'up', 'down',
                             'bt 3', 'fin awe', 'echo end select\\n', 'fin core ' + core, 'echo begin finish\\n', 'fin',
                             'echo end finish\\n', 'continue'), *look('second'), '-ex', 'continue', program)
        if re.search('ptrace|not permitted', live):
            print('skipped: gdb may not run a program here', file=sys.stderr)
            return 77
        check(live, 'first', FIRST)
        check(live, 'second', SECOND)
        select = part(live, 'select')
        if own_functions(select)[-2:] != ['inner', 'stop_here'] or 'fin_suspend' not in select:
            fail('the AWE was not selected, or the thread not again', live)
        if own_functions('#0 ' + part(live, 'finish').splitlines()[0]) != ['work']:
            fail('"fin" is no longer "finish"', live)
        if 'no stack: waits with goes_on, continuation (no_stack.h:' not in live or \
                'state 73 74 61 74 65' not in live or 'state 6b 72 61 6d' not in live:
            fail('the continuation and its state are not shown', live)
        if 'exited normally' not in live:
            fail('the program did not end well', live)
        post_mortem = gdb('-ex', 'source ' + script, *look('core'), program, core)
        check(post_mortem, 'core', FIRST)
        without_information(script, program, directory)
        stopped_in_main(script, in_main)
        stopped_in_switch(script, program)
    check_calls(gdb('-ex', 'source ' + script, *commands('break stop_here', 'run', 'fin awes'), calls))
    for program_of_coroutines in coroutines:
        show_coroutines(script, program_of_coroutines)
    return 0


if __name__ == '__main__':
    sys.exit(main())
