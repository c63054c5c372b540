// SPDX-License-Identifier: BSD-2-Clause
// libcurl's multi interface under Fin: several downloads at once in one thread, each a function that waits and can be
// cancelled.
//
//     curl [--short]     from a server of its own, in the same thread
//     curl URL...        from elsewhere
//
// libcurl says by two callbacks which sockets it wants watched, and when it wants to be called at the latest. The sockets go
// into an epoll, which is itself a descriptor that one AWE polls: drive(). It tells libcurl what happened, and wakes the
// downloads that have ended. To cancel a download is to take it out of the multi handle: then libcurl has let go of it.
#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <fin.h>

#include "door.h"
#include "example.h"

// ---- libcurl and Fin

enum { NEVER_MS = 3600 * 1000 };

struct loop {
    CURLM *multi;
    int epoll, changed; // an eventfd: there is an earlier time to wait for
    uint64_t due;
};

struct download {
    struct fin_event ended;
    CURLcode result;
    size_t bytes;
};

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *loop, void *unused) {
    struct loop *l = loop;
    struct epoll_event e = {.data.fd = fd};
    (void)easy;
    (void)unused;
    e.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    if (what == CURL_POLL_REMOVE)
        epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd, NULL);
    else if (epoll_ctl(l->epoll, EPOLL_CTL_MOD, fd, &e) != 0)
        EXPECT(epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) == 0);
    return 0;
}

static int set_timer(CURLM *multi, long ms, void *loop) {
    struct loop *l = loop;
    (void)multi;
    l->due = fin_now() + (uint64_t)(ms < 0 ? NEVER_MS : ms) * FIN_MS;
    return eventfd_write(l->changed, 1);
}

static void loop_open(struct loop *l) {
    l->multi = curl_multi_init();
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->due = UINT64_MAX;
    EXPECT(l->multi && l->epoll >= 0 && l->changed >= 0);
    struct epoll_event e = {.events = EPOLLIN, .data.fd = l->changed};
    EXPECT(epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->changed, &e) == 0);
    curl_multi_setopt(l->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(l->multi, CURLMOPT_SOCKETDATA, l);
    curl_multi_setopt(l->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(l->multi, CURLMOPT_TIMERDATA, l);
}

static void loop_close(struct loop *l) {
    EXPECT(curl_multi_cleanup(l->multi) == CURLM_OK);
    close(l->epoll);
    close(l->changed);
}

// Something happened to a socket, or the time is over.
static void act(struct loop *l, curl_socket_t fd, int what) {
    int running;
    EXPECT(curl_multi_socket_action(l->multi, fd, what, &running) == CURLM_OK);
    for (CURLMsg *m; (m = curl_multi_info_read(l->multi, &running));) {
        struct download *d;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &d);
        d->result = m->data.result;
        fin_event_advance(&d->ended, 1);
    }
}

static void ready(struct loop *l, const struct epoll_event *e) {
    eventfd_t value;
    if (e->data.fd == l->changed)
        eventfd_read(l->changed, &value); // only to look at the time again
    else
        act(l, e->data.fd,
            (e->events & EPOLLIN ? CURL_CSELECT_IN : 0) | (e->events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                (e->events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0));
}

// Until cancelled.
static FIN_BLOCKING void drive(struct loop *l) {
    while (!fin_cancelled()) {
        uint64_t now = fin_now();
        fin_timeout(l->due > now ? l->due - now : 1) {
            fin_poll(l->epoll, POLLIN);
        }
        if (fin_now() >= l->due) {
            l->due = UINT64_MAX;
            act(l, CURL_SOCKET_TIMEOUT, 0);
        }
        struct epoll_event e[16];
        int n = epoll_wait(l->epoll, e, 16, 0);
        for (int i = 0; i < n; i++)
            ready(l, &e[i]);
    }
}

static size_t take(char *data, size_t size, size_t count, void *download) {
    (void)data;
    ((struct download *)download)->bytes += size * count;
    return size * count;
}

// Downloads. Returns 0; -ECANCELED, and nothing of it goes on; -EIO with *why set. *bytes is what came in any case.
static FIN_BLOCKING int fetch(struct loop *l, const char *url, size_t *bytes, const char **why) {
    struct download d = {.ended = FIN_EVENT_INIT};
    CURL *easy = curl_easy_init();
    EXPECT(easy);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &d);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &d);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
    EXPECT(curl_multi_add_handle(l->multi, easy) == CURLM_OK);
    int r = fin_event_await(&d.ended, 1);
    curl_multi_remove_handle(l->multi, easy);
    curl_easy_cleanup(easy);
    *bytes = d.bytes;
    if (r == 0 && d.result != CURLE_OK) {
        *why = curl_easy_strerror(d.result);
        r = -EIO;
    }
    return r;
}

