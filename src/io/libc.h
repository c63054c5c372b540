// SPDX-License-Identifier: BSD-2-Clause
// What glibc has functions and names for and musl, in some of its versions, has not: the system calls themselves. Included
// last, or, by the tests, first.
#ifndef FIN_IO_LIBC_H
#define FIN_IO_LIBC_H

#ifndef __GLIBC__
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#ifndef STATX_TYPE
#include <linux/stat.h>
#endif
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE 2
#endif
#ifndef RWF_NOWAIT
#define RWF_HIPRI 1
#define RWF_DSYNC 2
#define RWF_SYNC 4
#define RWF_NOWAIT 8
#define RWF_APPEND 16
#endif

// On a machine of 64 bits the offset is the first of two words, and the second is not looked at.
#define preadv2(fd, v, n, at, flags) syscall(SYS_preadv2, fd, v, (long)(n), (long)(at), 0L, (long)(flags))
#define pwritev2(fd, v, n, at, flags) syscall(SYS_pwritev2, fd, v, (long)(n), (long)(at), 0L, (long)(flags))
#define statx(fd, path, flags, mask, out) syscall(SYS_statx, fd, path, (long)(flags), (long)(mask), out)
#undef getdents64
#define getdents64(fd, to, size) syscall(SYS_getdents64, fd, to, size)
#define renameat2(fd, from, to_fd, to, flags) syscall(SYS_renameat2, fd, from, to_fd, to, (long)(flags))
#endif

#ifndef WCOREFLAG
#define WCOREFLAG 0x80
#endif

#endif
