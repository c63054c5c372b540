// SPDX-License-Identifier: BSD-2-Clause
// Probes for perf, bpftrace and SystemTap (provider "fin"), where the library is built with <sys/sdt.h>: a nop each, and a
// note in the file that says where it is. None is on a path that only switches.
#ifndef FIN_CORE_PROBE_H
#define FIN_CORE_PROBE_H

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define FIN_PROBE(name, arg) DTRACE_PROBE1(fin, name, arg)
#else
#define FIN_PROBE(name, arg) ((void)(arg))
#endif

#endif
