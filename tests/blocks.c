// SPDX-License-Identifier: BSD-2-Clause
// What Clang's blocks need at run time, where there is no BlocksRuntime library: Fin's never leave the stack, so that
// nothing is ever copied and there is nothing to dispose of.
#include <stdlib.h>

void *_NSConcreteStackBlock[32], *_NSConcreteGlobalBlock[32];

void _Block_object_assign(void *to, const void *from, int flags);
void _Block_object_dispose(const void *object, int flags);

void _Block_object_assign(void *to, const void *from, int flags) {
    (void)to, (void)from, (void)flags;
    abort();
}

void _Block_object_dispose(const void *object, int flags) { (void)object, (void)flags; }
