#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A report that is told to end ends the step that runs, which removes its files, and what that has started:
report_ended.py SOURCE"""
import glob
import os
import signal
import subprocess
import sys
import tempfile
import time

# Makes the files to read; then, as what is measured, says who it is and takes for ever.
READS = '''#!/bin/sh
[ "$1" != --make ] || { : >"$2"; : >"$3"; exit; }
echo $$ >"$0.new"
mv "$0.new" "$0.pid"
exec sleep 1000
'''


def runs(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii') as f:
            return f.read().rpartition(')')[2].split()[0] not in 'ZX'
    except (FileNotFoundError, ProcessLookupError):
        return False


def ended(build):
    """What was found wrong."""
    results = os.path.join(build, 'bench', 'io', 'results')
    report = subprocess.Popen([sys.executable, os.path.join(sys.argv[1], 'tools', 'report', 'report.py'), '--build', build,
                               '--only', 'reads'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while not (running := glob.glob(os.path.join(build, '**', '*.pid'), recursive=True)):
        if report.poll() is not None:
            return report.communicate()[0] + 'the report ended by itself'
        time.sleep(0.02)
    with open(running[0], encoding='ascii') as f:
        pid = int(f.read())
    report.send_signal(signal.SIGTERM)
    said = report.communicate()[0]
    left = runs(pid)
    if left:
        os.kill(pid, signal.SIGKILL)
    files = glob.glob(os.path.join(results, 'fin-reads-*'))
    if report.returncode != 143 or left or files:
        return f'{said}status {report.returncode}; what was measured {"runs on" if left else "has ended"}; left: {files}'
    return None


def main():
    with tempfile.TemporaryDirectory() as build:
        for path in ('examples/reads', 'bench/io/rival-uring'):
            at = os.path.join(build, path)
            os.makedirs(os.path.dirname(at))
            with open(at, 'w', encoding='ascii') as f:
                f.write(READS)
            os.chmod(at, 0o755)
        sys.exit(ended(build))


if __name__ == '__main__':
    main()
