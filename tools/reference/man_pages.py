# SPDX-License-Identifier: BSD-2-Clause
"""Man pages of section 3 from headers as data."""
import re

import headers as h

LIBRARIES = {'fin/resolve.h': 'fin-resolve', 'fin/tls.h': 'fin-tls'}
RETURNS = re.compile(r'(Returns?\b|-E[A-Z]+|0[;,.]|0 and\b|Or (?:a negative errno|-E))')


def escape(text):
    text = text.replace('\\', '\\e').replace('-', '\\-')
    return re.sub(r"^([.'])", r'\\&\1', text, flags=re.M)


def mark(text):
    """Words in backquotes and names of functions stand out."""
    text = re.sub(r'`([^`]+)`', r'\\fB\1\\fP', escape(text))
    return re.sub(r'(?<![\w\\])((?:fin|THC|thc|awe_mapper)_\w*[a-z0-9])\b(?!\.h)', r'\\fB\1\\fP', text)


def block(lines):
    """A comment: paragraphs; what is indented stays as it is; lists."""
    out, code = [], False
    for line in lines:
        indented = line.startswith('    ')
        if indented != code:
            out.append('.PP\n.nf' if indented else '.fi\n.PP')
            code = indented
        if not line.strip():
            out.append('' if code else '.PP')
        elif indented:
            out.append(escape(line))
        elif line.startswith('- '):
            out.append('.IP \\(bu 2\n' + mark(line[2:]))
        else:
            out.append(mark(line.strip()))
    return '\n'.join(out + (['.fi'] if code else []))


def flow(sentences):
    return mark('\n'.join(sentences))


def head(title):
    return f'.\\" Made from the headers by tools/reference.\n.TH {title} 3 "" "Fin" "Fin"\n'


def parted(comment):
    """(the comment without them, the sentences about what is returned)"""
    said, text = [], []
    run = []

    def flush():
        for s in h.sentences(run):
            (said if RETURNS.match(s) or (said and text and s.startswith(('Otherwise', 'Then'))) else text).append(s)
        if run and text and text[-1] != '':
            text.append('')
        run.clear()

    for line in comment:
        if line.startswith('    ') or not line.strip():
            flush()
            text.append(line)
        elif line.startswith('- '):
            flush()
            run.append(line)
        else:
            run.append(line)
    flush()
    while text and not text[-1].strip():
        text.pop()
    return text, said


def first_sentence(comment):
    found = h.sentences(comment)
    text = found[0].rstrip('.:') if found else ''
    return text if len(text) < 90 else text[:86].rsplit(' ', 1)[0] + ' ...'


def returned(page, said, found):
    kinds = {re.match(r'(?:FIN_BLOCKING )?(.*?)\b\w+\(', d, re.S)[1].replace('FIN_BLOCKING', '').strip()
             for d in page.functions().values()}
    if said:
        return flow(said)
    if kinds <= {'void'}:
        return 'Nothing.'
    general = [s for _, intro in h.general(page.header, found) for s in h.sentences(intro) if re.search(r'\breturns?\b', s)]
    return flow(general[:3]) if general else 'See DESCRIPTION.'


def waiting(page):
    blocking = [n for n, d in page.functions().items() if 'FIN_BLOCKING' in d]
    if not blocking:
        return mark('None of these functions lets other AWEs of the thread run before it returns.'
                    if 'noreturn' not in ' '.join(page.functions().values()) and not
                    any(n.endswith(('_on', '_on_nc')) or 'handoff' in n for n in page.functions())
                    else 'What the AWE waits with is a continuation: see DESCRIPTION.')
    out = [', '.join(blocking) + ' may block: other AWEs of the thread may run before the result is there.']
    cancelled = [n for n in blocking if n + '_nc' in page.functions()]
    if cancelled:
        out.append(', '.join(cancelled) + ': -ECANCELED where the finish block around the call is cancelled.')
    shielded = [n for n in blocking if n.endswith('_nc')]
    if shielded:
        out.append(', '.join(shielded) + ': not cancelled.')
    return '\n.PP\n'.join(mark(o) for o in out)


