// SPDX-License-Identifier: BSD-2-Clause
// Extended attributes: set, asked for, listed and removed, by path, of a link itself, by descriptor.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/xattr.h>

#include "net.h"

static char path[64], link_path[80], text[64];

static void by_path(void) {
    CHECK_EQ(fin_setxattr(path, "user.a", "value", 5, XATTR_REPLACE), -ENODATA);
    CHECK_EQ(fin_setxattr(path, "user.a", "value", 5, XATTR_CREATE), 0);
    CHECK_EQ(fin_setxattr(path, "user.a", "x", 1, XATTR_CREATE), -EEXIST);
    CHECK_EQ(fin_getxattr(path, "user.a", NULL, 0), 5);
    CHECK_EQ(fin_getxattr(path, "user.a", text, 4), -ERANGE);
    CHECK_EQ(fin_getxattr(path, "user.a", text, sizeof text), 5);
    CHECK(memcmp(text, "value", 5) == 0);
    CHECK_EQ(fin_getxattr_nc(link_path, "user.a", text, sizeof text), 5); // which it leads to
    CHECK_EQ(fin_getxattr(path, "user.none", text, sizeof text), -ENODATA);
    CHECK_EQ(fin_getxattr("/none-such", "user.a", text, sizeof text), -ENOENT);
    CHECK_EQ(fin_setxattr_nc(path, "user.b", NULL, 0, 0), 0);
    CHECK_EQ(fin_getxattr(path, "user.b", text, sizeof text), 0);
    CHECK_EQ(fin_setxattr(path, "user.b", text, 1, 77), -EINVAL);
    CHECK_EQ(fin_setxattr(path, "nothing", text, 1, 0), -EOPNOTSUPP);
}

static bool lists(ssize_t n, const char *name) {
    CHECK(n >= 0);
    for (ssize_t at = 0; at < n; at += (ssize_t)strlen(text + at) + 1)
        if (strcmp(text + at, name) == 0)
            return true;
    return false;
}

static void listed(int fd) {
    ssize_t all = fin_listxattr(path, NULL, 0);
    CHECK(all >= 14);
    CHECK_EQ(fin_listxattr(path, text, 3), -ERANGE);
    CHECK(lists(fin_listxattr(link_path, text, sizeof text), "user.a"));
    CHECK(lists(fin_llistxattr(path, text, sizeof text), "user.b"));
    CHECK(!lists(fin_llistxattr_nc(link_path, text, sizeof text), "user.a"));
    CHECK(lists(fin_flistxattr(fd, text, sizeof text), "user.b"));
}

static void of_link(void) {
    CHECK_EQ(fin_lgetxattr(path, "user.a", text, sizeof text), 5);
    CHECK_EQ(fin_lgetxattr_nc(link_path, "user.a", text, sizeof text), -ENODATA);
    CHECK_EQ(fin_lsetxattr(path, "user.a", "other", 5, XATTR_REPLACE), 0);
    CHECK_EQ(fin_lsetxattr(link_path, "user.a", "other", 5, 0), -EPERM);
    CHECK_EQ(fin_lremovexattr(link_path, "user.a"), -EPERM);
    CHECK_EQ(fin_getxattr(path, "user.a", text, sizeof text), 5);
    CHECK(memcmp(text, "other", 5) == 0);
}

static void by_descriptor(int fd) {
    CHECK_EQ(fin_fsetxattr(fd, "user.a", "third", 5, XATTR_CREATE), -EEXIST);
    CHECK_EQ(fin_fsetxattr(fd, "user.a", "third", 5, 0), 0);
    CHECK_EQ(fin_fgetxattr(fd, "user.a", text, sizeof text), 5);
    CHECK(memcmp(text, "third", 5) == 0);
    CHECK_EQ(fin_fgetxattr_nc(fd, "user.a", text, 0), 5);
    CHECK_EQ(fin_fgetxattr(-1, "user.a", text, sizeof text), -EBADF);
    CHECK_EQ(fin_fremovexattr(fd, "user.b"), 0);
    CHECK_EQ(fin_fremovexattr_nc(fd, "user.b"), -ENODATA);
    CHECK_EQ(fin_fgetxattr(fd, "user.b", text, sizeof text), -ENODATA);
}

static void cancelled(int fd) {
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_setxattr(path, "user.c", "x", 1, 0), -ECANCELED);
        CHECK_EQ(fin_fsetxattr(fd, "user.c", "x", 1, 0), -ECANCELED);
        CHECK_EQ(fin_removexattr(path, "user.a"), -ECANCELED);
        CHECK_EQ(fin_getxattr(path, "user.a", text, 1), -ECANCELED);
    }
    CHECK_EQ(fin_getxattr(path, "user.c", text, sizeof text), -ENODATA);
    CHECK_EQ(fin_removexattr(path, "user.a"), 0);
    CHECK_EQ(fin_removexattr(path, "user.a"), -ENODATA);
}

int main(void) {
    strcpy(path, "/tmp/fin-xattr-XXXXXX");
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    snprintf(link_path, sizeof link_path, "%s-link", path);
    CHECK_EQ(symlink(path, link_path), 0);
    bool none = fsetxattr(fd, "user.try", "", 0, 0) != 0;
    if (!none) {
        CHECK_EQ(fremovexattr(fd, "user.try"), 0);
        by_path();
        listed(fd);
        of_link();
        by_descriptor(fd);
        cancelled(fd);
    }
    unlink(path);
    unlink(link_path);
    if (none)
        SKIP("the file system of /tmp has no extended attributes");
    return 0;
}
