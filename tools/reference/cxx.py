# SPDX-License-Identifier: BSD-2-Clause
"""What a C++ header declares, without bodies and what is private."""
import re

ACCESS = re.compile(r'\s*(public|private|protected)')


def matching(text, at):
    """Where the brace that opens at `at` is closed."""
    depth = 0
    for i in range(at, len(text)):
        depth += {'{': 1, '}': -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError('a brace is not closed: ' + text[at:at + 60])


def statements(text):
    """[(comment lines in front, what stands before its body or its end, body or None)]"""
    out, said, start, i, depth = [], [], 0, 0, 0
    while i < len(text):
        if text.startswith('//', i):
            end = text.find('\n', i)
            end = len(text) if end < 0 else end
            if not text[start:i].strip():
                said += [text[i:end]] if not out or '\n' in text[start:i] else []
                start = end
            i = end
            continue
        depth += {'(': 1, '[': 1, ')': -1, ']': -1}.get(text[i], 0)
        if depth == 0 and text[i] in ';{':
            body = None
            end = i
            if text[i] == '{':
                end = matching(text, i)
                body = text[i + 1:end]
                behind = re.match(r'\s*;', text[end + 1:])
                end += behind.end() if behind else 0
            out.append((said, text[start:i].strip(), body))
            said, start, i = [], end + 1, end
        elif text[i] == ':' and ACCESS.fullmatch(text[start:i]):
            out.append(([], text[start:i].strip() + ':', None))
            start = i + 1
        i += 1
    return out


def untemplated(head):
    head = head.strip()
    while head.startswith('template'):
        depth, i = 0, head.index('<')
        while True:
            depth += {'<': 1, '>': -1}.get(head[i], 0)
            i += 1
            if depth == 0:
                break
        head = head[i:].strip()
    return head


def is_class(head):
    return re.match(r'(class|struct)\b', untemplated(head))


def name_of(head):
    """None: it has no name of its own, as a member that is defined outside of its class has none."""
    bare = re.sub(r'\[\[\w+\]\] |FIN_BLOCKING |inline |constexpr ', '', untemplated(head))
    if is_class(head):
        return re.match(r'(?:class|struct) (\w+)', bare)[1]
    called = re.match(r'[^(=]*?(::)?(\w+)\(', bare)
    if called:
        return None if called[1] or called[2] == 'static_assert' else called[2]
    variable = re.match(r'[^(=]*?(\w+) =', bare)
    return variable[1] if variable else None


def without_body(head):
    head = re.sub(r'__attribute__\(\(\w+\)\)\s*', '', head)
    head = re.sub(r'(\)(?: noexcept)?)\s+: .*', r'\1', head, flags=re.S)  # what a constructor makes of its members
    return re.sub(r'^inline |^(constexpr [^(]*?) =.*| =$', r'\1', head, flags=re.S)


def shown(head, body):
    """A declaration as a reader of the interface wants it."""
    if body is None or not is_class(head):
        return without_body(head) + ';'
    lines = []
    for said, inner, inside in statements(body):
        if inner in ('private:', 'protected:'):
            break
        if inner != 'public:':
            lines += said + shown(inner, inside).split('\n')
    return head + ' {\n' + '\n'.join('    ' + re.sub(r'^ {4}', '', line) for line in lines) + '\n};'


def declarations(code):
    """[(name, declaration)]"""
    return [(name, shown(head, body)) for _, head, body in statements(code) for name in [name_of(head)] if name]
