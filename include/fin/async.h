// SPDX-License-Identifier: BSD-2-Clause
// async, do..finish and cancel for C (ac 2). C++ has the same words in <fin.hpp>.
//
//     fin_finish { ... }             runs the block, then waits until every async started in it has ended. return, break,
//                                    goto leave the block only after that wait. `break` and `continue` leave the finish
//                                    block itself, and no loop around it.
//     fin_finish_as(label) { ... }   the same, with a label for fin_cancel_as
//     fin_finish_nc { ... }          shielded: cancellation of the blocks around it does not reach into it
//     fin_async { ... };             runs the body at once. If it blocks, execution goes on after the statement, and the
//                                    body is resumed later. GNU C: a nested function, so `return` ends the body; locals
//                                    of the function are shared, those of the body its own. Clang: a block (-fblocks).
//                                    Directly under an `if` or a loop it needs braces around it, as a declaration does.
//     fin_async_call(fn, arg);       the same for void fn(void *), in any compiler
//     fin_async_eager ...            on a stack of its own from the start, for bodies that nearly always block
//     fin_cancel();                  asks everything that waits inside the innermost enclosing finish to stop waiting. In
//                                    the block's own thread only
//     fin_cancel_as(label);          the same for the enclosing finish with that label
//     fin_this_block(), fin_block_as(label)
//                                    the innermost enclosing finish, and that with the label, for those who are elsewhere in
//                                    the thread: a struct fin_finish_block *, which is valid while the block lasts
//     fin_cancel_block(block);       as fin_cancel, of that block. Does not block. (In C++: the fin::scope itself.)
//     fin_async_in(block, fn, arg);  as fin_async_eager_call, in that block, which has not ended: for a callback, say, that
//                                    a loop inside of the block calls. Of the calling thread. (In C++: the fin::scope.)
//
// An async belongs to the innermost finish block that is written around it. An async directly inside the body of another
// belongs to the same block. It may outlive that body (rule Async-2), so it must not use the body's own locals after the
// body has ended: if it would, open a finish block in the body. Variables that are declared in a finish block end before the
// wait at its end: after a body has blocked it must not use those either, but its own and those in front of the block.
// A variable-length array or alloca() between the start of a finish block and an async lives on a stack that a lazy async
// may leave; put it before the block or in the body. The runtime stops the program with a message when it sees one; it does
// not see each alloca(), whose memory must not be used after the block either.
//
// If a body blocks and there is no memory for the stack on which execution is to go on after the statement, the program ends
// with a message, because fin_async has no value in which to report it. Explicit AWEs (fin/cont.h) do report it, and wait
// until a stack is spare.
//
// FIN_ELIDE removes the constructs: what is left is the sequential program (ac 2, serial elision).
#ifndef FIN_ASYNC_H
#define FIN_ASYNC_H

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // the names below shadow each other on purpose where blocks nest
#endif

#include <fin/awe.h>
#include <fin/finish.h>
#if defined(__x86_64__)
#include <fin/arch/x86_64.h>
#elif defined(__aarch64__)
#include <fin/arch/aarch64.h>
#else
#error "Fin runs on x86-64 and aarch64"
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Marks the scope of an async body, where an async needs a stack of its own: the owner's pending call may be occupied.
struct fin_body_scope_;

void fin_cancel_block_(struct fin_finish_block *block);

// Tell sanitizers of a change of stack; see src/core/track.c.
void fin_track_eager_call_(struct fin_finish_block *top);
void fin_track_landed_(void);

FIN_INLINE_ struct fin_finish_block *fin_finish_enter_(struct fin_finish_block *b, uint32_t flags) {
    struct fin_thread *t = fin_thread_here_();
    b->pending = NULL;
    FIN_ARCH_NOTE_FRAME_(b->fp);
    b->count = 0;
    b->away = NULL;
    b->flags = flags;
    b->parent = t->current;
    t->current = b;
    return b;
}

FIN_INLINE_ void fin_finish_leave_(struct fin_finish_block *b) {
    if (__builtin_expect(b->away || (b->count | (b->flags & FIN_FINISH_LISTS)), 0))
        FIN_ARCH_BLOCK_(fin_finish_wait_, &b->awe, b, fin_any_(), fin_any_());
    fin_self->current = b->parent;
}

