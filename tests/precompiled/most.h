// SPDX-License-Identifier: BSD-2-Clause
// What most scenarios in C include, compiled once for all of a room. Each names what it needs all the same.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fin.h>
#include <fin/on.h>
#include <fin/stats.h>
#include <fin/stream.h>
