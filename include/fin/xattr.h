// SPDX-License-Identifier: BSD-2-Clause
// Extended attributes: of what a path leads to, of a symbolic link itself (l), of an open file (f). From Linux 5.19 on
// io_uring does those that it knows; the rest goes to the thread pool. See fin/io.h for what holds for all.
#ifndef FIN_XATTR_H
#define FIN_XATTR_H

#include <fin/finish.h>

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// Read the value of an attribute. Return its size; a `size` of 0 asks only for that. -ERANGE if the value does not fit,
// -ENODATA if there is no such attribute.
FIN_BLOCKING ssize_t fin_getxattr(const char *path, const char *name, void *value, size_t size);
FIN_BLOCKING ssize_t fin_getxattr_nc(const char *path, const char *name, void *value, size_t size);
FIN_BLOCKING ssize_t fin_lgetxattr(const char *path, const char *name, void *value, size_t size);
FIN_BLOCKING ssize_t fin_lgetxattr_nc(const char *path, const char *name, void *value, size_t size);
FIN_BLOCKING ssize_t fin_fgetxattr(int fd, const char *name, void *value, size_t size);
FIN_BLOCKING ssize_t fin_fgetxattr_nc(int fd, const char *name, void *value, size_t size);

// Set an attribute. Flags (sys/xattr.h): XATTR_CREATE for a new one only, XATTR_REPLACE for one that there is only.
FIN_BLOCKING int fin_setxattr(const char *path, const char *name, const void *value, size_t size, int flags);
FIN_BLOCKING int fin_setxattr_nc(const char *path, const char *name, const void *value, size_t size, int flags);
FIN_BLOCKING int fin_lsetxattr(const char *path, const char *name, const void *value, size_t size, int flags);
FIN_BLOCKING int fin_lsetxattr_nc(const char *path, const char *name, const void *value, size_t size, int flags);
FIN_BLOCKING int fin_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags);
FIN_BLOCKING int fin_fsetxattr_nc(int fd, const char *name, const void *value, size_t size, int flags);

// List the names of all attributes, each with its zero byte. Return their size, as above.
FIN_BLOCKING ssize_t fin_listxattr(const char *path, char *names, size_t size);
FIN_BLOCKING ssize_t fin_listxattr_nc(const char *path, char *names, size_t size);
FIN_BLOCKING ssize_t fin_llistxattr(const char *path, char *names, size_t size);
FIN_BLOCKING ssize_t fin_llistxattr_nc(const char *path, char *names, size_t size);
FIN_BLOCKING ssize_t fin_flistxattr(int fd, char *names, size_t size);
FIN_BLOCKING ssize_t fin_flistxattr_nc(int fd, char *names, size_t size);

// Remove an attribute.
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
