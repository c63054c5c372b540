// SPDX-License-Identifier: BSD-2-Clause
// Runs a scenario in one child for each point. See fault.h.
#define _GNU_SOURCE
#include <limits.h>
#include <liburing.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "points.h"

enum { SECONDS = 60, TEXT = 4096, FEW = 10, MANY = 60 };

static char *complaint; // what the child wrote
static bool show;
static const char *const how_names[] = {"failed", "interrupted", "not started"};

// What a failure may lead to: others are cancelled, or find that nobody is there.
static bool follows(int error) {
    static const int known[] = {ECANCELED, EPIPE,   ECONNRESET, ECONNREFUSED, ECONNABORTED,
                                ESHUTDOWN, ENODATA, ENOBUFS,    ENOMEM};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (error == known[i])
            return true;
    return false;
}

bool fine(long r) {
    if (r >= 0)
        return true;
    int none = 0;
    __atomic_compare_exchange_n(&points->first, &none, (int)-r, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    if (points->how != HARD && points->armed)
        fprintf(stderr, "%s, where %s was to be tried again\n", strerror((int)-r), points->name);
    else if (!points->name[0])
        fprintf(stderr, "%s, where nothing failed\n", strerror((int)-r));
    else if (!below && -r != points->error && !follows((int)-r)) // libraries between make others of them
        fprintf(stderr, "%s, where %s failed: %s\n", strerror((int)-r), points->name, strerror(points->error));
    else
        return false;
    _exit(2);
}

void close_again(int fd) {
    if (strcmp(points->name, "close") != 0)
        close(fd);
}

bool spoiled(void) { return points->name[0] != 0; }

bool failed(void) { return __atomic_load_n(&points->first, __ATOMIC_SEQ_CST) != 0; }

static bool arms;

static void *on_thread(void *unused) {
    points->armed = arms;
    scenario();
    return unused;
}

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);

static void once(void) {
    pthread_t t;
    CHECK_EQ(__real_pthread_create(&t, NULL, on_thread, NULL), 0);
    pthread_join(t, NULL);
}

static void clean(void) {
    points->name[0] = 0;
    points->first = 0;
    once();
    CHECK_EQ(points->first, 0);
}

static int usual; // as many descriptors may be left; 0 before that is known

// What another process sent may be closed by a thread.
static int descriptors_left(void) {
    int n = open_descriptors();
    for (int i = 0; i < 2000 && n > usual; i++) {
        usleep(100);
        n = open_descriptors();
    }
    return n;
}

static void body(long point, enum how how) {
    alarm(SECONDS);
    points->chosen = point;
    points->how = how;
    arms = true;
    once();
    points->armed = arms = false;
    struct points was = *points;
    clean();
    clean();
    was.blocks = points->blocks;
    was.mapped = points->mapped;
    was.unknown = points->unknown;
    was.handlers = points->handlers;
    was.descriptors = descriptors_left();
    *points = was;
    points->ended = true;
}

