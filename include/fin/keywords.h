// SPDX-License-Identifier: BSD-2-Clause
// The words of <fin/async.h> without their prefix, as the paper writes them (ac 2). For C only: in C++, and in headers that
// are included later, such names mean other things. Include it last.
//
//     finish { async { read_one(a); }; async { read_one(b); }; }
#ifndef FIN_KEYWORDS_H
#define FIN_KEYWORDS_H

#ifdef __cplusplus
#error "fin/keywords.h is for C: async, finish and cancel are names of many a C++ header"
#endif

#include <fin.h>

#define finish fin_finish
#define finish_as(label) fin_finish_as(label)
#define finish_nc fin_finish_nc
#define async fin_async
#define async_eager fin_async_eager
#define cancel() fin_cancel()
#define cancel_as(label) fin_cancel_as(label)

#endif
