// SPDX-License-Identifier: BSD-2-Clause
// The name of a listener is a relative path, and another thread goes elsewhere while it is bound, or while somebody looks
// whether it is left over. In its place the system calls that are made meanwhile do so. Whoever listens there goes on.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "chan.h"

static const char *at_bind, *at_connect; // where to

static void goes(const char **to) {
    if (*to)
        CHECK_EQ(chdir(*to), 0);
    *to = NULL;
}

int bind(int fd, const struct sockaddr *address, socklen_t size) {
    goes(&at_bind);
    return (int)syscall(SYS_bind, fd, address, size);
}

int connect(int fd, const struct sockaddr *address, socklen_t size) {
    goes(&at_connect);
    return (int)syscall(SYS_connect, fd, address, size);
}

static bool there(const char *path) {
    struct stat s;
    return lstat(path, &s) == 0;
}

static void leave_over(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "name"};
    int s = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    CHECK_EQ(bind(s, (struct sockaddr *)&address, sizeof address), 0);
    close(s);
}

// Where it has gone the name is left over.
static void looks(void) {
    struct fin_chan_listener *other;
    CHECK_EQ(chdir("../b"), 0);
    leave_over();
    CHECK_EQ(chdir("../a"), 0);
    at_connect = "../b";
    CHECK_EQ(fin_chan_listen(&other, "name", NULL), -EADDRINUSE);
    CHECK(!at_connect && there("../a/name"));
    CHECK_EQ(unlink("../b/name"), 0);
}

// Where it has gone there is no such name.
static void binds(void) {
    struct fin_chan_listener *other;
    CHECK_EQ(chdir("../a"), 0);
    at_bind = "../b";
    CHECK_EQ(fin_chan_listen(&other, "name", NULL), 0);
    fin_chan_listener_close(other);
    CHECK(!at_bind && there("../a/name"));
    CHECK_EQ(unlink("../b/name"), 0);
}

// What a dead process left is replaced as ever.
static void replaces(void) {
    struct fin_chan_listener *l;
    CHECK_EQ(chdir("../b"), 0);
    leave_over();
    CHECK_EQ(fin_chan_listen(&l, "name", NULL), 0);
    fin_chan_listener_close(l);
    CHECK(!there("name"));
}

int main(void) {
    struct fin_chan_listener *l;
    char folder[] = "/tmp/fin-chan-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    CHECK_EQ(chdir(folder), 0);
    CHECK_EQ(mkdir("a", 0700), 0);
    CHECK_EQ(mkdir("b", 0700), 0);
    int before = open_descriptors();
    CHECK_EQ(chdir("a"), 0);
    CHECK_EQ(fin_chan_listen(&l, "name", NULL), 0);
    looks();
    binds();
    CHECK_EQ(chdir("../a"), 0);
    fin_chan_listener_close(l);
    CHECK(!there("name"));
    replaces();
    CHECK_EQ(open_descriptors(), before);
    CHECK_EQ(chdir(".."), 0);
    CHECK_EQ(rmdir("a"), 0);
    CHECK_EQ(rmdir("b"), 0);
    CHECK_EQ(rmdir(folder), 0);
    return 0;
}
