#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The trace of two processes is what they did: trace.py PROGRAM"""
import collections
import json
import os
import subprocess
import sys
import tempfile


def fail(why, events):
    sys.exit('\n'.join(map(str, events[:200])) + '\n' + why)


def read(name):
    with open(name) as f:
        text = f.read()
    if not text.startswith('[\n'):
        sys.exit('no array: ' + text[:100])
    return json.loads(text.rstrip().rstrip(',') + ']')


def arrows(events, name):
    """By id: where it begins and where it ends."""
    found = collections.defaultdict(dict)
    for e in events:
        if e['ph'] in 'sf' and e['name'] == name:
            found[e['id']][e['ph']] = e
    return found


def check_slices(events):
    """What a thread runs does not overlap, and each slice has an end."""
    runs = collections.defaultdict(list)
    for e in events:
        if e['ph'] == 'X':
            runs[e['pid'], e['args']['thread']].append((e['ts'], e['dur']))
    for of_thread in runs.values():
        of_thread.sort()
        for (at, dur), (following, _) in zip(of_thread, of_thread[1:]):
            if at + dur > following + 0.01:
                fail('two slices of a thread overlap', events)


def check_messages(events):
    """20 messages to the other process, a call there and its answer; two of a thread to itself."""
    messages = arrows(events, 'message').values()
    if not all(len(a) == 2 and a['s']['ts'] <= a['f']['ts'] for a in messages):
        fail('a message has no end, or ends before it begins', events)
    ways = collections.Counter((a['s']['pid'], a['f']['pid']) for a in messages)
    if sorted(ways.values()) != [1, 2, 21] or [n for (s, f), n in ways.items() if s == f] != [2]:
        fail(f'messages from and to: {ways}', events)
    if any(a['s']['tid'] == a['f']['tid'] for a in messages if a['s']['pid'] == a['f']['pid']):
        fail('a message of a thread to itself is none between two tracks', events)


def check_crash(directory):
    """What a program that aborts did until then."""
    name = os.path.join(directory, 'crash')
    done = subprocess.run([sys.argv[1], 'crash'], env={**os.environ, 'FIN_TRACE': name}, capture_output=True, timeout=60)
    if done.returncode == 77:
        return
    events = read(name)
    if done.returncode != -6 or 'SIGABRT' not in [e['name'] for e in events if e['ph'] == 'i']:
        fail(f'no trace of a program that ended with {done.returncode}', events)
    if 'the aborter' not in [e['name'] for e in events if e['ph'] == 'X']:
        fail('what it did until it aborted is not there', events)


def check_channel(directory):
    """A channel that was made before the first AWE ran is traced like any other."""
    name = os.path.join(directory, 'channel')
    subprocess.run([sys.argv[1], 'channel'], env={**os.environ, 'FIN_TRACE': name}, check=True, timeout=60)
    events = read(name)
    messages = arrows(events, 'message').values()
    if len(messages) != 4 or not all(len(a) == 2 for a in messages):
        fail(f'{len(messages)} messages of a channel that was there first', events)


def check_late(directory):
    """What was begun before the trace is in it, and what the system lets go on is so by an arrow from an event."""
    name = os.path.join(directory, 'late')
    subprocess.run([sys.argv[1], 'late', name], check=True, timeout=60)
    events = read(name)
    check_slices(events)
    messages = arrows(events, 'message').values()
    if len(messages) != 8 or not all(len(a) == 2 for a in messages):
        fail(f'{len(messages)} messages of channels that are older than the trace', events)
    looks = [e for e in events if e['ph'] == 'X' and e['name'] == 'events']
    woken = set()
    for e in events:
        if e['ph'] == 's' and e['name'] == 'wake' and any(
                x['tid'] == e['tid'] and x['ts'] <= e['ts'] <= x['ts'] + x['dur'] for x in looks):
            woken |= {f['tid'] for f in events if f['ph'] == 'f' and f['id'] == e['id'] and f['ts'] >= e['ts']}
    who = {e['tid']: e['name'] for e in events if e['ph'] == 'X'}
    if not {'reads', 'outside any async'} <= {who[t] for t in woken}:
        fail(f'no arrow from an event to who read and who slept: {woken}', events)


def main():
    with tempfile.TemporaryDirectory() as directory:
        name = os.path.join(directory, 'trace "json"')
        subprocess.run(sys.argv[1:2], env={**os.environ, 'FIN_TRACE': name}, check=True, timeout=60)
        events = read(name)
        wrong = {**os.environ, 'FIN_TRACE': name + '.wrong', 'FIN_TRACE_EVENTS': '64k'}
        done = subprocess.run(sys.argv[1:2], env=wrong, capture_output=True, text=True, timeout=60)
        if done.returncode == 0 or 'FIN_TRACE_EVENTS is not' not in done.stderr:
            sys.exit('64k is no number: ' + done.stderr)
        few = {**os.environ, 'FIN_TRACE': '+' + name, 'FIN_TRACE_EVENTS': '64'}
        subprocess.run(sys.argv[1:2], env=few, check=True, timeout=60)
        appended = read(name)[len(events):]
        check_crash(directory)
        check_channel(directory)
        check_late(directory)
        each = collections.Counter(e['pid'] for e in appended if e['ph'] != 'M')
        if len(each) != 2 or max(each.values()) > 64:
            fail(f'not the last 64 events of two processes were appended: {each}', appended)
    if len({e['pid'] for e in events}) != 2:
        fail('not two processes', events)
    check_slices(events)
    names = {e['name'] for e in events if e['ph'] == 'X'}
    if not {'waits_for_another', 'the waker', 'receives', 'outside any async'} <= names:
        fail('not all that ran is there: ' + str(names), events)
    marks = [e['name'] for e in events if e['ph'] == 'i']
    if not {'woke it', 'cancel', 'äää????ääää?'} <= set(marks):
        fail('no marks', events)
    check_messages(events)
    if not any(len(a) == 2 and a['s']['tid'] != a['f']['tid'] for a in arrows(events, 'wake').values()):
        fail('nobody wakes another', events)


if __name__ == '__main__':
    main()
