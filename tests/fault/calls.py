#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""calls.py LIBRARY POINT...: what the library calls of others is a point, or is here, with the reason why it is none."""
import re
import subprocess
import sys

NO_POINTS = {
    'given what the library gives them they do not fail': '''
        atexit clock_gettime dladdr eventfd_read eventfd_write getauxval getenv getpid getsockopt setsockopt getpeername
        gettid kill lseek64 nanosleep posix_fadvise64 pthread_attr_destroy pthread_attr_getstack
        pthread_attr_getstacksize pthread_attr_init pthread_attr_setstacksize
        pthread_cond_broadcast pthread_cond_destroy pthread_cond_init pthread_cond_signal
        pthread_cond_timedwait pthread_cond_wait pthread_condattr_destroy pthread_condattr_init pthread_condattr_setclock
        pthread_detach pthread_join pthread_key_delete
        pthread_mutex_init pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock
        pthread_rwlock_init pthread_rwlock_rdlock pthread_rwlock_trywrlock pthread_rwlock_unlock
        pthread_self pthread_setname_np pthread_sigmask raise sched_yield setpgid setsid shutdown
        sigaction __sigaction sigaddset sigdelset
        sigemptyset sigfillset sigismember signal sigpending sigprocmask sigtimedwait sysconf timerfd_settime
        io_uring_queue_exit io_uring_unregister_buf_ring
        __libc_current_sigrtmax __libc_current_sigrtmin''',
    'where it fails a read is made again (src/io/again.c)': 'timerfd_gettime',
    'no system call': '''
        memchr memcpy memmove memset snprintf vsnprintf strcmp strncmp strcpy strchr strrchr strcspn strspn strerror strlen
        strnlen strncat strstr strtol strtoul strtoull
        __errno_location __cxa_get_globals _GLOBAL_OFFSET_TABLE_ __libc_stack_end environ stderr''',
    'the end of the process': '_exit abort',
    'of memory files, or of what was just read or written; below.c has them': 'fstat64 fstatfs64',
    'reports and traces: where they cannot be written nothing else changes': '''
        backtrace fprintf fputc fputs fwrite getcwd printf setenv stat64 writev''',
    'where they fail a flag is set instead (src/io/try.c), or less is reported': 'ioctl isatty process_vm_readv',
    'in place of calls that are denied, which no point makes: tests/io/denied_flags.c has them': 'readv preadv64 pwritev64',
    'names are taken and given without it': 'flock',
}
NO_CALLS = r'__(asan|lsan|tsan|ubsan|sanitizer|start|stop)_'  # of sanitizers, and the ends of sections


def called_by(library):
    here, called = set(), set()
    for line in subprocess.run(['nm', library], capture_output=True, text=True, check=True).stdout.splitlines():
        symbol = re.fullmatch(r'[0-9a-f ]* ([A-Za-z]) (\S+)', line)
        if symbol:
            (called if symbol[1] in 'Uw' else here).add(symbol[2])
    return {name for name in called - here if not re.match(NO_CALLS, name)}


def main():
    library, *points = sys.argv[1:]
    called = called_by(library)
    listed = {name for names in NO_POINTS.values() for name in names.split()}
    wrong = [f'{name} is called, and neither a point nor listed in {sys.argv[0]}' for name in called - listed - set(points)]
    wrong += [f'{name} is a point and listed' for name in listed & set(points)]
    wrong += [f'{name} is listed, but not called' for name in listed - called]
    wrong += [f'{name} is a point, but not called' for name in set(points) - called]
    print('\n'.join(sorted(wrong)) or f'{len(points)} points, {len(listed)} without')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
