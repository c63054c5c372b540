#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs tests of a build on another kernel, in an emulated machine:

    apt-get install qemu-system-x86; apt-get download linux-image-VERSION-unsigned; dpkg-deb -x linux-image-*.deb KERNEL
    tools/old-kernel.py KERNEL/boot/vmlinuz-VERSION [--build build] [--kinds plain,epoll] [--set NAME=VALUE]... [TEST...]

Kernels of Debian and of Ubuntu (linux-image-unsigned-VERSION-generic) do; Ubuntu 22.04 has 5.15, the oldest that Fin is
for. A TEST is a room (chan) or a test in it (io/echo); by default all of io, chan, sync and cont. A kind is a value of
FIN_IO; none is run always. Other variables are set for all (FIN_SEED=19). The machine is slow: a test has two minutes. The
exit status is 1 where one failed.

For a build for aarch64: qemu-system-arm, a kernel of that architecture, and --busybox with the program of its package
busybox-static, in place of this machine's programs."""
import argparse
import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

# By the machine's number in an ELF file: how it is emulated, its console, and what has the dynamic linker list libraries.
LIST = 'LD_TRACE_LOADED_OBJECTS=1'
MACHINES = {62: (['qemu-system-x86_64'], 'ttyS0', 'x86_64-linux-gnu', ['env', LIST]),
            183: (['qemu-system-aarch64', '-machine', 'virt'], 'ttyAMA0', 'aarch64-linux-gnu', ['qemu-aarch64', '-E', LIST])}
PROGRAMS = ['bash', 'cat', 'date', 'echo', 'env', 'false', 'grep', 'head', 'ip', 'ln', 'ls', 'mkdir', 'mount', 'seq',
            'sleep', 'sort', 'tail', 'timeout', 'tr', 'true', 'uname', 'wc']
INIT = '''#!/bin/sh
export PATH=/bin FIN_FEW=1 FIN_ROUNDS=20 HOME=/ {settings}
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts /tmp /var/tmp
mount -t tmpfs tmp /tmp; mount -t tmpfs shm /dev/shm; mount -t devpts pts /dev/pts
ln -s /proc/self/fd /dev/fd
ip link set lo up
ulimit -n 4096
cd /tmp
for kind in {kinds}; do
    while read -r name command; do
        FIN_IO=$kind timeout -s KILL 120 env $command </dev/null >out 2>&1
        echo "RESULT $name '$kind' $?"
        tail -3 out
    done </tests
done
echo ALL RESULTS
echo o >/proc/sysrq-trigger
sleep 100
'''


def archive(root, path):
    """The directory as the kernel unpacks it at its start: cpio, in the format newc."""
    count = 0
    with gzip.open(path, 'wb', 1) as out:
        def entry(name, mode, data=b'', device=(0, 0)):
            nonlocal count
            count += 1
            name = name.encode() + b'\0'
            fields = (count, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0)
            head = b'070701' + b''.join(b'%08X' % f for f in fields) + name
            out.write(head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4))
        for directory, _, files in os.walk(root):
            inside = os.path.relpath(directory, root)
            entry(inside, 0o040755)
            for name in files:
                path = os.path.join(directory, name)
                if os.path.islink(path):
                    entry(os.path.join(inside, name), 0o120777, os.readlink(path).encode())
                    continue
                with open(path, 'rb') as f:
                    entry(os.path.join(inside, name), os.fstat(f.fileno()).st_mode, f.read())
        entry('dev/console', 0o020600, device=(5, 1))
        entry('TRAILER!!!', 0)


def machine_of(program):
    with open(program, 'rb') as f:
        return MACHINES[int.from_bytes(f.read(20)[18:], 'little')]


def programs_into(directory, busybox):
    """Returns those that need libraries."""
    if busybox:
        shutil.copy(busybox, os.path.join(directory, 'busybox'))
        for name in PROGRAMS + ['sh']:
            os.symlink('busybox', os.path.join(directory, name))
        return []
    programs = {p: shutil.which(p) or f'/sbin/{p}' for p in PROGRAMS} | {'sh': shutil.which('dash') or shutil.which('bash')}
    for name, path in programs.items():
        shutil.copy(os.path.realpath(path), os.path.join(directory, name))
    return list(programs.values())


