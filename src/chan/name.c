// SPDX-License-Identifier: BSD-2-Clause
// See name.h. To look whether a file is left over, to replace it and to listen there are several steps, as are to look
// whether it is ours and to remove it: between them another process may do the same. So they are done with the folder
// locked, as far as it can be: it may not be ours to read, and whoever may read it may keep it locked.
#define _GNU_SOURCE
#include "chan/name.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { BACKLOG = 128, TRIES = 1000, A_WHILE = 5000 /* ms */ };
enum { IN_USE, LEFT_OVER, GONE };

int fin_chan_name_of(struct chan_name *n, const char *text) {
    size_t length = strlen(text);
    *n = (struct chan_name){.address.sun_family = AF_UNIX, .from = AT_FDCWD};
    if (length == 0 || length >= sizeof n->address.sun_path)
        return length ? -ENAMETOOLONG : -EINVAL;
    memcpy(n->address.sun_path, text, length);
    if (text[0] == '@')
        n->address.sun_path[0] = 0;
    n->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (text[0] != '@'));
    return 0;
}

static const struct sockaddr *address_of(const struct chan_name *n) { return (const struct sockaddr *)&n->address; }
static bool is_path(const struct chan_name *n) { return n->address.sun_path[0]; }

static bool is_locked(int folder) {
    return flock(folder, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR); // or it cannot be
}

// A descriptor that has the lock, or -1.
static int lock_folder(const struct chan_name *n) {
    char folder[sizeof n->address.sun_path];
    strcpy(folder, n->address.sun_path);
    char *last = strrchr(folder, '/');
    if (last)
        last[last == folder] = 0;
    int fd = is_path(n) ? openat(n->from, last ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    for (int i = 0; fd >= 0 && i < TRIES && !is_locked(fd); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return fd;
}

// A child of a fork may have a copy.
static void unlock(int fd) {
    if (fd < 0)
        return;
    flock(fd, LOCK_UN);
    close(fd);
}

static bool look(const struct chan_name *n, struct stat *s) {
    return is_path(n) && fstatat(n->from, n->address.sun_path, s, AT_SYMLINK_NOFOLLOW) == 0;
}

static void remove_it(const struct chan_name *n) { unlinkat(n->from, n->address.sun_path, 0); }

static void remove_ours(const struct chan_name *n) {
    struct stat s;
    if (look(n, &s) && s.st_dev == n->device && s.st_ino == n->inode)
        remove_it(n);
}

// Where a relative path leads another thread may have changed (chdir(2)) since the file was looked at. So it is connected to
// through a descriptor.
static int connect_to(const struct chan_name *n, int fd) {
    if (n->from < 0)
        return connect(fd, address_of(n), n->size) == 0 ? 0 : -errno;
    struct chan_name file;
    char path[32];
    int at = openat(n->from, n->address.sun_path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0)
        return -errno;
    snprintf(path, sizeof path, "/proc/thread-self/fd/%d", at);
    fin_chan_name_of(&file, path);
    int r = connect(fd, address_of(&file), file.size) == 0 ? 0 : -errno;
    close(at);
    return r;
}

// Where a process died that was accepting on a ring, the kernel lets go of its socket a while later, and then of who is in
// line there, as this one is.
static bool was_dying(int in_line) {
    struct pollfd p = {.fd = in_line};
    struct ucred c;
    socklen_t size = sizeof c;
    if (getsockopt(in_line, SOL_SOCKET, SO_PEERCRED, &c, &size) != 0 || c.pid <= 0 || kill(c.pid, 0) == 0 || errno != ESRCH)
        return false;
    int r;
    do
        r = poll(&p, 1, A_WHILE);
    while (r < 0 && errno == EINTR);
    return r == 1;
}

// Who listens there, or did. One whose queue is full would be waited for. Or -errno.
static int look_who_listens(const struct chan_name *n) {
    struct stat s;
    if (is_path(n) && (!look(n, &s) || !S_ISSOCK(s.st_mode)))
        return IN_USE;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int r = connect_to(n, fd), who = IN_USE;
    if (r == -ECONNREFUSED)
        who = is_path(n) ? LEFT_OVER : GONE; // a name that is no file goes with its socket
    else if (r == 0 && was_dying(fd))
        who = GONE;
    close(fd);
    return who;
}

static int bind_to(const struct chan_name *n, int fd) { return bind(fd, address_of(n), n->size) == 0 ? 0 : -errno; }

// A file that was there before, in the folder that is kept, is not ours: then ours is where another thread has gone.
static int bind_it(struct chan_name *n, int fd) {
    struct stat s;
    bool other = look(n, &s);
    int r = bind_to(n, fd), who = IN_USE;
    for (int i = 0; r == -EADDRINUSE && i < TRIES && (who = look_who_listens(n)) == GONE; i++)
        r = bind_to(n, fd);
    if (who < 0)
        return who;
    if (r == -EADDRINUSE && who == LEFT_OVER) {
        remove_it(n);
        other = false;
        r = bind_to(n, fd);
    }
    if (r == 0 && !other && look(n, &s)) {
        n->device = s.st_dev;
        n->inode = s.st_ino;
    }
    return r;
}

static int take(struct chan_name *n, int fd) {
    int r = bind_it(n, fd);
    if (r != 0 || listen(fd, BACKLOG) == 0)
        return r;
    r = -errno;
    remove_ours(n);
    return r;
}

static void let_go(struct chan_name *n) {
    if (n->from >= 0)
        close(n->from);
    n->from = AT_FDCWD;
}

int fin_chan_name_take(struct chan_name *n, int fd) {
    if (is_path(n) && n->address.sun_path[0] != '/') {
        n->from = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (n->from < 0)
            return -errno;
    }
    int lock = lock_folder(n), r = take(n, fd);
    unlock(lock);
    if (r != 0)
        let_go(n);
    return r;
}

// An inode is no other file's while a socket is bound there.
void fin_chan_name_give(struct chan_name *n, bool removes) {
    int lock = removes ? lock_folder(n) : -1;
    if (removes)
        remove_ours(n);
    unlock(lock);
    let_go(n);
}
