#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The library itself is marked as it asks of programs: library_blocking.py DIRECTORY COMPILE_COMMANDS"""
import glob
import os
import subprocess
import sys

top, commands = sys.argv[1:]
sources = sorted(glob.glob(os.path.join(top, 'src', '**', '*.c'), recursive=True))
sys.exit(subprocess.run([os.path.join(top, 'tools', 'check-blocking.py'), commands, *sources]).returncode)
