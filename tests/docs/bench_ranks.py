#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Where the benchmarks of I/O say with 90% confidence that a median is, there it is in 90% of the cases or more, whenever
they stop because of what they see: counted over all orders of samples below and above it. bench_ranks.py SOURCE"""
import itertools
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(sys.argv[1], 'bench', 'io'))
from common import Samples  # noqa: E402

LOOKS = [(n, n) for n in range(1, 12)] + [(3, 12), (5, 15), (7, 14)]


def left_out(looks, n):
    """How many of n ratios lie on either side of what is said; None: nothing is said."""
    with tempfile.TemporaryDirectory() as directory:
        samples = Samples(os.path.join(directory, 'x.csv'), ['who'], ['value'])
        samples.looks = looks
        for repetition in range(n):
            samples.add(('we',), repetition, [1 + repetition])
            samples.add(('they',), repetition, [1])
        between = samples.ratio_between(('we',), ('they',), 'value')
        samples.close()
    if between is None:
        return None
    if between[0] - 1 != n - between[1]:
        sys.exit(f'{n} ratios: {between} is not as far from the least as from the greatest')
    return between[0] - 1


def wrong(looks):
    """In what part of all orders some look has the median outside."""
    out = {n: left_out(looks, n) for n in range(looks[0], looks[1] + 1)}
    count = 0
    for order in itertools.product((0, 1), repeat=looks[1]):
        below = 0
        for n, is_below in enumerate(order, 1):
            below += is_below
            if out.get(n) is not None and not out[n] < below < n - out[n]:
                count += 1
                break
    return count / 2 ** looks[1], out


def main():
    for looks in LOOKS:
        part, out = wrong(looks)
        if part > 0.1:
            sys.exit(f'from {looks[0]} to {looks[1]} repetitions: the median is outside in {part:.1%} of the cases: {out}')
        # Of 5 the least and the greatest are enough (93.75%), of 4 they are not (87.5%); of 8 the second ones (93.0%).
        alone = looks[0] == looks[1]
        if alone and (out[looks[0]] is None) != (looks[0] < 5) or looks == (8, 8) and out[8] != 1:
            sys.exit(f'{looks[0]} repetitions: {out}')


if __name__ == '__main__':
    main()
