# SPDX-License-Identifier: BSD-2-Clause
"""HTML pages from headers as data: one for each header, and an index."""
import html
import re

STYLE = '''body { max-width: 60em; margin: 2em auto; padding: 0 1em; font: 16px/1.45 sans-serif; color: #222;
    background: #fff }
pre { background: #f5f5f2; padding: .6em .8em; overflow-x: auto } a { color: #05518c; text-decoration: none }
code, pre { font: 14px/1.4 monospace } section { border-top: 1px solid #ddd; margin-top: 1.5em }
ul.names { columns: 3; list-style: none; padding: 0 } td { padding: .15em 1em .15em 0; vertical-align: top }'''
WORD = re.compile(r'\bfin(?:::\w+)+|\b(?:fin|FIN|THC|thc|awe_mapper)_?\w*[A-Za-z0-9]\b|\bfin/\w+\.h(?:pp)?')


class Links:
    def __init__(self, found):
        self.where = {}
        for header in reversed(list(found.values())):
            self.where[header.name] = header.page() + '.html'
            for item in header.items:
                for name in item.names() + item.types:
                    if name:
                        self.where[name] = f'{header.page()}.html#{name}'

    def text(self, text):
        def link(m):
            target = self.where.get(m[0])
            return f'<a href="{target}">{m[0]}</a>' if target else m[0]
        text = html.escape(text, quote=False)
        return WORD.sub(link, text)

    def prose(self, text):
        return re.sub(r'`([^`]+)`', r'<code>\1</code>', self.text(text))


def comment(lines, links):
    out, run, kind = [], [], None

    def flush():
        nonlocal run
        if run and kind == 'code':
            out.append('<pre>' + links.text('\n'.join(line[4:] for line in run).rstrip()) + '</pre>')
        elif run and kind == 'list':
            items = re.split(r'^- ', '\n'.join(run), flags=re.M)[1:]
            out.append('<ul>' + ''.join(f'<li>{links.prose(i)}</li>' for i in items) + '</ul>')
        elif run:
            out.append('<p>' + links.prose('\n'.join(run)) + '</p>')
        run = []

    for line in lines:
        now = 'code' if line.startswith('    ') else 'list' if line.startswith('- ') or (
            kind == 'list' and line.startswith('  ')) else 'text'
        if not line.strip():
            if kind != 'code':
                flush()
                kind = None
            else:
                run.append('')
            continue
        if now != kind:
            flush()
            kind = now
        run.append(line)
    flush()
    return '\n'.join(out)


def page(title, body):
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
            f'<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n')


def header_page(header, links):
    out = ['<p><a href="index.html">Fin: reference</a></p>', f'<h1>{header.name}</h1>', comment(header.intro, links)]
    seen = {''}  # a function may have the name of a structure, or of another function
    for item in header.items:
        names = [n for n in dict.fromkeys(item.names() + item.types) if n and n not in seen]
        seen.update(names)
        anchors = ''.join(f'<a id="{n}"></a>' for n in names)
        code = item.code or [header.known[n] for n in item.macros if n in header.known]
        out.append(f'<section>{anchors}' + (f'<pre>{links.text(chr(10).join(code))}</pre>' if code else '') +
                   comment(item.comment, links) + '</section>')
    return page(header.name, '\n'.join(out))


def write(found):
    links = Links(found)
    files = {header.page() + '.html': header_page(header, links) for header in found.values()}
    rows = ''.join(f'<tr><td><a href="{x.page()}.html">{x.name}</a></td>'
                   f'<td>{links.prose(re.split(r"(?<=[.:]) ", " ".join(x.intro) + " ")[0].rstrip(":"))}</td></tr>\n'
                   for x in found.values())
    names = sorted((n for n in links.where if '/' not in n and not n.endswith('.hpp')), key=str.lower)
    index = ''.join(f'<li><a href="{links.where[n]}">{n}</a></li>\n' for n in names)
    files['index.html'] = page('Fin: reference', f'''<h1>Fin: reference</h1>
<p>Made from the comments of the headers, which say the same.</p>
<table>
{rows}</table>
<h2>All names</h2>
<ul class="names">
{index}</ul>''')
    return files
