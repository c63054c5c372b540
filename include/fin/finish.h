// SPDX-License-Identifier: BSD-2-Clause
// Finish blocks: the data that async, finish and cancel share with the runtime. The words that programs write
// (fin_finish, fin_async, fin_cancel) are in <fin/async.h> for C and <fin.hpp> for C++.
#ifndef FIN_FINISH_H
#define FIN_FINISH_H

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // casts in C++
#endif

#include <errno.h> // results are negative errnos
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// A function marked FIN_BLOCKING may block: other AWEs of the thread may run before it returns. Compilers ignore the mark,
// except Clang with -DFIN_CHECK_BLOCKING -Wthread-safety: it reports where a function that is not marked calls one that is,
// or contains an async (ac 2.1). See docs/blocking.md.
#if defined(__clang__) && defined(FIN_CHECK_BLOCKING)
extern const struct __attribute__((capability("mark"))) fin_mark_ { char none; } FIN_BLOCKING_;
#define FIN_BLOCKING __attribute__((requires_capability(FIN_BLOCKING_)))
#else
#define FIN_BLOCKING
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FIN_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FIN_SANITIZED 1
#endif
#endif
#ifndef FIN_SANITIZED
#define FIN_SANITIZED 0
#endif

struct fin_awe;
struct fin_finish_block;
struct fin_runtime;

// What is needed to continue somewhere: every other register is declared clobbered where execution may stop, or is restored
// by the site. The offsets are known to the assembly in fin/arch and src/arch.
struct fin_context {
    void *ip; // where
    void *sp; // on which stack
    void *fp; // the frame of the function
};

struct fin_link {
    struct fin_link *next, *prev;
};

// An atomic work element: a piece of work that waits to be continued (ac-extensions 3.1; AC calls it AWI). It lives in the
// frame of the function that blocked, from the moment it blocks until it is resumed.
struct fin_awe {
    struct fin_context context;
    struct fin_body *body;          // the async body that it is in, NULL outside any
    struct fin_link link;           // run queue, or the list of suspended AWEs
    struct fin_finish_block *block; // innermost finish block around it
    uint32_t state;                 // kind, thread, and what resuming it takes besides; atomic. See fin/awe.h
    uint32_t id;                    // 0, or the id that names it (fin/awe_id.h). Once resumed: the result of its yield
    // a switch touches no more than this, one cache line: FIN_AWE_HERE_
    union {
        struct fin_runtime *owner; // the thread that runs it, where suspended
        struct fin_awe *inbox;     // the next AWE in the inbox of that runtime, while this one lies there
    };
    void *bx;       // the register that a compiler may reserve as base pointer, rbx or x19: the site restores it
    void *saved[2]; // C++ exception state, only where in use
};

// An async body, on the stack that it runs on, just above its first frame.
struct fin_body {
    struct fin_finish_block *block; // whose `pending` names this body until it blocks or ends
    void *entry;                    // body function, or NULL where the body is a nested function
    const char *name;               // fin_set_name; not set while pending without FIN_PENDING_NAMED
    void *resume;                   // the address after the async, if the site leaves no return address on the stack
    size_t inner;                   // asyncs directly inside the body that blocked and have not ended (finish.c); plus items
    size_t ended;                   // whether the body itself has ended
};

// Something to run when a block is cancelled (ac 4.3, figure 7). The storage is the caller's.
struct fin_cancel_item {
    struct fin_link link; // link.next is NULL when the item is on no list; link.prev too, if it has run
    void (*fn)(void *);
    void *arg;
};

