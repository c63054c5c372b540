#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs tests of a build on another kernel, in an emulated machine:

    apt-get install qemu-system-x86; apt-get download linux-image-VERSION-unsigned; dpkg-deb -x linux-image-*.deb KERNEL
    tools/old-kernel.py KERNEL/boot/vmlinuz-VERSION [--build build] [--kinds plain,epoll] [--set NAME=VALUE]... [TEST...]

Kernels of Debian and of Ubuntu (linux-image-unsigned-VERSION-generic) do; Ubuntu 22.04 has 5.15, the oldest that Fin is
for. A TEST is a program of tests/io, without `io_` and `_c`; all by default. A kind is a value of FIN_IO; none is run
always. Other variables are set for all (FIN_SEED=19). The machine is slow: a test has two minutes. The exit status is 1
where one failed."""
import argparse
import glob
import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

PROGRAMS = ['bash', 'cat', 'date', 'echo', 'false', 'grep', 'head', 'ip', 'ls', 'mkdir', 'mount', 'seq', 'sleep', 'sort',
            'tail', 'timeout', 'tr', 'true', 'uname', 'wc']
INIT = '''#!/bin/bash
export PATH=/bin FIN_FEW=1 FIN_ROUNDS=20 HOME=/ {settings}
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts /tmp /var/tmp
mount -t tmpfs tmp /tmp; mount -t tmpfs shm /dev/shm; mount -t devpts pts /dev/pts
ip link set lo up
ulimit -n 4096
cd /tmp
for kind in {kinds}; do
    for t in {tests}; do
        FIN_IO=$kind timeout -s KILL 120 /t/$t </dev/null >out 2>&1
        echo "RESULT $t '$kind' $?"
        tail -3 out
    done
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
                with open(os.path.join(directory, name), 'rb') as f:
                    entry(os.path.join(inside, name), os.fstat(f.fileno()).st_mode, f.read())
        entry('dev/console', 0o020600, device=(5, 1))
        entry('TRAILER!!!', 0)


def fill(root, tests, kinds, settings):
    for directory in ('bin', 't', 'proc', 'sys', 'dev', 'tmp', 'etc', 'usr', 'lib64', 'lib/x86_64-linux-gnu'):
        os.makedirs(os.path.join(root, directory))
    programs = {p: shutil.which(p) or f'/sbin/{p}' for p in PROGRAMS} | {'sh': shutil.which('dash') or shutil.which('bash')}
    for name, path in programs.items():
        shutil.copy(os.path.realpath(path), os.path.join(root, 'bin', name))
    for path in tests:
        shutil.copy(path, os.path.join(root, 't'))
        subprocess.run(['strip', os.path.join(root, 't', os.path.basename(path))], check=True)
    shutil.copy('/lib/x86_64-linux-gnu/libgcc_s.so.1', os.path.join(root, 'lib/x86_64-linux-gnu'))  # for pthread_exit
    for path in [*programs.values(), *tests]:
        for library in re.findall(r'(/\S+\.so\S*)', subprocess.run(['ldd', path], capture_output=True, text=True,
                                                                    check=False).stdout):
            into = 'lib64' if library.startswith('/lib64') else 'lib/x86_64-linux-gnu'
            shutil.copy(library, os.path.join(root, into))
    with open(os.path.join(root, 'etc', 'passwd'), 'w', encoding='ascii') as f:
        f.write('root:x:0:0::/:/bin/sh\n')
    with open(os.path.join(root, 'init'), 'w', encoding='ascii') as f:
        f.write(INIT.format(kinds=' '.join(f'"{k}"' for k in kinds), tests=' '.join(map(os.path.basename, tests)),
                            settings=' '.join(map(shlex.quote, settings))))
    os.chmod(f.name, 0o755)


def main():
    p = argparse.ArgumentParser(description='Runs tests of I/O on another kernel, in an emulated machine.')
    p.add_argument('kernel')
    p.add_argument('tests', nargs='*')
    p.add_argument('--build', default='build')
    p.add_argument('--kinds', default='', help='values of FIN_IO, with commas')
    p.add_argument('--set', action='append', default=[], metavar='NAME=VALUE')
    options = p.parse_intermixed_args()
    found = sorted(path for path in glob.glob(os.path.join(options.build, 'tests', 'io', 'io_*_c')) if os.path.isfile(path))
    tests = [path for path in found if not options.tests or os.path.basename(path)[3:-2] in options.tests]
    if not tests:
        p.error('no such tests are built in ' + options.build)
    with tempfile.TemporaryDirectory() as directory:
        image = os.path.join(directory, 'image')
        fill(os.path.join(directory, 'root'), tests, ['', *filter(None, options.kinds.split(','))], options.set)
        archive(os.path.join(directory, 'root'), image)
        command = ['setpriv', '--pdeathsig', 'KILL', 'qemu-system-x86_64', '-accel', 'tcg,thread=multi', '-cpu', 'max',
                   '-smp', '2', '-m', '1500', '-nographic', '-no-reboot', '-net', 'none',
                   '-kernel', options.kernel, '-initrd', image, '-append', 'console=ttyS0 quiet panic=-1']
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
