// SPDX-License-Identifier: BSD-2-Clause
// The name of a listener: a path, or "@" and a name that is in no file system.
#ifndef FIN_CHAN_NAME_H
#define FIN_CHAN_NAME_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

struct chan_name {
    struct sockaddr_un address;
    socklen_t size;
    dev_t device; // of the file that is ours
    ino_t inode;
    int from; // the folder that a relative path begins in, or AT_FDCWD
};

int fin_chan_name_of(struct chan_name *n, const char *text); // 0, -EINVAL or -ENAMETOOLONG
// Binds the socket to it and listens. What a process that is gone left there is replaced. 0 or -errno.
int fin_chan_name_take(struct chan_name *n, int fd);
// `removes` the file, unless it is another's by now. The socket is still open.
void fin_chan_name_give(struct chan_name *n, bool removes);

#endif
