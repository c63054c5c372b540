#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""No header of ours makes a program's compiler warn, each by itself, and as a program uses it: quiet.py INCLUDE c|cpp
COMPILER..."""
import pathlib
import subprocess
import sys

WARNINGS = '-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wold-style-cast -Wundef -Werror'.split()
OF_C, OF_CPP = {'-Wstrict-prototypes'}, {'-Wold-style-cast'}
WITHOUT_CXX = {'keywords.h', 'elide.h'}  # for C alone; for no program
USE = r'''
#include <fin.h>
static void work(void *arg) { fin_sleep_nc(*(uint64_t *)arg); }
int main(void) {
    uint64_t ns = 1;
    fin_finish_as(all) {
        fin_async_call(work, &ns);
        fin_finish { fin_async_eager_call(work, &ns); }
        fin_timeout(FIN_S) { fin_cancel(); }
        fin_cancel_as(all);
    }
    return 0;
}
'''

include, language = pathlib.Path(sys.argv[1]), sys.argv[2]
kinds = ['.h'] if language == 'c' else ['.h', '.hpp']
left_out = WITHOUT_CXX if language == 'cpp' else {'elide.h'}
texts = {f'<fin/{f.name}>': f'#include <fin/{f.name}>\n' for f in sorted((include / 'fin').iterdir())
         if f.suffix in kinds and f.name not in left_out}
texts |= {f'<fin{kind}>': f'#include <fin{kind}>\n' for kind in kinds}
if language == 'c':
    texts['a program'] = USE
flags = ['-std=gnu11', *WARNINGS] if language == 'c' else ['-std=c++20', *WARNINGS]
flags = [f for f in flags if f not in (OF_CPP if language == 'c' else OF_C)]

def compiled(text, *options):
    kind = language.replace('cpp', 'c++')
    return subprocess.run([*sys.argv[3:], *options, '-fsyntax-only', f'-I{include}', '-x', kind, '-'], input=text,
                          capture_output=True, text=True, check=False)


bad, missing = 0, set()
for name, text in texts.items():
    run = compiled(text, *flags)
    if 'No such file' in run.stderr:  # of OpenSSL, where it is not
        missing.add(name)
    elif run.returncode:
        bad += 1
        print(f'{name}:\n' + '\n'.join([line for line in run.stderr.splitlines() if 'error:' in line][:3] or [run.stderr]))
if language == 'cpp':  # headers of C that a program includes in its own extern "C": all at once, and alone to say which
    inside = {name: 'extern "C" {\n' + text + '}\n' for name, text in texts.items() if name.endswith('.h>')}
    there = {name: text for name, text in inside.items() if name not in missing}
    if compiled(''.join(there.values()), *flags).returncode:
        bad += 1
        print('extern "C":')
        for name, text in there.items():
            print(f'{name}:\n{compiled(text, *flags).stderr[:1000]}')
if language == 'cpp':  # after <curses.h>, whose macro is there still
    after = '#define timeout(delay) wtimeout(stdscr, (delay))\n'
    after += ''.join(text for name, text in texts.items() if name not in missing)
    run = compiled(after + 'int stdscr, wtimeout(int, int);\nint waits() { return timeout(1); }\n', *flags)
    if run.returncode:
        bad += 1
        print(f'after <curses.h>:\n{run.stderr[:1000]}')
if language == 'c':  # strict C: each header says what is missing, by one error, or compiles; all do where that is there
    for name, text in texts.items():
        strict = compiled(text, '-std=c11', '-Werror')
        posix = compiled(text, '-std=c11', '-Werror', '-D_POSIX_C_SOURCE=200809L')
        said = [line for line in strict.stderr.splitlines() if 'error:' in line]
        if 'No such file' in posix.stderr:
            continue
        one = '_POSIX_C_SOURCE' in ''.join(said[:1]) and (len(said) == 1 or name[0] != '<')
        if (said and not one) or posix.returncode:
            bad += 1
            print(f'strict C, {name}:\n{strict.stderr}{posix.stderr}')
sys.exit(bad != 0)
