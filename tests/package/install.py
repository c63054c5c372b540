#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Installs a build elsewhere, and builds programs there that know nothing but what is installed, through pkg-config and
through CMake, shared and static: install.py BUILD PREFIX LIBDIR VERSION -- CC... -- CXX...
Without a build, "-", it is the Debian packages in the current directory that are looked at."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

CONSUMER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'consumer')


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100, **options)
    if done.returncode:
        sys.exit(' '.join(command) + f' failed ({done.returncode}):\n' + done.stdout)
    return done.stdout


def check_files(lib, version):
    soname = re.search(r'SONAME.*\[(.*)\]', run('readelf', '-d', f'{lib}/libfin.so')).group(1)
    if soname != 'libfin.so.' + version.split('.')[0]:
        sys.exit('the shared library says that it is ' + soname)
    if os.path.realpath(f'{lib}/{soname}') != os.path.realpath(f'{lib}/libfin.so.{version}'):
        sys.exit(f'{soname} is not libfin.so.{version}')
    symbols = run('nm', '-D', '--defined-only', f'{lib}/libfin.so')
    odd = [s for s in re.findall(r' [A-Z] (\S+)', symbols) if '@@FIN_0.1' not in s and s != 'FIN_0.1']
    if odd:
        sys.exit('exported without a version: ' + ' '.join(odd))


def check_probes(lib):
    if os.path.exists('/usr/include/sys/sdt.h'):
        notes = run('readelf', '-n', f'{lib}/libfin.so')
        names = ('blocked', 'cancel', 'woken', 'sleep', 'more_stacks')
        lacking = [n for n in names if not re.search(rf'Name: {n}$', notes, re.M)]
        if lacking or 'Provider: fin' not in notes:
            sys.exit(f'no probes {lacking}')


def check_headers(include, root, compilers):
    """Each header compiles alone."""
    for language, compiler in compilers.items():
        for folder in (include, f'{include}/fin'):
            for name in sorted(os.listdir(folder)):
                if not name.endswith({'c': '.h', 'cpp': '.hpp'}[language]):
                    continue
                coroutines = name.startswith('co_') or name == 'coro.hpp'
                std = '-std=gnu11' if language == 'c' else '-std=c++20' if coroutines else '-std=c++17'
                run(*compiler, std, '-Wall', '-Wextra', '-Werror', '-fsyntax-only', '-I' + include, '-x',
                    'c' if language == 'c' else 'c++', '-include', f'{folder}/{name}', '/dev/null')


def with_pkg_config(root, lib, compilers):
    env = {**os.environ, 'PKG_CONFIG_PATH': f'{lib}/pkgconfig', 'PKG_CONFIG_SYSROOT_DIR': root}
    for language, compiler in compilers.items():
        for static in (False, True):
            flags = run('pkg-config', '--cflags', '--libs', *(['--static'] if static else []), 'fin', env=env).split()
            if static:
                flags = [f'{lib}/libfin.a' if f == '-lfin' else f for f in flags]
            program = os.path.join(root, f'use-{language}-{static}')
            run(*compiler, '-Wall', '-Wextra', '-Werror', f'{CONSUMER}/use.{language}', '-o', program, *flags)
            run(program, env={**os.environ, 'LD_LIBRARY_PATH': '' if static else lib})


def with_cmake(root, prefix, lib, compilers):
    build = os.path.join(root, 'consumer')
    options = [f'-DCMAKE_{name}_COMPILER={compilers[key][0]}' for name, key in (('C', 'c'), ('CXX', 'cpp'))]
    run('cmake', '-G', 'Ninja', '-S', CONSUMER, '-B', build, '-DCMAKE_PREFIX_PATH=' + prefix, *options)
    run('cmake', '--build', build)
    tls = ('use-tls', 'use-tls-static') if glob.glob(f'{lib}/libfin-tls.so') else ()
    for name in ('use-c-fin', 'use-c-fin-static', 'use-cpp-fin', 'use-cpp-fin-static', *tls):
        run(os.path.join(build, name))


def main():
    build, prefix, libdir, version = sys.argv[1:5]
    rest = sys.argv[6:]
    compilers = {'c': rest[:rest.index('--')], 'cpp': rest[rest.index('--') + 1:]}
    if compilers['c'][0] == 'ccache':
        compilers = {k: v[1:] for k, v in compilers.items()}
    with tempfile.TemporaryDirectory() as root:
        if build == '-':
            for package in glob.glob('*.deb'):
                run('dpkg-deb', '-x', package, root)
        else:
            run('meson', 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir', root)
        place = root + prefix
        lib = os.path.join(place, libdir)
        check_files(lib, version)
        if build != '-':
            check_probes(lib)
        run(f'{place}/bin/fin-top', '--help')
        for page in ('fin_sleep', 'fin::mutex') if build == '-' else ():
            if not glob.glob(f'{place}/share/man/man3/{page}.3*'):
                sys.exit(f'the packages have no man page {page}(3)')
        check_headers(os.path.join(place, 'include'), root, compilers)
        with_pkg_config(root, lib, compilers)
        if not shutil.which('cmake'):
            print('skipped: no cmake; with pkg-config all is well', file=sys.stderr)
            return 77
        with_cmake(root, place, lib, compilers)
    return 0


if __name__ == '__main__':
    sys.exit(main())
