// SPDX-License-Identifier: BSD-2-Clause
// Extended attributes: of what a path leads to, of a symbolic link itself (l), of an open file (f). What io_uring knows,
// from Linux 5.19 on, is its request; the rest goes to the thread pool. See fin/io.h for what holds for all.
#ifndef FIN_XATTR_H
#define FIN_XATTR_H

#include <fin/finish.h>

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// The value of an attribute: its size, which with a `size` of 0 is all that is asked for; -ERANGE where it does not fit,
// -ENODATA where there is none.
FIN_BLOCKING ssize_t fin_getxattr(const char *path, const char *name, void *value, size_t size);
FIN_BLOCKING ssize_t fin_getxattr_nc(const char *path, const char *name, void *value, size_t size);
FIN_BLOCKING ssize_t fin_lgetxattr(const char *path, const char *name, void *value, size_t size);
FIN_BLOCKING ssize_t fin_lgetxattr_nc(const char *path, const char *name, void *value, size_t size);
FIN_BLOCKING ssize_t fin_fgetxattr(int fd, const char *name, void *value, size_t size);
FIN_BLOCKING ssize_t fin_fgetxattr_nc(int fd, const char *name, void *value, size_t size);

// Sets one; XATTR_CREATE and XATTR_REPLACE (sys/xattr.h) as flags: only a new one, only one that there is.
FIN_BLOCKING int fin_setxattr(const char *path, const char *name, const void *value, size_t size, int flags);
FIN_BLOCKING int fin_setxattr_nc(const char *path, const char *name, const void *value, size_t size, int flags);
FIN_BLOCKING int fin_lsetxattr(const char *path, const char *name, const void *value, size_t size, int flags);
FIN_BLOCKING int fin_lsetxattr_nc(const char *path, const char *name, const void *value, size_t size, int flags);
FIN_BLOCKING int fin_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags);
FIN_BLOCKING int fin_fsetxattr_nc(int fd, const char *name, const void *value, size_t size, int flags);

// The names of all, each with its zero byte: their size, as above.
FIN_BLOCKING ssize_t fin_listxattr(const char *path, char *names, size_t size);
FIN_BLOCKING ssize_t fin_listxattr_nc(const char *path, char *names, size_t size);
FIN_BLOCKING ssize_t fin_llistxattr(const char *path, char *names, size_t size);
FIN_BLOCKING ssize_t fin_llistxattr_nc(const char *path, char *names, size_t size);
FIN_BLOCKING ssize_t fin_flistxattr(int fd, char *names, size_t size);
FIN_BLOCKING ssize_t fin_flistxattr_nc(int fd, char *names, size_t size);

// Removes one.
FIN_BLOCKING int fin_removexattr(const char *path, const char *name);
FIN_BLOCKING int fin_removexattr_nc(const char *path, const char *name);
FIN_BLOCKING int fin_lremovexattr(const char *path, const char *name);
FIN_BLOCKING int fin_lremovexattr_nc(const char *path, const char *name);
FIN_BLOCKING int fin_fremovexattr(int fd, const char *name);
FIN_BLOCKING int fin_fremovexattr_nc(int fd, const char *name);

#ifdef __cplusplus
}
#endif
#endif
