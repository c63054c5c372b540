// SPDX-License-Identifier: BSD-2-Clause
// What the core needs of the system under it; src/host/<system> has it. Nothing here may run an AWE.
#ifndef FIN_CORE_HOST_H
#define FIN_CORE_HOST_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fin_runtime;

// Zeroed memory in pages, committed when touched. NULL when there is none.
void *fin_host_map(size_t size, size_t align);
void fin_host_unmap(void *p, size_t size);

// Makes a page inaccessible. Returns 0, or -errno where the system cannot guard any more pages: the stack then works
// unguarded.
int fin_host_guard(void *page, size_t size);

// Gives the contents of a range back to the system. Post: the range is usable and reads as zeroes.
void fin_host_release(void *p, size_t size);

// Called before a runtime's first AWE runs (a thread has a second one where destructors use Fin after the first has ended);
// sets what belongs to the host in the runtime. Returns 0 or -errno.
int fin_host_thread_begin(struct fin_runtime *rt);
void fin_host_thread_end(struct fin_runtime *rt);

// Sleeps until fin_host_wake, at once where that was called since the last sleep. May return early. Own thread.
void fin_host_sleep(struct fin_runtime *rt);
// Any thread.
void fin_host_wake(struct fin_runtime *rt);

// Lets another thread have the CPU.
void fin_host_give_way(void);
// Sleeps for about a millisecond.
void fin_host_nap(void);
// Milliseconds since some time before, as exact as costs nothing.
uint64_t fin_host_ms(void);

// The two words of C++ exception state of the calling OS thread, or NULL in a program without C++.
void **fin_host_exception_state(void);

// The calling OS thread's own stack; for sanitizers.
void fin_host_os_stack(void **lo, size_t *size);

// Has in_child, the same at each call, run in the child of each fork from now on. 0 or -ENOMEM.
int fin_host_on_fork(void (*in_child)(void));

// Copies memory of this process that may not be there: false.
bool fin_host_read(void *to, const void *from, size_t size);

// Is a process that nothing can wake to be reported? Then a thread notes in `expects` what it sleeps for, beside what other
// threads may do: jobs of the pool, or more.
enum { FIN_EXPECTS_NOTHING, FIN_EXPECTS_POOL, FIN_EXPECTS_MORE };
extern bool fin_host_stuck;
bool fin_host_stuck_wanted(void); // the same, before the first thread has begun

// A line on the standard error stream, "fin: " before it; then the end of the program.
_Noreturn void fin_host_die(const char *text);
_Noreturn void fin_host_die_of(const char *what, int error, const char *then); // "what: the name of the error", then more
// Is it what a seccomp filter answers a system call that it denies? (So may the kernel, for reasons of its own.)
static inline bool fin_host_denied(int error) { return error == -EPERM || error == -EACCES || error == -ENOSYS; }

// The size of a stack in bytes, a power of two: at least what the environment says, or else `wanted`, unless that is 0.
enum { FIN_MOST_STACK_SIZE = 1 << 30 };
size_t fin_host_stack_size(size_t wanted);
size_t fin_host_page_size(void);

#endif