def fill(root, tests, kinds, settings, busybox):
    paths = sorted({t['cmd'][0] for t in tests})
    _, _, triplet, lists = machine_of(paths[0])
    libraries = os.path.join('lib', triplet)
    for directory in ('bin', 't', 'proc', 'sys', 'dev', 'tmp', 'etc', 'usr', 'lib64', libraries):
        os.makedirs(os.path.join(root, directory))
    programs = programs_into(os.path.join(root, 'bin'), busybox)
    for path in paths:
        shutil.copy(path, os.path.join(root, 't'))
        subprocess.run([triplet + '-strip', '-g', os.path.join(root, 't', os.path.basename(path))], check=True)
    shutil.copy(f'/lib/{triplet}/libgcc_s.so.1', os.path.join(root, libraries))  # for pthread_exit
    for path in [*programs, *paths]:
        listed = subprocess.run([*lists, path], capture_output=True, text=True, check=False).stdout
        for library in re.findall(r'(/\S+\.so\S*)', listed):
            here = os.path.dirname(library)[1:]  # the dynamic linker's place is its name
            shutil.copy(library, os.path.join(root, here if here in ('lib', 'lib64') else libraries))
    with open(os.path.join(root, 'etc', 'passwd'), 'w', encoding='ascii') as f:
        f.write('root:x:0:0::/:/bin/sh\n')
    with open(os.path.join(root, 'init'), 'w', encoding='ascii') as f:
        f.write(INIT.format(kinds=' '.join(f'"{k}"' for k in kinds), settings=' '.join(map(shlex.quote, settings))))
    os.chmod(f.name, 0o755)
    with open(os.path.join(root, 'tests'), 'w', encoding='ascii') as f:
        for t in tests:
            words = [f'{k}={v}' for k, v in t['env'].items()] + ['/t/' + os.path.basename(t['cmd'][0]), *t['cmd'][1:]]
            f.write(' '.join([t['name'].replace(' ', '_'), *words]) + '\n')


def programs_of(build, wanted):
    """The build's tests that are one program each, in those rooms or of those names."""
    with open(os.path.join(build, 'meson-info', 'intro-tests.json'), encoding='utf-8') as f:
        found = json.load(f)
    return [t for t in found if (t['name'] in wanted or t['name'].split('/')[0] in wanted)
            and t['cmd'][0].startswith(os.path.join(os.path.abspath(build), 'tests', ''))
            and not any('/' in word for word in t['cmd'][1:]) and not any(s.endswith(':kinds') for s in t['suite'])]


def main():
    p = argparse.ArgumentParser(description='Runs tests on another kernel, in an emulated machine.')
    p.add_argument('kernel')
    p.add_argument('tests', nargs='*')
    p.add_argument('--build', default='build')
    p.add_argument('--kinds', default='', help='values of FIN_IO, with commas')
    p.add_argument('--busybox')
    p.add_argument('--set', action='append', default=[], metavar='NAME=VALUE')
    options = p.parse_intermixed_args()
    tests = programs_of(options.build, options.tests or ['io', 'chan', 'sync', 'cont'])
    if not tests:
        p.error('no such tests are built in ' + options.build)
    with tempfile.TemporaryDirectory() as directory:
        image = os.path.join(directory, 'image')
        fill(os.path.join(directory, 'root'), tests, ['', *filter(None, options.kinds.split(','))], options.set,
             options.busybox)
        archive(os.path.join(directory, 'root'), image)
        emulator, console, _, _ = machine_of(tests[0]['cmd'][0])
        command = ['setpriv', '--pdeathsig', 'KILL', *emulator, '-accel', 'tcg,thread=multi', '-cpu', 'max',
                   '-smp', '2', '-m', '3000', '-nographic', '-no-reboot', '-net', 'none',
                   '-kernel', options.kernel, '-initrd', image, '-append', f'console={console} quiet panic=-1']
        machine = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors='replace')
        failed, ended = 0, False
        for line in machine.stdout:
            result = re.match(r"RESULT (\S+) '(\S*)' (\d+)", line)
            failed += bool(result) and result[3] not in ('0', '77')
            ended |= line.startswith('ALL RESULTS')
            print(line.rstrip(), flush=True)
        machine.wait()
    print(f'{failed} failed' if ended else 'the machine did not end its work')
    return 1 if failed or not ended else 0


if __name__ == '__main__':
    sys.exit(main())
