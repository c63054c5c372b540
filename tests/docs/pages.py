#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the pages name exists: links lead to files, words in backquotes that look like Fin's are in its headers or sources,
and pages with samples are tested: pages.py TOP PAGE..."""
import pathlib
import re
import sys

top, tested = pathlib.Path(sys.argv[1]), set(sys.argv[2:])
wrong = []


def text_of(folder):
    return '\n'.join(p.read_text() for p in sorted((top / folder).rglob('*')) if re.search(r'\.(c|h|hpp|py)$', p.name))


headers = set(re.findall(r'\w+', text_of('include')))
environment = set(re.findall(r'getenv\w*\("(\w+)"\)', text_of('src') + text_of('tests')))


def check_words(name, quoted):
    for word in re.findall(r'\b(?:fin_\w+|FIN_[A-Z]\w+)\b', quoted):
        if word not in headers | environment:
            wrong.append(f'{name}: names {word}, which no header has')
    for word in re.findall(r'\bfin::(?:co::)?(\w+)', quoted):
        if word not in headers:
            wrong.append(f'{name}: names fin::{word}, which no header has')
    for path in re.findall(r'^(?:fin/\w+\.h(?:pp)?|(?:tools|docs|src|tests|examples)/[\w./]+)$', quoted):
        if not (top / path).exists() and not (top / 'include' / path).exists():
            wrong.append(f'{name}: names {path}, which does not exist')


for page in [top / 'README.md', *sorted((top / 'docs').glob('*.md'))]:
    name, text = page.relative_to(top), page.read_text()
    if name.parent.name == 'docs' and re.search(r'^```', text, re.M) and page.stem not in tested:
        wrong.append(f'{name}: its samples are not tested: name it in tests/docs/meson.build')
    text = re.sub(r'^```.*?^```$|^<!--.*?-->$', '', text, flags=re.M | re.S)
    for target in re.findall(r'\]\(([^)#\s]+)(?:#[^)]*)?\)', text):
        if '://' not in target and not (page.parent / target).exists():
            wrong.append(f'{name}: leads to {target}, which does not exist')
    for quoted in re.findall(r'`([^`\n]+)`', text):
        check_words(name, quoted)
if wrong:
    print('\n'.join(wrong))
sys.exit(bool(wrong))
