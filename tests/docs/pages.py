#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the pages name exists: links lead to files, words in backquotes that look like Fin's are in its headers or sources,
files are in the tree. Samples are run, all of them: pages.py TOP PAGE... (those whose samples are)"""
import pathlib
import re
import sys

top, tested = pathlib.Path(sys.argv[1]), set(sys.argv[2:])
wrong = []
FOLDERS = r'`((?:src|tests|tools|bench|models|docs|examples|include|package|debian)'


def text_of(folder):
    return '\n'.join(p.read_text() for p in sorted((top / folder).rglob('*')) if re.search(r'\.(c|h|hpp|py)$', p.name))


def all_files():
    """Without what is built: folders that are hidden, or of a build."""
    for p in top.iterdir():
        if p.is_file():
            yield p
        elif not p.name.startswith('.') and not (p / 'build.ninja').exists():
            yield from (f for f in p.rglob('*') if f.is_file())


files = {str(p.relative_to(top)) for p in all_files()}
headers = set(re.findall(r'\w+', text_of('include')))
inside = headers | set(re.findall(r'\w+', text_of('src')))
environment = set(re.findall(r'getenv\w*\("(\w+)"\)', text_of('src') + text_of('tests')))


def check_words(name, quoted):
    for word in re.findall(r'\b(?:fin_\w+|FIN_[A-Z]\w+)\b', quoted):
        if word not in headers | environment:
            wrong.append(f'{name}: names {word}, which no header has')
    for word in re.findall(r'\bfin::(?:co::)?(\w+)', quoted):
        if word not in headers:
            wrong.append(f'{name}: names fin::{word}, which no header has')
    for path in re.findall(r'^fin/\w+\.h(?:pp)?$', quoted):
        if not (top / 'include' / path).exists():
            wrong.append(f'{name}: names {path}, which does not exist')


def check_samples(name, text):
    """Those of docs/ are run by samples.py, and README's by examples/readme. What is indented is no code. In the pages of
    results stands what benchmarks printed."""
    if name.match('docs/results*.md'):
        return
    fences = len(re.findall(r'^[ >]*(?:```|~~~)', text, re.M))
    if fences and name.parent.name == 'docs' and name.stem not in tested:
        wrong.append(f'{name}: its samples are not tested: name it in tests/docs/meson.build')
    elif fences and name.parent.name != 'docs' and (str(name), fences) != ('README.md', 2):
        wrong.append(f'{name}: its samples are not tested: that is done of pages in docs/, and of one in README.md')
    shown = re.sub(r'^```.*?^```$|^<!--.*?-->$', '', text, flags=re.M | re.S)
    for line in re.findall(r'^ {4,}\S.*[;{]$', shown, re.M) if name.parent.name == 'docs' else []:
        wrong.append(f'{name}: is this code? Then it belongs into a sample: {line.strip()}')


def check_inside(name, text):
    """Pages about the inside of the tree: names of the sources, and of files wherever they are."""
    for quoted in re.findall(r'`([^`\n]+)`', text) if str(name) == 'ARCHITECTURE.md' else []:
        for word in re.findall(r'\b[a-z]+_\w+\b', quoted if not re.search(r'[ /$.]', quoted) else ''):
            if word not in inside:
                wrong.append(f'{name}: names {word}, which no source has')
    for file in re.findall(r'(?<![\w*/.-])((?:[\w-]+/)*[\w-]+\.(?:c|h|S|py|pml|hpp|cpp))\b', text):
        if not any(f == file or f.endswith('/' + file) for f in files):
            wrong.append(f'{name}: names {file}, which does not exist')


guide = (top / 'docs/core.md').read_text()
for variable in sorted(set(re.findall(r'getenv\w*\("(FIN_\w+)"\)', text_of('src')))):
    if f'| `{variable}=' not in guide and f', `{variable}=' not in guide:
        wrong.append(f'docs/core.md: its table does not have {variable}')

for page in [top / 'README.md', top / 'ARCHITECTURE.md', top / 'CONTRIBUTING.md', *sorted((top / 'docs').glob('*.md'))]:
    name, text = page.relative_to(top), page.read_text()
    check_samples(name, text)
    text = re.sub(r'^```.*?^```$|^<!--.*?-->$', '', text, flags=re.M | re.S)
    if str(name) in ('ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/correctness.md'):
        check_inside(name, text)
    for path in re.findall(FOLDERS + r'/[\w/-]*(?:\.\w+|/))`', text):
        if not (top / path).exists():
            wrong.append(f'{name}: names {path}, which does not exist')
    for target in re.findall(r'\]\(([^)#\s]+)(?:#[^)]*)?\)', text):
        if '://' not in target and not (page.parent / target).exists():
            wrong.append(f'{name}: leads to {target}, which does not exist')
    for quoted in re.findall(r'`([^`\n]+)`', text) if str(name) != 'ARCHITECTURE.md' else []:
        check_words(name, quoted)
if wrong:
    print('\n'.join(wrong))
sys.exit(bool(wrong))
