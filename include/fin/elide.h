// SPDX-License-Identifier: BSD-2-Clause
// FIN_ELIDE: the words of <fin/async.h> as the sequential program has them (ac 2, serial elision; ac 3, the elisions ae and
// ce): an async is a call of its body, a finish block is a block, a cancel does nothing. The scoping rules stay checked.
#ifndef FIN_ELIDE_H
#define FIN_ELIDE_H

#define FIN_ELIDED_FINISH_(label) FIN_ELIDED_FOR_(1, label)
#define FIN_ELIDED_TIMED_(time) FIN_ELIDED_FOR_(((void)(uint64_t)(time), 1), fin_no_label_)
#define FIN_ELIDED_FOR_(once, label)                                                                                        \
    for (int fin_async_must_be_inside_fin_finish __attribute__((unused)) = 1,                                               \
             fin_cancel_must_be_inside_fin_finish __attribute__((unused)) = 1, label __attribute__((unused)) = 1,           \
             fin_once_ = (once);                                                                                            \
         fin_once_; fin_once_ = 0)
#define FIN_ELIDED_CALL_(fn, arg) ((void)fin_async_must_be_inside_fin_finish, (fn)(arg))

#define fin_finish FIN_ELIDED_FINISH_(fin_no_label_)
#define fin_finish_as(label) FIN_ELIDED_FINISH_(fin_cancel_as_needs_fin_finish_as_##label)
#define fin_finish_nc FIN_ELIDED_FINISH_(fin_no_label_)
#define fin_async_call(fn, arg) FIN_ELIDED_CALL_(fn, arg)
#define fin_async_eager_call(fn, arg) FIN_ELIDED_CALL_(fn, arg)
#define fin_cancel() ((void)fin_cancel_must_be_inside_fin_finish)
#define fin_cancel_as(label) ((void)fin_cancel_as_needs_fin_finish_as_##label)

#ifndef __cplusplus
struct fin_finish_block;
#define fin_this_block() ((void)fin_cancel_must_be_inside_fin_finish, (struct fin_finish_block *)0)
#define fin_block_as(label) ((void)fin_cancel_as_needs_fin_finish_as_##label, (struct fin_finish_block *)0)
static inline void fin_cancel_block(struct fin_finish_block *block) { (void)block; }
#define fin_async_in(block, fn, arg) ((void)(block), (fn)(arg))
#endif

#ifdef __cplusplus
#define fin_async ::fin::detail::site(fin_async_must_be_inside_fin_finish) % [&]()
#elif defined(__clang__) && defined(__BLOCKS__)
#define fin_async FIN_BODY_(FIN_ELIDED_BLOCK_, 0)
#define FIN_ELIDED_BLOCK_(fn, block) ((void)fin_async_must_be_inside_fin_finish, fin_block_run_(block))
#elif defined(__clang__)
#define fin_async FIN_ASYNC_(0)
#else
#define FIN_ELIDED_BODY_(call) ((void)fin_async_must_be_inside_fin_finish, call)
#define FIN_ELIDED_ASYNC_(n) FIN_BODY_(FIN_ELIDED_BODY_, n)
#define fin_async FIN_ELIDED_ASYNC_(__COUNTER__)
#endif
#define fin_async_eager fin_async

#endif