enum {
    FIN_FINISH_NC = 1,        // shielded: cancellation of the blocks around it stops here
    FIN_FINISH_CANCELLED = 2, // fin_cancel was called on this block; with LISTS, also: on one around it
    FIN_FINISH_CLEAN = 4,     // no block outside this one has a pending async
    FIN_FINISH_LISTS = 8,     // the list of cancel items is in use
    FIN_FINISH_EAGER = 16,    // not a block of the program: an async body on a stack of its own
    FIN_FINISH_WAITING = 32,  // the owner waits at the end of the block, in `awe`
    FIN_FINISH_CONT = 64,     // beside EAGER: the body is a step of an explicit AWE, which its `resume` points at
    FIN_FINISH_FAILED = 128,  // an exception has left a body: <fin.hpp> keeps it
    FIN_FINISH_CXX = 256,     // the block is one of <fin.hpp>, and can keep an exception
    FIN_FINISH_TIMED = 512,   // there may be a timer of fin_timeout or fin_deadline for it
    FIN_FINISH_ON = 1024,     // the block is that of a struct fin_finish_on
    FIN_FINISH_CLOSING = 2048, // and somebody waits until it is left: `waiter`
    FIN_FINISH_APART = 4096,  // beside EAGER: the body finds nothing through the frames of the body around it
};

enum {
    FIN_PENDING_INNER = 1, // an async directly inside the pending body has blocked
    FIN_PENDING_NAMED = 2, // the pending body has a name
    FIN_PENDING_ITEMS = 4, // there may be cancel items in its frames
    FIN_PENDING_FLAGS = 7,
};

// A finish block, in the frame of the function that contains it. Entering one writes five words.
struct fin_finish_block {
    void *pending; // the struct fin_body of the async in progress whose body has not blocked yet; NULL when there is none;
                   // plus FIN_PENDING_... below
    void *fp, *bx; // registers of the owner: its frame pointer, and its base pointer at that async
    // The stack that the owner has run on since a body blocked on the owner's own stack, named by the block at its top; NULL
    // before that. Of an eager body: the block that was current when it was called. (`parent` is then the block that it
    // belongs to.)
    struct fin_finish_block *away;
    uint32_t count; // bodies that have blocked and not ended
    uint32_t flags;
    struct fin_finish_block *parent;
    void *home_sp; // while away: the first body that blocked, on the owner's own stack (eager: the body around this one)
    // from here on written only when used
    struct fin_awe awe;           // the owner, when it waits at the end or was queued (also: eager caller's context)
    struct fin_link items;        // cancel items of this block, newest first
    struct fin_cancel_item inner; // this block as an item of the one around it
};

// The runtime of one OS thread, as far as the inlined fast paths see it.
struct fin_thread {
    struct fin_finish_block *current; // innermost finish block of the running AWE
    struct fin_finish_block **spare;  // free stacks, hottest last; each named by the block at its top
    size_t spares;
    void *scheduler;   // top of a stack for the runtime itself, free while an AWE runs
    void **exceptions; // C++'s two words for the exceptions in flight in this OS thread
};

extern __thread struct fin_thread *fin_self __attribute__((tls_model("initial-exec")));

// Prepares the calling thread; called by the first fin_finish of a thread. Ends the program with a message if there is no
// memory for it. Not blocking.
struct fin_thread *fin_thread_begin_(void);

// Takes a spare stack when none is left, after making more. Ends the program with a message if there is no memory for them.
// Not blocking.
struct fin_finish_block *fin_stack_more_(struct fin_thread *t);

static inline struct fin_thread *fin_thread_here_(void) {
    struct fin_thread *t = fin_self;
    return __builtin_expect(t != NULL, 1) ? t : fin_thread_begin_();
}

// Is no C++ exception in flight? `exceptions` points to the two words about them, a pointer and a 32-bit count. One load
// sees enough of both: all bytes of the pointer but the lowest two (no address has bits in those two only), and the lowest
// two of the count (no stack has frames for more exceptions than they can count: there the words of a thread that began
// before there was C++ have a mark).
static inline bool fin_no_exceptions_(void *const *exceptions) {
    typedef uint64_t __attribute__((may_alias, aligned(1))) unaligned;
    return __builtin_expect(*(const unaligned *)((const char *)exceptions + 2) == 0, 1);
}

// An argument that nobody looks at: loading a zero for it would cost an instruction, and GCC might keep that zero in a
// register and put something useful on the stack instead.
static inline void *fin_any_(void) {
    void *any;
    __asm__ volatile("" : "=r"(any));
    return any;
}

#ifdef __cplusplus
}
#endif
#endif