static bool is_told(const char *text) {
    static const char *const known[] = {
        "fin: no memory for another stack: let fewer AWEs wait at a time, or with smaller stacks or continuations\n",
        "fin: no memory for a thread's runtime\n", "fin: the system refuses what a thread's runtime needs\n"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(text, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

static void in_child(long point, enum how how) {
    int fd = memfd_create("complaint", MFD_CLOEXEC), status;
    *points = (struct points){.completions = points->completions};
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0 && fd >= 0);
    if (pid == 0) {
        dup2(fd, STDERR_FILENO);
        begin_child();
        body(point, how);
        _exit(0);
    }
    int error = serve_child(pid);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    if (error) {
        fprintf(stderr, "skipped: no calls can be made to fail in a child: %s\n", strerror(-error));
        exit(77);
    }
    memset(complaint, 0, TEXT);
    CHECK(pread(fd, complaint, TEXT - 1, 0) >= 0);
    close(fd);
    // An async that finds no memory for a stack has nobody to tell, so that the program ends with a message.
    bool told = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && points->how == HARD && is_told(complaint);
    if (status != 0 && !told) {
        fprintf(stderr, "point %ld %s, %s: status 0x%x%s\n%s", point, how_names[how], points->name, (unsigned)status,
                WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? ": it hangs" : "", complaint);
        exit(1);
    }
    if (points->unknown) {
        fprintf(stderr, "the system call %d is in neither list of below.c\n", points->unknown);
        exit(1);
    }
    if (show && points->name[0])
        printf("%4ld %-30s %-28s %s\n", point, points->name, strerror(points->error),
               told            ? complaint
               : points->first ? strerror(points->first)
                               : "no error");
}

static bool near(long a, long b) { return labs(a - b) <= threads; }

static void compare(long point, enum how how, const struct points *none) {
    if (points->ended && points->handlers < none->handlers) {
        fprintf(stderr, "point %ld %s, %s: %d handlers of forks, not %d\n", point, how_names[how], points->name,
                points->handlers, none->handlers);
        exit(1);
    }
    if (!points->ended || (near(points->descriptors, none->descriptors) && near(points->blocks, none->blocks) &&
                           near(points->mapped, none->mapped)))
        return;
    fprintf(stderr, "point %ld %s, %s: %d descriptors, %ld blocks, %ld pages are left, not %d, %ld, %ld\n", point,
            how_names[how], points->name, points->descriptors, points->blocks, points->mapped, none->descriptors,
            none->blocks, none->mapped);
    exit(1);
}

// Does the kernel have requests that complete with what is asked for?
static bool can_inject(void) {
    struct io_uring ring;
    struct io_uring_cqe *c;
    int r = -1;
    if (io_uring_queue_init(2, &ring, 0) != 0)
        return false;
    struct io_uring_sqe *e = io_uring_get_sqe(&ring);
    io_uring_prep_nop(e);
    e->len = (unsigned)-EIO;
    e->rw_flags = INJECT_RESULT;
    if (io_uring_submit_and_wait(&ring, 1) == 1 && io_uring_peek_cqe(&ring, &c) == 0)
        r = c->res;
    io_uring_queue_exit(&ring);
    return r == -EIO;
}

// What comes at some runs is not there at others: three in a row that are not there are the end. Where they are many,
// below the libraries, or with FIN_FEW in the environment, some of them, others at each run; all with FIN_ALL.
static long sweep(enum how how) {
    in_child(-1, how);
    struct points none = *points;
    usual = none.descriptors + threads;
    long most = getenv("FIN_ALL") ? LONG_MAX : below || getenv("FIN_FEW") ? FEW : MANY;
    long failures = 0, step = none.count / most + 1;
    CHECK(none.ended);
    for (long point = getpid() % step, beyond = 0; beyond < 3; point += step) {
        in_child(point, how);
        compare(point, how, &none);
        beyond = points->name[0] ? 0 : beyond + 1;
        failures += points->name[0] != 0;
    }
    return failures;
}

int main(int argc, char **argv) {
    if (on_valgrind())
        SKIP("a child for each point, of what runs many times slower here");
    const char *want = argc > 1 ? argv[1] : "";
    points = mmap(NULL, sizeof *points + TEXT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(points != MAP_FAILED);
    complaint = (char *)(points + 1);
    struct points *now = points;
    points = NULL;
    if (prepare)
        prepare();
    now->completions = can_inject();
    points = now;
    signal(SIGPIPE, SIG_IGN);
    show = strcmp(want, "show") == 0;
    if (want[0] >= '0' && want[0] <= '9') {
        body(atol(want), argc > 2 ? (enum how)atoi(argv[2]) : HARD);
        return 0;
    }
    long hard = sweep(HARD), soft = sweep(INTERRUPTED), none = sweep(UNSTARTED);
    CHECK(hard > 0 && (soft > 0 || below));
    printf("%ld failures, %ld interruptions, %ld not started\n", hard, soft, none);
    return 0;
}
