#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The reference, made from the comments of the public headers.

    reference.py --man INCLUDE FOLDER       man pages of section 3: one for each group of functions, under each of its names
    reference.py --html INCLUDE FOLDER      a page for each header, and an index of all names
    reference.py --check INCLUDE MAP...     what is public and not documented; MAP: the names that a library exports"""
import pathlib
import re
import sys

import headers as h
import html_pages
import man_pages

# A comment that begins so goes on from the one before it: one page has both.
GOES_ON = re.compile(r'(The same|Both\.|As above|The two halves of that|Its state|After -ECANCELED|Returns 0 where it was)')


class Page:
    """What one man page is about."""

    def __init__(self, header, item):
        self.header, self.items = header, [item]

    def names(self):
        return [n for i in self.items for n in i.names()]

    def functions(self):
        return {n: d for i in self.items for n, d in i.functions.items()}

    def comment(self):
        out = []
        for i in self.items:
            out += ([''] if out else []) + i.comment
        return out

    def threads(self, headers):
        """The sentences that say which threads may call."""
        about = re.compile(r'\b(any|own|another|other|one|calling|same|several) threads?\b|\bthreads? (may|that)\b', re.I)
        own = [s for s in h.sentences(self.comment()) if about.search(s)]
        return own or [s for _, intro in h.general(self.header, headers) for s in h.sentences(intro) if about.search(s)]


def by_intro(header):
    """Macros that the header's opening comment is about, or that stand in thc.h, whose names are explained in groups."""
    said = '\n'.join(header.intro)
    return [m for i in header.items for m in i.macros
            if header.name == 'fin/thc.h' or any(re.search(rf'^ *{one}\b', said, re.M) for one in i.macros)]


def pages(header):
    """(pages, names without a comment of their own)"""
    out, bare, told = [], [], set(by_intro(header))
    for item in header.items:
        names = [n for n in item.names() if n not in told and not n.isupper()]
        if not names:
            continue
        if not item.comment and (header.name.startswith('fin/thc') and out):
            out[-1].items.append(item)
        elif not item.comment:
            bare += names
        elif out and GOES_ON.match(item.comment[0]):
            out[-1].items.append(item)
        else:
            out.append(Page(header, item))
    return out, bare


def check(include, maps):
    found, wrong, documented = h.read(include), [], set()
    for header in found.values():
        if not header.intro:
            wrong.append(f'{header.name}: no comment about the header')
        own, bare = pages(header)
        wrong += [f'{header.name}: {n} has no comment' for n in bare]
        if header.cxx():
            continue
        documented.update(by_intro(header), bare)
        for page in own:
            documented.update(page.names())
            if page.functions() and re.match(r'Returns?\b|Do(es)? not block|-E|0\b', ' '.join(page.comment())):
                wrong += [f'{header.name}: the comment of {page.names()[0]} does not say first what it is for']
            if page.functions() and not page.threads(found):
                wrong.append(f'{header.name}: nothing says which threads may call {", ".join(page.functions())}')
            if not page.functions() or 'FIN_BLOCKING' in ' '.join(page.functions().values()):
                continue
            if not re.search(r'\bblock|\bwait', ' '.join(page.comment() + header.intro), re.I):
                wrong.append(f'{header.name}: nothing says whether {", ".join(page.functions())} may block')
    exported = {n for m in maps for n in re.findall(r'\bfin_\w*[a-z0-9]\b', pathlib.Path(m).read_text())}
    wrong += [f'{n} is exported and on no page' for n in sorted(exported - documented - {'fin_self'})]
    if len(documented) < 300:
        wrong.append(f'only {len(documented)} names found: the headers are not read as they are written')
    print('\n'.join(wrong) or f'{len(documented)} names')
    return bool(wrong)


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ('--man', '--html', '--check'):
        print(__doc__)
        return 2
    if sys.argv[1] == '--check':
        return check(sys.argv[2], sys.argv[3:])
    found, folder = h.read(sys.argv[2]), pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    if sys.argv[1] == '--html':
        files = html_pages.write(found)
    else:
        files = man_pages.write(found, {name: pages(header)[0] for name, header in found.items()})
    for name, text in files.items():
        (folder / name).write_text(text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