// ---- a server: /N has N bytes; /slow has no end

static FIN_BLOCKING bool answer(int fd, const char *path) {
    static const char block[4096];
    char head[128];
    long size = strtol(path, NULL, 10);
    bool slow = strncmp(path, "slow", 4) == 0;
    if (slow)
        size = 1 << 30;
    snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %ld\r\n\r\n", size);
    if (fin_send_all(fd, head, strlen(head), 0, NULL) != 0)
        return false;
    for (size_t left = (size_t)size, n; left > 0; left -= n) {
        n = slow ? 1 : left < sizeof block ? left : sizeof block;
        if ((slow && fin_sleep(5 * FIN_MS) != 0) || fin_send_all(fd, block, n, 0, NULL) != 0)
            return false;
    }
    return true;
}

static FIN_BLOCKING void converse(int fd, void *unused) {
    char request[2048];
    (void)unused;
    size_t have = 0;
    for (ssize_t n; (n = fin_recv(fd, request + have, sizeof request - 1 - have, 0)) > 0;) {
        have += (size_t)n;
        request[have] = 0;
        if (!strstr(request, "\r\n\r\n"))
            continue;
        have = 0;
        if (strncmp(request, "GET /", 5) != 0 || !answer(fd, request + 5))
            break;
    }
    close(fd);
}

static int listen_somewhere(int *port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT(fd >= 0 && bind(fd, (struct sockaddr *)&a, size) == 0 && listen(fd, 64) == 0);
    EXPECT(getsockname(fd, (struct sockaddr *)&a, &size) == 0);
    *port = ntohs(a.sin_port);
    return fd;
}

// ---- what is shown

static FIN_BLOCKING int show(struct loop *l, const char *url, size_t *bytes) {
    const char *why = "";
    uint64_t begin = fin_now();
    int r = fetch(l, url, bytes, &why);
    printf("  %-40s %9zu bytes in %6.1f ms  %s\n", url, *bytes, (double)(fin_now() - begin) / 1e6,
           r == 0            ? ""
           : r == -ECANCELED ? "cancelled"
                             : why);
    return r;
}

enum { DOWNLOADS = 8 };

static FIN_BLOCKING void from_own_server(struct loop *l, int port, size_t largest) {
    fin_finish {
        for (int i = 0; i < DOWNLOADS; i++) {
            fin_async {
                char url[64];
                size_t bytes, size = largest >> (DOWNLOADS - 1 - i);
                snprintf(url, sizeof url, "http://127.0.0.1:%d/%zu", port, size);
                EXPECT(show(l, url, &bytes) == 0 && bytes == size);
            };
        }
        fin_async {
            char url[64];
            size_t bytes;
            snprintf(url, sizeof url, "http://127.0.0.1:%d/slow", port);
            fin_timeout(100 * FIN_MS) {
                EXPECT(show(l, url, &bytes) == -ECANCELED);
            }
        };
    }
}

static FIN_BLOCKING int from_elsewhere(struct loop *l, int count, char **urls) {
    fin_shared int failed = 0;
    fin_finish {
        for (int i = 0; i < count; i++) {
            fin_async {
                size_t bytes;
                if (show(l, urls[i], &bytes) != 0)
                    failed++;
            };
        }
    }
    return failed;
}

FIN_BLOCKING int main(int argc, char **argv) {
    struct loop loop, *l = &loop;
    bool quick = has_option(argc, argv, "--short");
    int port, listener = listen_somewhere(&port);
    struct door door = {.listener = listener, .serve = converse}, *d = &door;
    fin_shared int failed = 0;
    EXPECT(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    loop_open(l);
    fin_finish_as(all) {
        EXPECT(fin_async_cont(keep_door, &d, sizeof d));
        fin_async { drive(l); };
        if (argc > 1 && !quick)
            failed = from_elsewhere(l, argc - 1, argv + 1);
        else
            from_own_server(l, port, quick ? 1 << 20 : 64 << 20);
        fin_cancel_as(all);
    }
    loop_close(l);
    curl_global_cleanup();
    close(listener);
    return failed != 0;
}
