// SPDX-License-Identifier: BSD-2-Clause
// A small key-value store, served to several processes. The server is one thread without a lock: requests that do not block
// are served one at a time as they come, and one that waits (for a key that is not there yet) waits for a condition, while
// the others are served. While a client asks nothing the server has no stack for it.
//
//   store [--short]
#include "peer.h"

enum { CLIENTS = 4, KEY = 24, VALUE = 256, BUCKETS = 1024 };
enum op { PUT = 1, GET, REMOVE, WAIT }; // WAIT: GET, once somebody has PUT it

struct request {
    uint32_t op, size; // of the value
    char key[KEY];
    char value[VALUE];
};

// An answer is an int: 0 or a negative errno; then the value.
struct answer {
    int32_t error;
    char value[VALUE];
};

// ---- the store

struct entry {
    struct entry *next;
    char key[KEY];
    size_t size;
    char value[VALUE];
};

static struct entry *table[BUCKETS];
static struct fin_cond changed = FIN_COND_INIT;
static struct fin_mutex mutex = FIN_MUTEX_INIT; // of `changed` only: nothing else of this thread runs in between

static struct entry **find(const char *key) {
    uint32_t hash = 2166136261u;
    for (int i = 0; i < KEY && key[i]; i++)
        hash = (hash ^ (unsigned char)key[i]) * 16777619u;
    struct entry **at = &table[hash % BUCKETS];
    while (*at && strncmp((*at)->key, key, KEY) != 0)
        at = &(*at)->next;
    return at;
}

static int put(const struct request *r) {
    struct entry **at = find(r->key);
    if (!*at) {
        *at = calloc(1, sizeof **at);
        if (!*at)
            return -ENOMEM;
        memcpy((*at)->key, r->key, KEY);
    }
    (*at)->size = r->size;
    memcpy((*at)->value, r->value, r->size);
    fin_cond_broadcast(&changed);
    return 0;
}

static int remove_key(const struct request *r) {
    struct entry **at = find(r->key), *e = *at;
    if (!e)
        return -ENOENT;
    *at = e->next;
    free(e);
    return 0;
}

static FIN_BLOCKING int wait_for(const struct request *r) {
    int error = fin_mutex_lock(&mutex);
    if (error != 0)
        return error;
    while (!*find(r->key) && error == 0)
        error = fin_cond_wait(&changed, &mutex);
    fin_mutex_unlock(&mutex);
    return error;
}

// The other process may have sent anything.
static bool sound(const struct request *r, size_t size) {
    size_t head = offsetof(struct request, value);
    return size >= head && r->size <= VALUE && size == head + r->size;
}

static FIN_BLOCKING void handle(struct fin_rpc *from, uint32_t id, void *request, size_t size, void *unused) {
    struct request *r = request;
    struct answer a = {.error = -EINVAL};
    size_t length = 0;
    (void)unused;
    if (sound(r, size)) {
        a.error = r->op == PUT ? put(r) : r->op == REMOVE ? remove_key(r) : r->op == WAIT ? wait_for(r) : 0;
        struct entry *e = *find(r->key);
        if (a.error == 0 && (r->op == GET || r->op == WAIT)) {
            a.error = e ? 0 : -ENOENT;
            length = e ? e->size : 0;
            memcpy(a.value, e ? e->value : "", length);
        }
    }
    fin_rpc_reply(from, id, &a, offsetof(struct answer, value) + length);
}

// ---- a client

static struct fin_rpc *store;

// Returns the length of the value that was got, or a negative errno.
static FIN_BLOCKING ssize_t ask(enum op op, const char *key, const void *value, size_t size, void *got) {
    struct request r = {.op = op, .size = (uint32_t)size};
    struct answer a;
    memcpy(r.key, key, strnlen(key, KEY));
    memcpy(r.value, value, size);
    ssize_t n = fin_rpc_call(store, &r, offsetof(struct request, value) + size, &a, sizeof a);
    if (n < 0)
        return n;
    EXPECT((size_t)n >= offsetof(struct answer, value));
    n -= (ssize_t)offsetof(struct answer, value);
    if (got && a.error == 0 && n > 0)
        memcpy(got, a.value, (size_t)n);
    return a.error < 0 ? a.error : n;
}

static uint64_t operations = 20000;

// Each client passes a token to the next through the store, and works on keys of its own meanwhile.
static FIN_BLOCKING void be_client(struct fin_chan *c, struct peer *p) {
    int me = p->processor;
    EXPECT(fin_rpc_open(&store, c, FIN_RPC_CLIENT) == 0);
    fin_finish {
        fin_async {
            char key[KEY], value[VALUE];
            snprintf(key, sizeof key, "token %d", me);
            EXPECT(ask(WAIT, key, "", 0, value) == 5 && memcmp(value, "token", 5) == 0);
            snprintf(key, sizeof key, "token %d", me + 1);
            EXPECT(ask(PUT, key, "token", 5, NULL) == 0);
        };
        for (uint64_t i = 0; i < operations / 4; i++) {
            char key[KEY], value[VALUE], got[VALUE];
            snprintf(key, sizeof key, "%d/%llu", me, (unsigned long long)i % 100);
            memset(value, (int)(i + (uint64_t)me), sizeof value);
            size_t size = i % 10 ? 8 : sizeof value;
            EXPECT(ask(PUT, key, value, size, NULL) == 0);
            EXPECT(ask(GET, key, "", 0, got) == (ssize_t)size && memcmp(got, value, size) == 0);
            EXPECT(ask(REMOVE, key, "", 0, NULL) == 0);
            EXPECT(ask(GET, key, "", 0, got) == -ENOENT);
        }
    }
    EXPECT(fin_rpc_close(store) == 0);
}

FIN_BLOCKING int main(int argc, char **argv) {
    only_options(argc, argv, 1, OPTIONS("--short"));
    struct peer clients[CLIENTS];
    if (has_option(argc, argv, "--short"))
        operations = 400;
    for (int i = 0; i < CLIENTS; i++)
        peer_start(&clients[i], be_client, i);
    uint64_t start = fin_now();
    put(&(struct request){.key = "token 0", .size = 5, .value = "token"});
    fin_finish {
        for (int i = 0; i < CLIENTS; i++) {
            peer_open(&clients[i]);
            struct peer_service *s = peer_service(clients[i].chan, handle, NULL);
            EXPECT(fin_async_cont(serve_peer, &s, sizeof s));
        }
    }
    double us = (double)(fin_now() - start) / 1e3;
    EXPECT(*find("token 4") != NULL);
    for (int i = 0; i < CLIENTS; i++)
        peer_ended(&clients[i]);
    printf("%d processes, %llu operations each: %.2f us an operation\n", CLIENTS, (unsigned long long)operations,
           us / (double)(CLIENTS * operations));
    return 0;
}