// Takes a spare stack and makes the pseudo-block at its top the current one. The body belongs to `block`, or to the current
// block if `block` is NULL.
FIN_INLINE_ struct fin_finish_block *fin_eager_begin_(struct fin_finish_block *block, uint32_t flags) {
    struct fin_thread *t = fin_self; // there is one, as there is a block
    struct fin_finish_block *top = __builtin_expect(t->spares != 0, 1) ? t->spare[--t->spares] : fin_stack_more_(t);
    top->count = 0;
    top->away = t->current;
    top->flags = FIN_FINISH_EAGER | flags;
    top->parent = block ? block : t->current;
    t->current = top;
    if (FIN_SANITIZED)
        fin_track_eager_call_(top);
    return top;
}

// The body ended without having blocked: its stack is spare again. Usually that stack was the last one taken and is still in
// its slot. Checking for that is quicker than storing it again, because the next async would have to wait for the store.
FIN_INLINE_ void fin_eager_end_(struct fin_finish_block *top) {
    struct fin_thread *t = fin_self;
    t->current = top->away;
    size_t n = t->spares;
    if (__builtin_expect(t->spare[n] != top, 0))
        t->spare[n] = top;
    t->spares = n + 1;
}

#ifdef __cplusplus
}
#endif

#define FIN_CAT__(a, b) a##b
#define FIN_CAT_(a, b) FIN_CAT__(a, b)

// flags: FIN_FINISH_APART, or none.
FIN_INLINE_ void fin_eager_call_with_(struct fin_finish_block *block, void (*fn)(void *), void *arg, uint32_t flags) {
    FIN_ARCH_EAGER_CALL_(fin_eager_begin_(block, flags), fn, arg);
    if (FIN_SANITIZED)
        fin_track_landed_();
}

FIN_INLINE_ void fin_eager_call_(struct fin_finish_block *block, void (*fn)(void *), void *arg) {
    fin_eager_call_with_(block, fn, arg, 0);
}

#define FIN_EAGER_HERE_(block, stmt)                                                                                        \
    do {                                                                                                                    \
        FIN_ARCH_EAGER_HERE_(fin_eager_begin_((struct fin_finish_block *)(void *)(block), 0), stmt);                        \
        if (FIN_SANITIZED)                                                                                                  \
            fin_track_landed_();                                                                                            \
    } while (0)

#if FIN_SANITIZED
// Under ASan and TSan every body has a stack of its own, which is what they call a fiber.
#define FIN_LAZY_CALL_(block, fn, arg) fin_eager_call_((struct fin_finish_block *)(void *)(block), fn, arg)
#define FIN_LAZY_HERE_(block, stmt) FIN_EAGER_HERE_(block, stmt)
#else
#define FIN_LAZY_CALL_(block, fn, arg) FIN_ARCH_LAZY_CALL_(block, fn, arg)
#define FIN_LAZY_HERE_(block, stmt) FIN_ARCH_LAZY_HERE_(block, stmt)
#endif

// Entering a finish block. `for` gives the block a scope in C without a macro for its closing brace; the cleanup waits, in
// whatever way the block is left.
#define FIN_FINISH_(flags, label)                                                                                           \
    for (struct fin_finish_block fin_block_ __attribute__((cleanup(fin_finish_leave_), unused)),                            \
         *const fin_async_must_be_inside_fin_finish __attribute__((unused)) =                                               \
             (FIN_ARCH_FRAME_POINTER_(), fin_finish_enter_(&fin_block_, flags)),                                            \
         *const fin_cancel_must_be_inside_fin_finish __attribute__((unused)) = &fin_block_,                                 \
         *const label __attribute__((unused)) = &fin_block_, FIN_WRITTEN_HERE_(&fin_block_), *fin_once_ = &fin_block_;      \
         fin_once_; fin_once_ = NULL)

// FIN_CHECK_BLOCKING: a function that contains an async counts as calling something that may block.
#if defined(__clang__) && defined(FIN_CHECK_BLOCKING)
FIN_BLOCKING FIN_INLINE_ void fin_async_may_block_(void) {}
#define FIN_CHECK_ASYNC_ fin_async_may_block_()
#else
#define FIN_CHECK_ASYNC_ ((void)0)
#endif

