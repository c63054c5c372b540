#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Builds the tree in every way that it must work in and runs its tests in each. ./test installs what this needs, then calls
it.

    tools/test.py            all builds
    tools/test.py NAME...    some; tools/test.py --list names them

While the tests of one build run, which wait for most of their time, the next ones are compiled, at a lower priority."""
import concurrent.futures
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GCC = {'CC': 'gcc', 'CXX': 'g++'}
FEW = {'FIN_FEW': '1'}  # thousands instead of a million where a million shows no more
CLANG = {'CC': 'clang-19', 'CXX': 'clang++-19', 'CC_LD': 'lld', 'CXX_LD': 'lld', 'AR': 'llvm-ar-19'}
TWO = ['-Dio_kinds=epoll']  # the default and epoll: these builds look at misuse, not at old kernels
ONE = ['-Dio_kinds=']  # the default: what Clang makes of the others the build clang-tsan runs; and in qemu it is epoll
ALONE = ['-Dresolve=disabled', '-Dtls=disabled']  # without the libraries that stand on it
CORE = ['-Drooms=core', *ALONE]  # where only what the compiler does to the call sites matters
THC = ['-Drooms=core,thc', *ALONE]  # and to THC's, which expand to those of the core: not at each level
# Debug information of lines only, which is what a report needs: a quarter of the compilers' work less.
LINES = ['-Dc_args=-g1', '-Dcpp_args=-g1']
# Scenarios that are not about what is compiled into a program: one build with each compiler optimizes them.
AS_WRITTEN = ['-Doptimize_scenarios=false']
# Half the work of binutils' other linker, which the build gcc has, as users do.
GOLD = ['-Dc_link_args=-fuse-ld=gold', '-Dcpp_link_args=-fuse-ld=gold']
SANITIZER_ENV = {'ASAN_OPTIONS': 'detect_stack_use_after_return=1:detect_leaks=1', 'UBSAN_OPTIONS': 'halt_on_error=1',
                 'TSAN_OPTIONS': 'halt_on_error=1:atexit_sleep_ms=20'}  # a second, otherwise, each
# A second a test: each once, and programs only. A report has lines, but not the functions that were inlined there. One
# thread runs at a time, in turns: or else one that computes may hold up the others for a minute. Most code runs once, and
# not to translate it beyond its jumps as well is a twelfth less.
VALGRIND = ['-t', '4', '--no-suite', 'kinds', '--no-suite', 'levels', '--no-suite', 'tools', '--wrapper',
            'valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite --read-inline-info=no '
            '--fair-sched=yes --vex-guest-chase=no']
# not fault: a child for each point of a program that runs many times slower
for room in ('core', 'cont', 'sync', 'io', 'bufio', 'chan', 'thc', 'fuzz', 'resolve', 'tls', 'models'):
    VALGRIND += ['--suite', room]
# Reading what a debugger wants to know of libc is a third of a short test's time; these programs run with a libc that does
# not say where that is.
LIBC = os.path.join(TOP, '.build', 'libc')

# name: (environment, options of meson setup, options of meson test)
BUILDS = {
    'gcc': (GCC, [], []),
    # builds the benchmarks; that they run, what follows from failures below the library, and the long forms, gcc shows
    'clang': ({**CLANG, **FEW}, ONE, ['--no-suite', 'bench', '--no-suite', 'fault']),
    'gcc-O0': ({**GCC, **FEW}, ['-Doptimization=0', *THC, *GOLD], []),
    # GCC leaves frame pointers out by itself from -O1 on
    'gcc-O3-lto-pie-native': ({**GCC, **FEW}, ['-Doptimization=3', '-Db_lto=true', '-Db_pie=true',
                                    '-Dc_args=-g1 -march=native', '-Dcpp_args=-g1 -march=native', *CORE], []),
    'clang-O0': ({**CLANG, **FEW}, ['-Doptimization=0', *THC], []),
    # with the cache the library is compiled once, and not for each program
    'clang-O3-lto-pie-frame-pointers': ({**CLANG, **FEW}, [
        '-Doptimization=3', '-Db_lto=true', '-Db_lto_mode=thin', '-Db_thinlto_cache=true', '-Db_pie=true',
        '-Dc_args=-fno-omit-frame-pointer', '-Dcpp_args=-fno-omit-frame-pointer', *CORE], []),
    # Code that does not go on after what is undefined is less for GCC to compile.
    'gcc-asan-ubsan': ({**GCC, **FEW, **SANITIZER_ENV}, [
        '-Db_sanitize=address,undefined', '-Doptimization=1', *TWO, *GOLD, *AS_WRITTEN,
        *(args + ' -fno-sanitize-recover=all' for args in LINES)], ['-t', '2']),
    'clang-tsan': ({**CLANG, **FEW, **SANITIZER_ENV},
                   ['-Db_sanitize=thread', '-Db_lundef=false', '-Doptimization=1', *TWO, *LINES, *AS_WRITTEN],
                   ['-t', '2']),
    'valgrind': ({**GCC, **FEW, 'LD_LIBRARY_PATH': LIBC}, [], VALGRIND),
    'aarch64-gcc': (FEW, ['--cross-file', 'tools/aarch64.ini', *ONE, *LINES, *GOLD, *AS_WRITTEN], ['-t', '2']),
    # what differs is libc, not what the compiler makes of the call sites: GCC's builds above
    'musl': (FEW, ['--cross-file', 'tools/musl.ini', '-Doptimization=1', '-Drooms=core,io,bufio,sync', *ONE, *AS_WRITTEN],
             ['-t', '2']),
    'aarch64-clang': (FEW, ['--cross-file', 'tools/aarch64-clang.ini', *THC, *LINES], ['-t', '2']),
}
failures = []  # told again at the end, where the last lines of a long log are what one sees
PROGRAMS = {'valgrind': 'gcc'}  # those of another build, as the compiler makes them for users
TWICE = ['gcc', 'clang']  # these also build the benchmarks
built = {}


def run(command, env, log):
    """Whether it went well, and the seconds of a processor that it took."""
    with open(log, 'a') as f:
        f.write('$ ' + ' '.join(command) + '\n')
        f.flush()
        process = subprocess.Popen(command, cwd=TOP, env=env, stdout=f, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode == 0, used.ru_utime + used.ru_stime


def results(name, build):
    passed, failed, skipped = [], [], []
    log = 'testlog-valgrind.json' if name == 'valgrind' else 'testlog.json'
    with open(os.path.join(build, 'meson-logs', log)) as f:
        for line in f:
            test = json.loads(line)
            where = {'OK': passed, 'SKIP': skipped}.get(test['result'], failed)
            where.append(test)
    return passed, failed, skipped


def make_libc():
    with open('/proc/self/maps') as f:
        path = next(line.split()[-1] for line in f if line.rstrip().endswith('/libc.so.6'))
    os.makedirs(LIBC, exist_ok=True)
    subprocess.run(['objcopy', '--remove-section=.note.gnu.build-id', '--remove-section=.gnu_debuglink', path,
                    os.path.join(LIBC, 'libc.so.6')], check=True)


def place(name):
    build = os.path.join(TOP, '.build', PROGRAMS.get(name, name))
    return build, os.path.join(TOP, '.build', name + '.log'), {**os.environ, **BUILDS[name][0]}


def compiled(name, ahead):
    """Whether it compiles, and the seconds that it took, and those of a processor."""
    build, log, env = place(name)
    os.makedirs(os.path.dirname(build), exist_ok=True)
    open(log, 'w').close()
    if build in built:
        return built[build], 0, 0
    shutil.rmtree(build, ignore_errors=True)
    bench = '-Dbench=' + ('true' if PROGRAMS.get(name, name) in TWICE else 'false')
    start = time.time()
    nice = ['nice', '-n', '10'] if ahead else []
    good, used = run([*nice, 'meson', 'setup', build, bench, *BUILDS[name][1]], env, log)
    if good:
        # not more than there are processors, as ninja would: they take each other's caches
        good, more = run([*nice, 'ninja', '-C', build, '-j', str(os.cpu_count())], env, log)
        used += more
    built[build] = good
    return good, time.time() - start, used


def tested(name, good, seconds, used):
    build, log, env = place(name)
    if not good:
        print(f'{name}: does not build; the end of {os.path.relpath(log, TOP)}:', flush=True)
        with open(log) as f:
            print(''.join(f.readlines()[-30:]))
        failures.append(f'{name}: does not build')
        return 0, 1, 0
    start = time.time()
    many = str(2 * os.cpu_count())
    once = [] if name == 'gcc' else ['--no-suite', 'once']
    _, tests_used = run(['meson', 'test', '-C', build, '--no-rebuild', '--print-errorlogs', '--num-processes', many, *once,
                         *BUILDS[name][2]], env, log)
    passed, failed, skipped = results(name, build)
    print(f'{name}: {len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped (compiled in {seconds:.0f} s, tested '
          f'in {time.time() - start:.0f} s; {used:.0f} and {tests_used:.0f} s of a processor)', flush=True)
    for t in failed:
        text = f'  {t["name"]}: {t["result"]}\n' + (t.get('stdout') or '') + (t.get('stderr') or '')
        print(text, flush=True)
        failures.append(f'{name}: {text[:2000]}')
    for t in skipped:
        print(f'  {t["name"]}: {(t.get("stderr") or t.get("stdout") or "skipped").strip().splitlines()[-1]}', flush=True)
    return len(passed), len(failed), len(skipped)


def main():
    names = sys.argv[1:] or list(BUILDS)
    if names[0] in ('-h', '--help'):
        print(__doc__)
        return 0
    if names == ['--list']:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # who reads may have enough
        print('\n'.join(BUILDS))
        return 0
    unknown = [n for n in names if n not in BUILDS]
    if unknown:
        print('no such build: ' + ', '.join(unknown))
        return 2
    if 'valgrind' in names:
        make_libc()
    total, start = [0, 0, 0], time.time()
    compiler = concurrent.futures.ThreadPoolExecutor(1)
    try:
        coming = [compiler.submit(compiled, name, i > 0) for i, name in enumerate(names)]
        for i, name in enumerate(names):
            print(f'[{i + 1}/{len(names)}] {name} ...', flush=True)
            for k, n in enumerate(tested(name, *coming[i].result())):
                total[k] += n
    finally:
        compiler.shutdown(cancel_futures=True)
    passed, failed, skipped = total
    if failures:
        print('What failed, once more:', *failures, sep='\n')
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f'{time.time() - start:.0f} s in all, {used.ru_utime + used.ru_stime:.0f} s of {os.cpu_count()} processors')
    print(f'{passed} passed, {failed} failed' + (f', {skipped} skipped' if skipped else ''))
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
