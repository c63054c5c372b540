// SPDX-License-Identifier: BSD-2-Clause
// The forms that are not cancelled of functions that are made of several waits.
#ifndef FIN_NOT_CANCELLED_H
#define FIN_NOT_CANCELLED_H

#include <fin/async.h>

// The body of such a function: returns what `call` returns, shielded.
#define NOT_CANCELLED(type, call)                                                                                           \
    type result_ = 0;                                                                                                       \
    fin_finish_nc { result_ = call; }                                                                                       \
    return result_

#endif
