// SPDX-License-Identifier: BSD-2-Clause
// The name of a listener is a relative path, and the process goes elsewhere: the name that is removed is its own, also where
// its folder has another name by then, and not another listener's that has the same path there.
#include <sys/stat.h>

#include "chan.h"

static bool there(const char *path) {
    struct stat s;
    return lstat(path, &s) == 0;
}

static void goes_elsewhere(const char *name) {
    struct fin_chan_listener *first, *second;
    CHECK_EQ(chdir("a"), 0);
    CHECK_EQ(fin_chan_listen(&first, name, NULL), 0);
    CHECK_EQ(chdir("../b"), 0);
    CHECK_EQ(fin_chan_listen(&second, name, NULL), 0);
    fin_chan_listener_close(first);
    CHECK_EQ(chdir(".."), 0);
    CHECK(!there("a/name") && !there("a/in/name"));
    CHECK(there("b/name") || there("b/in/name"));
    fin_chan_listener_close(second);
    CHECK(!there("b/name") && !there("b/in/name"));
}

static void is_renamed(void) {
    struct fin_chan_listener *l;
    CHECK_EQ(chdir("a"), 0);
    CHECK_EQ(fin_chan_listen(&l, "name", NULL), 0);
    CHECK_EQ(chdir(".."), 0);
    CHECK_EQ(rename("a", "c"), 0);
    fin_chan_listener_close(l);
    CHECK(!there("c/name"));
    CHECK_EQ(rename("c", "a"), 0);
}

static void a_child_closes(void) {
    struct fin_chan_listener *l;
    CHECK_EQ(fin_chan_listen(&l, "name", NULL), 0);
    pid_t pid = fork();
    if (pid == 0) {
        fin_chan_listener_close(l);
        _exit(0);
    }
    ended_well(pid);
    CHECK(there("name"));
    fin_chan_listener_close(l);
    CHECK(!there("name"));
}

int main(void) {
    char folder[] = "/tmp/fin-chan-XXXXXX";
    static const char *const folders[] = {"a", "b", "a/in", "b/in"};
    CHECK(mkdtemp(folder) != NULL);
    CHECK_EQ(chdir(folder), 0);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(mkdir(folders[i], 0700), 0);
    int before = open_descriptors();
    goes_elsewhere("name");
    goes_elsewhere("in/name");
    goes_elsewhere("./in/../name");
    is_renamed();
    a_child_closes();
    CHECK_EQ(open_descriptors(), before);
    for (int i = 3; i >= 0; i--)
        CHECK_EQ(rmdir(folders[i]), 0);
    CHECK_EQ(rmdir(folder), 0);
    return 0;
}
