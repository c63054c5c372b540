# SPDX-License-Identifier: BSD-2-Clause
"""Programs that stand for those that a benchmark runs."""
import os


def program(directory, path, text):
    at = os.path.join(directory, path)
    os.makedirs(os.path.dirname(at), exist_ok=True)
    with open(at, 'w', encoding='ascii') as f:
        f.write(text)
    os.chmod(at, 0o755)
