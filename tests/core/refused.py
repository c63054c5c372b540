#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What must not compile does not, and the first error says why, in a name of Fin's the only one:
refused.py INCLUDE COMPILER... -- FILE...

The headers that the C++ cases share are compiled once for all of a kind: they are most of the work."""
import functools
import os
import subprocess
import sys
import tempfile

REASON = {'async': 'fin_async_must_be_inside_fin_finish', 'cancel': 'fin_cancel_must_be_inside_fin_finish',
          'cancel_as': 'fin_cancel_as_needs_fin_finish_as_queries', 'async_body': 'fin_async_must_be_inside_fin_finish',
          # GNU C: where a statement is expected
          'if_async': 'auto',
          'async_call': 'fin_async_must_be_inside_fin_finish', 'async_eager': 'fin_async_must_be_inside_fin_finish',
          'async_eager_body': 'fin_async_must_be_inside_fin_finish',
          'no_blocks': 'fin_async_with_a_body_needs_fblocks_in_clang_use_fin_async_call',
          'before_cxx17': '<fin.hpp> needs C++17',
          'before_cxx17_thc': '<fin.hpp> needs C++17', 'before_cxx20': '<fin/coro.hpp> needs C++20',
          'before_c99': '<fin.h> needs C11', 'without_posix': '<fin.h> needs -std=gnu11',
          'without_posix_thc': '<fin.h> needs -std=gnu11',
          'checks_unsigned': 'fin::check of an unsigned number would find no error',
          **dict.fromkeys(('timeout_fraction', 'deadline_fraction', 'awaits_fraction'),
                          'a number is of nanoseconds, and whole'),
          'lock_cancellable': 'nodiscard', 'join_cancellable': 'nodiscard',
          'thread_arguments': 'a thread calls body(args...), with the copies as rvalues',
          'sends_pointer': 'a message is an object that can be copied as bytes',
          'receives_view': 'what refers to memory elsewhere', 'handles_by_temporary': 'deleted',
          # continuations
          'async_cont': 'fin_async_must_be_inside_fin_finish', 'async_task': 'fin_async_must_be_inside_fin_finish',
          'elided': 'fin_async_cont_has_no_sequential_form',
          'state_not_bytes': 'the state of a continuation is copied as bytes',
          'state_too_large': 'the state of a continuation has up to 40 bytes',
          'wrong_arguments': 'a continuation is called with (State &, int result)',
          'returns_value': 'a continuation returns what comes next',
          'returns_nothing': 'a continuation returns what comes next',
          'below_a_lock': 'nodiscard',
          'kept_behind_a_lock': 'deleted',
          'begun_by_hand': 'private',
          'other_state': 'a continuation is called with (State &, int result)',
          'no_operation': 'what is waited on takes a continuation at its end',
          'constant_in_a_block': 'a block does not wait in the place of its AWE',
          'in_a_block': 'a block does not wait in the place of its AWE',
          'in_a_body': 'a block does not wait in the place of its AWE',
          'argument_not_bytes': 'what a continuation waits for is copied as bytes',
          'capture_not_bytes': 'the state of a continuation is copied as bytes',
          'awaits_other': 'a fin::task awaits operations of fin::co and other tasks',
          'awaits_twice': 'a fin::task awaits each operation and task once: std::move it',
          'awaits_no_value': "a finish block owns a fin::task<>: nobody would take another's value",
          'awaits_thread': 'a fin::task that a thread returns would not run',
          'awaits_converted': 'co_return converts what it is given as return does',
          'awaits_returns_temporary': 'what a fin::task<T &> returns exists after its end',
          'awaits_returns_converted': 'what a fin::task<T &> returns exists after its end',
          'awaits_aligned': 'a coroutine lies in memory that is aligned as operator new aligns',
          'awaits_aligned_result': 'a coroutine lies in memory that is aligned as operator new aligns',
          'awaits_started_value': 'a finish block owns a fin::task<>: nobody would take another',
          'awaits_no_answer': 'what serves objects returns the answer',
          'awaits_dropped_task': 'a fin::task that a body returns would not run',
          'awaits_call_of_task': 'fin::co::with_stack and offload make a call',
          'awaits_call_of_step': 'fin::co::with_stack and offload make a call',
          **dict.fromkeys(('awaits_owning_call', 'awaits_owning_invoke', 'awaits_owning_serve'),
                          'what a closure in a co_await owns, GCC 12 destroys twice')}

# These say it in the headers themselves, and nothing else.
OLDER = {'before_cxx17': '-std=c++14', 'before_cxx17_thc': '-std=c++14', 'before_cxx20': '-std=c++17',
         'before_c99': '-std=c89', 'without_posix': '-std=c99', 'without_posix_thc': '-std=c17'}

split = sys.argv.index('--')
include, compiler, files = sys.argv[1], sys.argv[2:split], sys.argv[split + 1:]
scratch = tempfile.TemporaryDirectory()
clang = 'clang' in subprocess.run([*compiler, '--version'], capture_output=True, text=True, check=True).stdout
bad = 0


@functools.lru_cache(None)
def precompiled(options):
    """What makes a compiler begin with the headers of a C++ case."""
    name = os.path.join(scratch.name, str(abs(hash(options))) + '.hpp')
    with open(name, 'w') as f:
        f.write('#include <fin.hpp>\n#include <mutex>\n' +
                ('#include <fin/coro.hpp>\n' if '-std=c++20' in options else ''))
    made = name + ('.pch' if clang else '.gch')
    subprocess.run([*compiler, *options, '-x', 'c++-header', name, '-o', made], check=True)
    return ['-include-pch', made] if clang else ['-include', name]


for name in files:
    case, kind = name.rsplit('/', 1)[1].rsplit('.', 1)
    coroutine = case.startswith('awaits') or case == 'async_task'
    for elide in ([], ['-DFIN_ELIDE'])[:1 if coroutine or case == 'async_cont' else 2]:
        std = '-std=c++20' if coroutine else '-std=c++17' if kind == 'cpp' else '-std=gnu11'
        of_system = case == 'before_c99'  # else GCC has a word about comments before that
        options = [OLDER.get(case, std), '-Werror=unused-result', '-isystem' if of_system else '-I', include, *elide]
        before = precompiled(tuple(options)) if kind == 'cpp' and case not in ('elided', *OLDER) else []
        run = subprocess.run([*compiler, *options, *before, '-fsyntax-only', name], capture_output=True, text=True)
        errors = [line for line in run.stderr.splitlines() if ' error: ' in line]
        reasons = [line for line in errors if REASON[case] in line]
        alone = REASON[case].startswith('fin_') or case in OLDER
        if run.returncode == 0 or not reasons or errors[0] != reasons[0] or (alone and len(errors) > 1):
            bad += 1
            print(f'{name} {elide}: compiled, or for another reason:\n' + '\n'.join(errors[:4]))
sys.exit(bad != 0)
