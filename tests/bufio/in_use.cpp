// SPDX-License-Identifier: BSD-2-Clause
// Whoever destroys a reader or writer that an AWE waits in is told so, and who closes a stream.
#include <memory>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fin/bufio.hpp>
#include <fin.hpp>

#include "check.h"

static int fd[2];

FIN_BLOCKING static void destroys_reader() {
    auto r = std::make_unique<fin::reader>(fd[0]);
    fin::reader *p = r.get();
    fin_finish {
        std::string_view text;
        fin_async { (void)p->line(text); };
        r.reset();
    }
}

FIN_BLOCKING static void destroys_writer() {
    static char many[1 << 20];
    auto w = std::make_unique<fin::writer>(fd[0]);
    fin::writer *p = w.get();
    fin_finish {
        fin_async { (void)p->write(many, sizeof many); };
        fin_cancel(); // nor is it flushed
        fin_finish_nc {
            fin_async {
                fin_finish {
                    fin_cancel();
                    w.reset();
                }
            };
        }
    }
}

FIN_BLOCKING static void closes_stream() {
    fin::stream peer{fin::descriptor(fd[0])};
    fin_finish {
        std::string_view text;
        fin_async { (void)peer.in.line(text); };
        (void)peer.close();
    }
}

// What it says at its end.
static void is_told(void (*destroys)(), const char *what) {
    int told[2], status;
    char text[200] = "";
    CHECK_EQ(pipe(told), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(told[1], 2);
        destroys();
        _exit(0);
    }
    close(told[1]);
    CHECK(read(told[0], text, sizeof text - 1) > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(std::string_view(text).find(what) != std::string_view::npos);
    close(told[0]);
    close(fd[0]);
    close(fd[1]);
}

int main() {
    is_told(destroys_reader, "a fin::reader is destroyed while it is in use");
    is_told(destroys_writer, "a fin::writer is destroyed while it is in use");
    is_told(closes_stream, "a fin::stream is destroyed while it is in use");
    return 0;
}