// Clang reports an undeclared name at each use, but only once if a variable is initialized from it and used instead.
#ifdef __clang__
#define FIN_FIND_SITE_ __extension__ __auto_type fin_site_ = fin_async_must_be_inside_fin_finish
#define FIN_SITE_ fin_site_
#else
#define FIN_FIND_SITE_ ((void)0)
#define FIN_SITE_ fin_async_must_be_inside_fin_finish
#endif
// Inside an async body the name that an async looks for has another type: that is how the async knows where it is.
#define FIN_IN_BODY_ __builtin_types_compatible_p(__typeof__(FIN_SITE_), struct fin_body_scope_ *)
// An async can be lazy only in the function that owns the block. In another function inside the block (a plain nested
// function, a Clang block or a lambda) it is eager. Such a function has another frame or, if the compiler inlines it into
// its caller (which may be in a block inside this one), at least another name. In the owner's own code compilers know that
// the names are the same.
#define FIN_IN_FRAME_(block)                                                                                                \
    (__builtin_frame_address(0) == ((const struct fin_finish_block *)(const void *)(block))->fp)
#ifndef __cplusplus
enum { fin_written_in_, fin_owner_ = 0 }; // outside all blocks
#endif
#define FIN_WRITTEN_HERE_(block)                                                                                            \
    *const fin_owner_ __attribute__((unused)) = (block),                                                                    \
               *const fin_written_in_ __attribute__((unused)) = (struct fin_finish_block *)(uintptr_t)__func__
#define FIN_IN_OWNER_(block)                                                                                                \
    __builtin_expect(FIN_IN_FRAME_(block) && (uintptr_t)fin_written_in_ == (uintptr_t)__func__, 1)
// The block that an eager async is written in; NULL in a body of <fin/thc.h> outside any, which means the current block.
#define FIN_ITS_BLOCK_ ((void)FIN_SITE_, (struct fin_finish_block *)(uintptr_t)fin_owner_)
#define FIN_SITE_HERE_(stmt)                                                                                                \
    do {                                                                                                                    \
        FIN_FIND_SITE_;                                                                                                     \
        if (FIN_IN_BODY_ || !FIN_IN_OWNER_(FIN_SITE_))                                                                      \
            FIN_SITE_EAGER_HERE_(stmt);                                                                                     \
        else                                                                                                                \
            FIN_LAZY_HERE_(FIN_SITE_, stmt);                                                                                \
    } while (0)
#define FIN_SITE_EAGER_HERE_(stmt)                                                                                          \
    do {                                                                                                                    \
        FIN_ARCH_FRAME_POINTER_();                                                                                          \
        FIN_EAGER_HERE_(FIN_ITS_BLOCK_, stmt);                                                                              \
    } while (0)
#define FIN_SITE_CALL_(fn, arg)                                                                                             \
    do {                                                                                                                    \
        FIN_CHECK_ASYNC_;                                                                                                   \
        FIN_FIND_SITE_;                                                                                                     \
        void (*fin_fn_)(void *) = (fn);                                                                                     \
        void *fin_arg_ = (arg);                                                                                             \
        if (FIN_IN_BODY_ || !FIN_IN_OWNER_(FIN_SITE_))                                                                     \
            fin_eager_call_(FIN_ITS_BLOCK_, fin_fn_, fin_arg_);                                                             \
        else                                                                                                                \
            FIN_LAZY_CALL_(FIN_SITE_, fin_fn_, fin_arg_);                                                                   \
    } while (0)
#define FIN_SITE_EAGER_CALL_(fn, arg)                                                                                       \
    do {                                                                                                                    \
        FIN_CHECK_ASYNC_;                                                                                                   \
        FIN_FIND_SITE_;                                                                                                     \
        fin_eager_call_(FIN_ITS_BLOCK_, fn, arg);                                                                           \
    } while (0)

#define FIN_BODY_SCOPE_ struct fin_body_scope_ *fin_async_must_be_inside_fin_finish __attribute__((unused))

// A local variable that a body changes: `fin_shared int n = 0;`. Needed where bodies are Clang blocks, nothing elsewhere.
#if defined(__clang__) && defined(__BLOCKS__) && !defined(__cplusplus)
#define fin_shared __block
#else
#define fin_shared
#endif

