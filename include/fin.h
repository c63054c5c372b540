// SPDX-License-Identifier: BSD-2-Clause
// Fin: composable asynchronous I/O and message passing. One header per room; this one includes them all, in C++17 with
// <fin.hpp>.
#include <signal.h> // what the C library has been asked for

#if defined(__STRICT_ANSI__) && !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#error "<fin.h> needs C11 with the GNU extensions: compile with -std=gnu11 or newer"
#elif defined(__STRICT_ANSI__) && !defined(__cplusplus) && !defined(_POSIX_C_SOURCE) && !defined(_GNU_SOURCE)
#error "<fin.h> needs -std=gnu11 or newer (CMake: C_EXTENSIONS ON), or _POSIX_C_SOURCE defined as 200809L"
#elif !defined(FIN_H)
#define FIN_H

#include <fin/alert.h>
#include <fin/async.h>
#include <fin/awe.h>
#include <fin/awe_id.h>
#include <fin/bufio.h>
#include <fin/cancel.h>
#include <fin/chan.h>
#include <fin/chan_on.h>
#include <fin/cont.h>
#include <fin/embed.h>
#include <fin/finish_on.h>
#include <fin/fixed.h>
#include <fin/io.h>
#include <fin/on.h>
#include <fin/linked.h>
#include <fin/process.h>
#include <fin/rpc.h>
#include <fin/rpc_on.h>
#include <fin/signals.h>
#include <fin/stats.h>
#include <fin/stream.h>
#include <fin/sync.h>
#include <fin/sync_on.h>
#include <fin/thread.h>
#include <fin/trace.h>
#include <fin/waitset.h>

// In C++ fin_finish, fin_async and the like are defined differently; also for who includes this between extern "C" braces.
#if defined(__cplusplus) && __cplusplus >= 201703L
extern "C++" {
#include <fin.hpp>
}
#endif

#endif
