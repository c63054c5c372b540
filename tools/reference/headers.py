# SPDX-License-Identifier: BSD-2-Clause
"""What the public headers say, as data. A header begins with a comment about all of it. After that a comment belongs to the
declarations behind it, up to an empty line or the next comment; those behind an empty line belong to it, too, where it had
only types before. Names that end in _ are nobody's business."""
import dataclasses
import pathlib
import re

import cxx

PUBLIC = r'(?:fin|FIN|THC|thc|awe_mapper)_?\w*[A-Za-z0-9]'
FUNCTION = re.compile(rf'^(?!typedef\b)[^(={{#]*?\b({PUBLIC})\(', re.S)


@dataclasses.dataclass
class Item:
    comment: list  # lines, without //
    code: list = dataclasses.field(default_factory=list)  # declarations as they are to be shown
    functions: dict = dataclasses.field(default_factory=dict)  # name: declaration
    macros: list = dataclasses.field(default_factory=list)
    types: list = dataclasses.field(default_factory=list)
    cxx: list = dataclasses.field(default_factory=list)  # names in a namespace
    written: str = ''  # of C++: the code as it stands in the header

    def names(self):
        return [*self.functions, *self.cxx, *self.macros]


@dataclasses.dataclass
class Header:
    name: str  # fin/x.h
    intro: list
    items: list

    def cxx(self):
        return self.name.endswith('.hpp')

    def page(self):
        return self.name.replace('/', '_')


def uncomment(line):
    return re.sub(r'^\s*// ?', '', line)


def without_noise(text):
    """Without what no reader of the interface needs: guards, includes, extern "C", conditions, insides."""
    text = re.sub(r'#ifdef __cplusplus\n(extern "C" \{|\})\n#endif\n', '', text)
    text = re.sub(r'^namespace detail \{\n.*?^\} // namespace detail\n', '', text, flags=re.M | re.S)
    text = re.sub(r'^(template <.*> )?class \w+;\n', '', text, flags=re.M)  # said to be there, and described elsewhere
    text = text.replace('FIN_TAGGED_ ', '')
    # the sequential program is not shown
    text = re.sub(r'^#ifdef FIN_ELIDE\n.*?^#endif\n', '', text, flags=re.M | re.S)
    text = re.sub(r'^#ifndef FIN_ELIDE\n(.*?)(^#else.*?)?^#endif\n', r'\1', text, flags=re.M | re.S)
    return re.sub(r'^#(include|if|ifdef|ifndef|elif|else|endif|error|pragma|undef).*\n', '', text, flags=re.M)


def statements(lines):
    """Declarations, each with its comment at the end of the line; macros by themselves."""
    out, now, depth, macro = [], [], 0, False
    for line in lines:
        if not now and re.match(r'\s*#\s*define\b', line):
            macro = True
        now.append(line)
        code = re.sub(r'//.*', '', line)
        depth += code.count('{') + code.count('(') - code.count('}') - code.count(')')
        if macro:
            done = not line.endswith('\\')
        else:
            done = depth <= 0 and re.search(r'[;}]\s*$', code.rstrip())
        if done:
            out.append('\n'.join(now))
            now, depth, macro = [], 0, False
    return out + (['\n'.join(now)] if now else [])


def add_code(item, statement, known):
    bare = re.sub(r'\s*//.*', '', statement)
    macro = re.match(r'\s*#\s*define (\w+)(\([^)]*\))?', statement)
    if macro:
        name = macro[1]
        if re.fullmatch(PUBLIC, name) and not name.endswith('_H') and name not in known and name != 'FIN_SANITIZED':
            if name.startswith('FIN_') and not macro[2]:
                item.code.append(re.sub(r'\s*\\\n\s*', ' ', statement))
            item.macros.append(name)
            known[name] = name + (macro[2] or '')
        return
    function = FUNCTION.match(bare)
    if function:
        name = function[1]
        if name.endswith('_') or name in known:
            return
        tail = re.search(r'//.*', statement.split('\n')[-1])
        bare = re.sub(r'\s*\{.*', ';', bare, flags=re.S)
        bare = re.sub(r'\bstatic inline ', '', bare).strip()
        item.functions[name] = known[name] = bare
        item.code.append(bare + (' ' + tail[0] if tail else ''))
        return
    kind = re.match(r'(?:typedef )?(?:extern const )?(struct|union|enum|class) (?:__attribute__\S* )?(\w+)?', bare)
    alias = re.match(r'typedef .*?\b(\w+)(\(.*)?;$', bare, re.S)
    name = alias[1] if alias and not bare.startswith('typedef struct {') else kind and kind[2]
    inside = name and name.endswith('_')
    if (kind or alias) and not inside and bare.strip() != f'struct {name};':
        item.code.append(statement)
        item.types.append(name or '')