#ifndef __cplusplus
#if defined(__clang__)
// Clang's C has blocks instead of nested functions (-fblocks). The loop runs its body, which is the assignment of the block,
// and then its condition, which runs the block. The block is copied to the stack that it runs on: the next iteration of a
// loop around the async makes a new one in the same place.
#if defined(__BLOCKS__)
typedef void (^fin_block_t_)(struct fin_body_scope_ *);
void fin_block_run_(void *block);
#define FIN_BODY_(site, n)                                                                                                  \
    for (fin_block_t_ fin_body_ = NULL; !fin_body_ || (__extension__({                                                      \
                                                           site(fin_block_run_, (void *)fin_body_);                         \
                                                           0;                                                               \
                                                       }));)                                                                \
    fin_body_ = ^(FIN_BODY_SCOPE_)
#define FIN_ASYNC_(n) FIN_BODY_(FIN_SITE_CALL_, n)
#define FIN_ASYNC_EAGER_(n) FIN_BODY_(FIN_SITE_EAGER_CALL_, n)
#elif defined(FIN_CHECK_BLOCKING)
// Programs written for GCC are checked without -fblocks: the body simply stands in its place. That is not what an async
// means, so the result must not be linked.
void fin_checked_code_does_not_run_(void);
#define FIN_ASYNC_(n)                                                                                                       \
    if ((void)fin_async_must_be_inside_fin_finish, FIN_CHECK_ASYNC_, fin_checked_code_does_not_run_(), 1)
#define FIN_ASYNC_EAGER_(n) FIN_ASYNC_(n)
#else
#define FIN_ASYNC_(n) fin_async_with_a_body_needs_fblocks_in_clang_use_fin_async_call
#define FIN_ASYNC_EAGER_(n) FIN_ASYNC_(n)
#endif
#else
// noipa: GCC must not conclude from the code of a body that nobody keeps the address of its owner's frame once the call is
// over.
#define FIN_BODY_(site, n)                                                                                                  \
    auto void __attribute__((noipa)) FIN_CAT_(fin_body_, n)(FIN_BODY_SCOPE_);                                               \
    site(FIN_CAT_(fin_body_, n)(NULL));                                                                                     \
    void FIN_CAT_(fin_body_, n)(FIN_BODY_SCOPE_)
#define FIN_ASYNC_(n) FIN_BODY_(FIN_SITE_HERE_, n)
#define FIN_ASYNC_EAGER_(n) FIN_BODY_(FIN_SITE_EAGER_HERE_, n)
#endif

#ifndef FIN_ELIDE
#define fin_finish FIN_FINISH_(0, fin_no_label_)
#define fin_finish_as(label) FIN_FINISH_(0, fin_cancel_as_needs_fin_finish_as_##label)
#define fin_finish_nc FIN_FINISH_(FIN_FINISH_NC, fin_no_label_)
#define fin_async FIN_ASYNC_(__COUNTER__)
#define fin_async_eager FIN_ASYNC_EAGER_(__COUNTER__)
#define fin_this_block() ((struct fin_finish_block *)fin_cancel_must_be_inside_fin_finish)
#define fin_block_as(label) ((struct fin_finish_block *)fin_cancel_as_needs_fin_finish_as_##label)
// Of the calling thread. Does not block.
static inline void fin_cancel_block(struct fin_finish_block *block) { fin_cancel_block_(block); }
FIN_INLINE_ void fin_async_in(struct fin_finish_block *block, void (*fn)(void *), void *arg) {
    fin_eager_call_with_(block, fn, arg, FIN_FINISH_APART);
}
#endif
#endif

#ifndef FIN_ELIDE
#define fin_async_call(fn, arg) FIN_SITE_CALL_(fn, arg)
#define fin_async_eager_call(fn, arg) FIN_SITE_EAGER_CALL_(fn, arg)
#define fin_cancel() fin_cancel_block_(fin_cancel_must_be_inside_fin_finish)
#define fin_cancel_as(label) fin_cancel_block_(fin_cancel_as_needs_fin_finish_as_##label)
#else
#include <fin/elide.h>
#endif
#endif
