// SPDX-License-Identifier: BSD-2-Clause
// The public functions of extended attributes. A call has the attribute's name first, as an entry of the ring does.
#include <fin/xattr.h>

#include "io/call.h"

// clang-format off
#define NAME .addr = name
#define PATH .fd = -1, .addr3 = word(path)
#define VALUE .off = word(value), .len = fin_io_most(size)
CALL(ssize_t, fin_getxattr, (const char *path, const char *name, void *value, size_t size),
     .op = IORING_OP_GETXATTR, PATH, NAME, VALUE)
CALL(ssize_t, fin_lgetxattr, (const char *path, const char *name, void *value, size_t size),
     .op = FIN_OP_LGETXATTR, PATH, NAME, VALUE)
CALL(ssize_t, fin_fgetxattr, (int fd, const char *name, void *value, size_t size),
     .op = IORING_OP_FGETXATTR, .fd = fd, NAME, VALUE)

CALL(int, fin_setxattr, (const char *path, const char *name, const void *value, size_t size, int flags),
     .op = IORING_OP_SETXATTR, PATH, NAME, VALUE, .flags = (uint32_t)flags)
CALL(int, fin_lsetxattr, (const char *path, const char *name, const void *value, size_t size, int flags),
     .op = FIN_OP_LSETXATTR, PATH, NAME, VALUE, .flags = (uint32_t)flags)
CALL(int, fin_fsetxattr, (int fd, const char *name, const void *value, size_t size, int flags),
     .op = IORING_OP_FSETXATTR, .fd = fd, NAME, VALUE, .flags = (uint32_t)flags)

#define NAMES .off = word(names), .len = fin_io_most(size)
CALL(ssize_t, fin_listxattr, (const char *path, char *names, size_t size), .op = FIN_OP_LISTXATTR, PATH, NAMES)
CALL(ssize_t, fin_llistxattr, (const char *path, char *names, size_t size), .op = FIN_OP_LLISTXATTR, PATH, NAMES)
CALL(ssize_t, fin_flistxattr, (int fd, char *names, size_t size), .op = FIN_OP_FLISTXATTR, .fd = fd, NAMES)

CALL(int, fin_removexattr, (const char *path, const char *name), .op = FIN_OP_REMOVEXATTR, PATH, NAME)
CALL(int, fin_lremovexattr, (const char *path, const char *name), .op = FIN_OP_LREMOVEXATTR, PATH, NAME)
CALL(int, fin_fremovexattr, (int fd, const char *name), .op = FIN_OP_FREMOVEXATTR, .fd = fd, NAME)
// clang-format on