def blocking_cxx(page):
    """Names that are declared FIN_BLOCKING in C++."""
    return list(dict.fromkeys(re.findall(r'FIN_BLOCKING [^(]*?(~?\w+)\(', '\n'.join(c for i in page.items if i.cxx
                                                                                   for c in i.code))))


def function_page(page, found, others):
    header, names = page.header, page.names()
    text, said = parted(page.comment())
    synopsis = '\n'.join(c for i in page.items for c in i.code) or '\n'.join(header.known[n] for n in names)
    if not header.cxx():
        synopsis += ''.join('\n' + header.known[n] for i in page.items for n in i.macros if i.code and not n.isupper()
                            and n in header.known)
    out = [head(names[0]), '.SH NAME', escape(', '.join(names)) + ' \\- ' + mark(first_sentence(page.comment())),
           '.SH SYNOPSIS', '.nf', f'.B #include <{header.name}>', '.PP', escape(synopsis), '.fi', '.PP',
           f'Link with what \\fBpkg\\-config \\-\\-libs {escape(LIBRARIES.get(header.name, "fin"))}\\fP says.',
           '.SH DESCRIPTION', block(text or page.comment())]
    if page.functions():
        out += ['.SH RETURN VALUE', returned(page, said, found), '.SH WAITING AND CANCELLATION', waiting(page),
                '.SH THREADS', flow(page.threads(found))]
    may_block = blocking_cxx(page)
    if may_block:
        out += ['.SH WAITING AND CANCELLATION', f'{mark(", ".join(may_block))} may block: other AWEs of the thread may run '
                'before the result is there.']
    for name, intro in h.general(header, found):
        out += [f'.SH ALL OF {name}', block(intro)]
    text = ' '.join([*page.comment(), *(i.written for i in page.items)])
    mentioned = [n for n in dict.fromkeys(re.findall(r'\bfin(?:_\w*[a-z0-9]|(?:::\w+)+)\b', text))
                 if n not in names and n in others]
    near = [p.names()[0] for p in found[header.name].pages if p is not page]
    also = list(dict.fromkeys(mentioned + near + [header.page()]))
    out += ['.SH SEE ALSO', ',\n'.join(f'.BR {escape(n)} (3)' for n in also).replace(',\n', ' ,\n')]
    return '\n'.join(out) + '\n'


def header_page(header, pages):
    out = [head(header.page()), '.SH NAME', f'{escape(header.page())} \\- ' + mark(first_sentence(header.intro)),
           '.SH SYNOPSIS', f'.B #include <{header.name}>', '.SH DESCRIPTION', block(header.intro)]
    types = [i for i in header.items if i.types or (i.macros and i.code and not i.functions and not header.cxx())]
    if types:
        out.append('.SH TYPES AND CONSTANTS')
    for item in types:
        code = [c for c in item.code if not h.FUNCTION.match(re.sub(r'\s*//.*', '', c))]
        out += ['.PP', block(item.comment), '.PP\n.nf', escape('\n\n'.join(code)), '.fi']
    if pages:
        out += ['.SH FUNCTIONS', ' ,\n'.join(f'.BR {escape(p.names()[0])} (3)' for p in pages)]
    return '\n'.join(out) + '\n'


def write(found, pages_of):
    files, names = {}, {n for pages in pages_of.values() for p in pages for n in p.names()}
    for name, pages in pages_of.items():
        found[name].pages = pages
    for name, pages in pages_of.items():
        header = found[name]
        files[header.page() + '.3'] = header_page(header, pages)
        for item in header.items:
            for macro in item.macros:
                if macro not in names and not macro.isupper():
                    files.setdefault(macro + '.3', f'.so man3/{header.page()}.3\n')
        for page in pages:
            first, *others = page.names()
            files[first + '.3'] = function_page(page, found, names)
            for other in others:
                files[other + '.3'] = f'.so man3/{first}.3\n'
    return files