def add_cxx(item, code, namespace):
    item.written = code
    item.macros += re.findall(r'^#define (fin_\w+)\b', code, re.M)
    if item.macros:
        item.code += re.findall(r'^#define (fin_\w+\([^)]*\))', code, re.M)
        return
    for name, declaration in cxx.declarations(code):
        item.code.append(declaration)
        if f'{namespace}::{name}' not in item.cxx:
            item.cxx.append(f'{namespace}::{name}')


def in_namespaces(text):
    """[(namespace, text)]"""
    inside, out = [], []
    for i, part in enumerate(re.split(r'^(namespace \w+ \{|\} // namespace.*)\n', text, flags=re.M)):
        if i % 2 == 0:
            out.append(('::'.join(inside), part))
        elif part.startswith('namespace'):
            inside.append(part.split()[1])
        else:
            inside.pop()
    return out


def paragraphs(text):
    """Runs of lines, parted by empty ones outside of braces."""
    now, depth = [], 0
    for line in text.split('\n'):
        code = re.sub(r'//.*', '', line)
        if not line.strip() and depth <= 0:
            if now:
                yield now
            now = []
            continue
        now.append(line)
        depth += code.count('{') - code.count('}')
    if now:
        yield now


def split_items(paragraph):
    """[(comment lines, code lines)] of a paragraph."""
    out, depth = [], 0
    for line in paragraph:
        if depth <= 0 and line.startswith('//'):
            if not out or out[-1][1]:
                out.append(([], []))
            out[-1][0].append(uncomment(line))
            continue
        if not out:
            out.append(([], []))
        out[-1][1].append(line)
        code = re.sub(r'//.*', '', line)
        depth += code.count('{') - code.count('}')
    return out


def add_items_cxx(header, text):
    for namespace, part in in_namespaces(text):
        for paragraph in paragraphs(part):
            for comment, code in split_items(paragraph):
                header.items.append(Item(comment))
                add_cxx(header.items[-1], '\n'.join(code), namespace)
    return {name: name for item in header.items for name in item.names()}


def add_items(header, text):
    known = {}
    for paragraph in paragraphs(text):
        for comment, code in split_items(paragraph):
            last = header.items[-1] if header.items else None
            if not comment and last and last.comment and not last.functions:
                item = last
            else:
                item = Item(comment)
                header.items.append(item)
            for statement in statements(code):
                add_code(item, statement, known)
            if not code:  # a comment about macros that come later
                for macro in re.findall(r'^(fin_\w+)\(', '\n'.join(comment), re.M):
                    item.macros.append(macro)
                    known[macro] = macro + re.search(macro + r'(\([^)]*\))', '\n'.join(comment))[1]
    return known


def parse(path, name):
    text = path.read_text()
    lines = text.split('\n')
    end = next(i for i, line in enumerate(lines[1:], 1) if not line.startswith('//'))
    header = Header(name, [uncomment(line) for line in lines[1:end]], [])
    text = without_noise('\n'.join(lines[end:]))
    if header.cxx():
        header.known = add_items_cxx(header, text)
    else:
        header.known = add_items(header, re.sub(r'^namespace \w+ \{\n|^\} // namespace.*\n', '', text, flags=re.M))
    header.items = [i for i in header.items if i.code or i.macros or (i.comment and i.types)]
    return header


def read(include):
    """The headers by name, in the order of fin.h, those of other libraries and of C++ at the end."""
    include = pathlib.Path(include)
    order = re.findall(r'#include <(fin/\w+\.h)>', (include / 'fin.h').read_text())
    found = sorted(str(p.relative_to(include)) for p in (include / 'fin').glob('*.h*')) + ['fin.hpp']
    internal = {'fin/elide.h', 'fin/raise.hpp'}
    names = [n for n in dict.fromkeys(order + [f for f in found if f.endswith('.h')] + found) if n not in internal]
    headers = {n: parse(include / n, n) for n in names}
    known = {name for header in headers.values() if not header.cxx() for name in header.known}
    for header in headers.values():
        for item in header.items if header.cxx() else []:
            item.macros = [m for m in item.macros if m not in known]  # C's words once more, which mean the same
        header.items = [i for i in header.items if i.names() or not header.cxx()]
    return headers


def sentences(lines):
    text = re.sub(r'\s+', ' ', ' '.join(line for line in lines if not line.startswith('    ')))
    return [s.strip() for s in re.split(r'(?<=[.:?!])\s+(?=[A-Z`*-])(?!-?E[A-Z]+ (?:or|and))', text) if s.strip()]


def general(header, headers):
    """The header's opening comment, and those that it says hold for it as well."""
    out = [(header.name, header.intro)]
    for other in re.findall(r'See <?(fin/\w+\.h)>?', ' '.join(header.intro)):
        if other in headers and other != header.name:
            out.append((other, headers[other].intro))
    return out
