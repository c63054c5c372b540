// SPDX-License-Identifier: BSD-2-Clause
// Permissions, owners, times, FIFOs, file systems; in a cancelled block nothing is changed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "net.h"

static int dir;

static struct stat of(const char *name) {
    struct stat s;
    CHECK_EQ(fstatat(dir, name, &s, AT_SYMLINK_NOFOLLOW), 0);
    return s;
}

static void permissions(void) {
    CHECK_EQ(fin_fchmodat(dir, "f", 0640, 0), 0);
    CHECK_EQ(of("f").st_mode & 07777, 0640);
    CHECK_EQ(fin_fchmodat_nc(dir, "f", 0600, 0), 0);
    CHECK_EQ(of("f").st_mode & 07777, 0600);
    CHECK_EQ(fin_fchmodat(dir, "none", 0600, 0), -ENOENT);
    CHECK_EQ(fin_fchmodat(dir, "f", 0600, 1 << 30), -EINVAL);
    CHECK_EQ(fin_faccessat(dir, "f", R_OK | W_OK, 0), 0);
    CHECK_EQ(fin_faccessat_nc(dir, "f", F_OK, 0), 0);
    CHECK_EQ(fin_faccessat(dir, "f", X_OK, 0), -EACCES);
    CHECK_EQ(fin_faccessat(dir, "none", F_OK, 0), -ENOENT);
    CHECK_EQ(fin_faccessat(dir, "f", 64, 0), -EINVAL);
}

static void owners(void) {
    CHECK_EQ(fin_fchownat(dir, "f", getuid(), getgid(), 0), 0);
    CHECK_EQ(fin_fchownat(dir, "f", (uid_t)-1, (gid_t)-1, 0), 0);
    CHECK_EQ(of("f").st_uid, getuid());
    CHECK_EQ(fin_fchownat(dir, "link", getuid(), getgid(), 0), -ENOENT); // it leads nowhere
    CHECK_EQ(fin_fchownat(dir, "link", getuid(), getgid(), AT_SYMLINK_NOFOLLOW), 0);
    int r = fin_fchownat_nc(dir, "f", 1, 2, 0);
    CHECK(r == 0 || r == -EPERM || r == -EINVAL); // not root, or of a namespace that has no such user
    if (r == 0) {
        CHECK_EQ(of("f").st_uid, 1);
        CHECK_EQ(of("f").st_gid, 2);
    }
}

static void times(void) {
    struct timespec t[2] = {{.tv_sec = 1000, .tv_nsec = 2}, {.tv_sec = 3000, .tv_nsec = 4}};
    CHECK_EQ(fin_utimensat(dir, "f", t, 0), 0);
    CHECK_EQ(of("f").st_atim.tv_sec, 1000);
    CHECK_EQ(of("f").st_mtim.tv_sec, 3000);
    t[0].tv_nsec = UTIME_OMIT;
    t[1].tv_sec = 5000;
    CHECK_EQ(fin_utimensat_nc(dir, "f", t, 0), 0);
    CHECK_EQ(of("f").st_atim.tv_sec, 1000);
    CHECK_EQ(of("f").st_mtim.tv_sec, 5000);
    t[0].tv_nsec = 2000000000;
    CHECK_EQ(fin_utimensat(dir, "f", t, 0), -EINVAL);
    CHECK_EQ(fin_utimensat(dir, "f", NULL, 0), 0);
    CHECK(of("f").st_mtim.tv_sec > 5000);
    CHECK_EQ(fin_utimensat(dir, "none", NULL, 0), -ENOENT);
}

static void nodes(void) {
    CHECK_EQ(fin_mknodat(dir, "fifo", S_IFIFO | 0600, 0), 0);
    CHECK(S_ISFIFO(of("fifo").st_mode));
    CHECK_EQ(fin_mknodat_nc(dir, "fifo", S_IFIFO | 0600, 0), -EEXIST);
    CHECK_EQ(fin_mknodat(dir, "x", S_IFDIR | 0700, 0), -EPERM);
    CHECK_EQ(fin_unlinkat(dir, "fifo", 0), 0);
}

static void systems(const char *path) {
    struct statfs expected, s = {0}, f = {0};
    CHECK_EQ(statfs(path, &expected), 0);
    CHECK_EQ(fin_statfs(path, &s), 0);
    CHECK_EQ(fin_fstatfs(dir, &f), 0);
    CHECK(s.f_type == expected.f_type && f.f_type == expected.f_type);
    CHECK(s.f_bsize == expected.f_bsize && f.f_bsize == expected.f_bsize);
    CHECK_EQ(fin_statfs_nc("/none-such", &s), -ENOENT);
    CHECK_EQ(fin_fstatfs_nc(-1, &s), -EBADF);
}

static void cancelled(void) {
    struct stat before = of("f");
    fin_finish {
        fin_cancel();
        CHECK_EQ(fin_fchmodat(dir, "f", 0777, 0), -ECANCELED);
        CHECK_EQ(fin_fchownat(dir, "f", 3, 3, 0), -ECANCELED);
        CHECK_EQ(fin_utimensat(dir, "f", NULL, 0), -ECANCELED);
        CHECK_EQ(fin_mknodat(dir, "never", S_IFIFO | 0600, 0), -ECANCELED);
        CHECK_EQ(fin_faccessat(dir, "f", F_OK, 0), -ECANCELED);
    }
    CHECK_EQ(of("f").st_mode, before.st_mode);
    CHECK_EQ(of("f").st_uid, before.st_uid);
    CHECK_EQ(of("f").st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    CHECK_EQ(faccessat(dir, "never", F_OK, 0), -1);
}

int main(void) {
    char path[] = "/tmp/fin-attributes-XXXXXX";
    CHECK(mkdtemp(path) != NULL);
    dir = open(path, O_RDONLY | O_DIRECTORY);
    CHECK(dir >= 0);
    close(openat(dir, "f", O_CREAT | O_WRONLY, 0600));
    CHECK_EQ(fin_symlinkat("nowhere", dir, "link"), 0);
    permissions();
    times();
    owners();
    nodes();
    systems(path);
    cancelled();
    CHECK_EQ(fin_unlinkat(dir, "f", 0), 0);
    CHECK_EQ(fin_unlinkat(dir, "link", 0), 0);
    CHECK_EQ(fin_unlinkat(AT_FDCWD, path, AT_REMOVEDIR), 0);
    close(dir);
    return 0;
}
