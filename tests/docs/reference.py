#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every public function has a page, made from its comment, and one without a comment is found: reference.py TOP MAP..."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

top, maps = pathlib.Path(sys.argv[1]), sys.argv[2:]
tool = top / 'tools/reference/reference.py'
CXX = ['fin::finish', 'fin::finish_nc', 'fin::scope', 'fin::check', 'fin::offload', 'fin::mutex', 'fin::thread', 'fin::task',
       'fin::next', 'fin::block_on', 'fin::wait_on', 'fin::end', 'fin::co::sleep', 'fin::co::await', 'fin_async_task',
       'fin::chan', 'fin::chan_message', 'fin::waitset', 'fin::rpc', 'fin.hpp', 'fin_sync.hpp', 'fin_coro.hpp',
       'fin_chan.hpp', 'fin_co_chan.hpp', 'fin::co::held', 'fin::co::hold', 'fin::co::invoke',
       'fin::bounded_queue', 'fin::descriptor']
SECTIONS = ['NAME', 'SYNOPSIS', 'DESCRIPTION', 'RETURN VALUE', 'WAITING AND CANCELLATION', 'THREADS', 'SEE ALSO']
wrong = []


def reference(*arguments):
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True)


def headers():
    run = reference('--check', top / 'include', *maps)
    if run.returncode:
        wrong.append(run.stdout + run.stderr)


def damaged(scratch):
    """Without a comment, with one that says nothing of use, and exported but not declared: each is reported."""
    include, exports = scratch / 'include', scratch / 'exports.map'
    shutil.copytree(top / 'include', include)
    header = include / 'fin/time.h'
    text = header.read_text()
    changed = text.replace('// The time. Does not block.\n', '')
    changed = changed.replace('bool fin_timed_out(void);', '''bool fin_timed_out(void);

// Returns 0.
int fin_says_nothing(void);''')
    if changed.count('\n') == text.count('\n'):
        sys.exit('fin/time.h is not as this test knows it')
    header.write_text(changed)
    cxx = include / 'fin/sync.hpp'
    cxx.write_text(re.sub(r'\n// fin_sem\..*\n', '\n', cxx.read_text()))
    exports.write_text('{ global: fin_declared_nowhere; };')
    run = reference('--check', include, exports)
    for expected in ('fin_now has no comment', 'fin_says_nothing does not say', 'fin_declared_nowhere is exported',
                     'fin/sync.hpp: fin::semaphore has no comment'):
        if run.returncode != 1 or expected not in run.stdout:
            wrong.append(f'not reported: {expected}\n{run.stdout}{run.stderr}')


def man_pages(folder):
    run = reference('--man', top / 'include', folder)
    pages = {p.name: p.read_text() for p in folder.glob('*.3')}
    wrong.extend([run.stderr] if run.returncode else [])
    for exports in maps:
        for name in re.findall(r'\bfin_\w*[a-z0-9]\b', pathlib.Path(exports).read_text()):
            text = pages.get(name + '.3', '')
            if text.startswith('.so man3/'):
                text = pages.get(text.strip()[9:], '')
            missing = [s for s in SECTIONS if f'.SH {s}\n' not in text]
            if missing and name != 'fin_self':
                wrong.append(f'{name}(3) has no {", ".join(missing)}')
    for name in CXX:
        if name + '.3' not in pages:
            wrong.append(f'{name}(3) is missing')
    if re.search(r'detail::|m_|private', pages.get('fin::mutex.3', '')) or 'lock_cancellable()' not in pages['fin::mutex.3']:
        wrong.append('fin::mutex(3) does not show what is public, and that alone')
    if shutil.which('groff'):
        said = subprocess.run(['groff', '-man', '-Tutf8', '-ww', '-z', *[folder / p for p, text in pages.items() if
                               not text.startswith('.so')]], capture_output=True, text=True).stderr
        wrong.extend(line for line in said.splitlines()[:10] if 'adjust' not in line and 'break line' not in line)


def html_pages(folder):
    run = reference('--html', top / 'include', folder)
    wrong.extend([run.stderr] if run.returncode else [])
    pages = {p.name: p.read_text() for p in folder.glob('*.html')}
    for name, text in pages.items():
        ids = re.findall(r' id="([^"]+)"', text)
        wrong.extend(f'{name} has the id {i} more than once' for i in set(ids) if ids.count(i) > 1)
        for target, anchor in re.findall(r'href="([^"#]+)#?([^"]*)"', text):
            if target not in pages or (anchor and f'id="{anchor}"' not in pages[target]):
                wrong.append(f'{name} leads to {target}#{anchor}, which does not exist')


headers()
with tempfile.TemporaryDirectory() as scratch:
    damaged(pathlib.Path(scratch))
    man_pages(pathlib.Path(scratch) / 'man3')
    html_pages(pathlib.Path(scratch) / 'html')
if wrong:
    print('\n'.join(wrong))
sys.exit(bool(wrong))
