// SPDX-License-Identifier: BSD-2-Clause
// What the examples share and what is not about Fin: child processes that do not outlive their parent, a progress bar,
// expectations that make each example a test of its own.
#ifndef FIN_EXAMPLES_EXAMPLE_H
#define FIN_EXAMPLES_EXAMPLE_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// Ends the program with a message where something that the example relies on is not so.
#define EXPECT(condition)                                                                                                   \
    do {                                                                                                                    \
        if (!(condition)) {                                                                                                 \
            fprintf(stderr, "\n%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                       \
            exit(1);                                                                                                        \
        }                                                                                                                   \
    } while (0)

// What was said and could not be written, on a disk that is full, is an error of the program.
static void check_output(void) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return;
    if (errno == 0) { // something before that; the next says why
        putchar('\n');
        fflush(stdout);
    }
    fprintf(stderr, "standard output: %s\n", errno ? strerror(errno) : "not all of it was written");
    _exit(1);
}

// Before main. Where standard input, output or error is closed, the next file or socket would have its number, and be given
// what is printed.
__attribute__((constructor)) static void begin_example(void) {
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(1);
    atexit(check_output);
}

static bool was_started; // this process, by another of the example

// Starts a process that runs fn(arg). Call it before the first use of Fin: the runtime of a thread does not survive a fork.
// The child dies with its parent, however that ends.
static inline pid_t start_process(void (*fn)(void *), void *arg) {
    pid_t parent = getpid();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        was_started = true;
        if (getppid() == parent)
            fn(arg);
        check_output();
        _exit(0);
    }
    return child;
}

// A bar on the terminal, redrawn in place; nothing where standard error is not a terminal. done == total clears it.
static inline void show_progress(const char *what, uint64_t done, uint64_t total) {
    static int terminal = -1;
    static uint64_t drawn = UINT64_MAX;
    if (terminal < 0)
        terminal = isatty(STDERR_FILENO);
    uint64_t width = total ? done * 40 / total : 40;
    if (!terminal || (width == drawn && done != total))
        return;
    drawn = width;
    if (done == total)
        fprintf(stderr, "\r\033[K");
    else
        fprintf(stderr, "\r  %-28s [%-40.*s]", what, (int)width, "########################################");
}

// Ends the program where an argument from the `first` on is none of the options: a list of names, with a '=' behind those
// that a number follows.
static inline void only_options(int argc, char **argv, int first, const char *const *options) {
    for (int i = first; i < argc; i++) {
        const char *const *o = options, *name = argv[i];
        while (*o && (strncmp(*o, name, strlen(name)) != 0 || strcspn(*o, "=") != strlen(name)))
            o++;
        const char *number = *o && strchr(*o, '=') ? argv[++i] : "0"; // behind the last argument is NULL
        char *end = NULL;
        if (*o && number && (strtol(number, &end, 0), end != number && *end == '\0'))
            continue;
        fprintf(stderr, "%s: %s %s; the options are", argv[0], *o ? "no number behind" : "there is no", name);
        for (o = options; *o; o++)
            fprintf(stderr, " %.*s%s", (int)strcspn(*o, "="), *o, strchr(*o, '=') ? " NUMBER" : "");
        fprintf(stderr, "\n");
        exit(2);
    }
}
#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline bool has_option(int argc, char **argv, const char *option) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], option) == 0)
            return true;
    return false;
}

// The number after an option, or a default.
static inline long option_value(int argc, char **argv, const char *option, long otherwise) {
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], option) == 0)
            return strtol(argv[i + 1], NULL, 0);
    return otherwise;
}

// The same; what is out of bounds ends the program.
static inline long option_within(int argc, char **argv, const char *option, long otherwise, long least, long most) {
    long n = option_value(argc, argv, option, otherwise);
    if (n >= least && n <= most)
        return n;
    fprintf(stderr, "%s: %s is a number from %ld to %ld\n", argv[0], option, least, most);
    exit(2);
}

#endif
