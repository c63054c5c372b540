// SPDX-License-Identifier: BSD-2-Clause
// Chains of all kinds of steps by chance, several at once on each of several threads, that fail, fall short, are cancelled
// or lose a descriptor at any step: what the results say has been done has been done to files and streams, and nothing else,
// also not to what has got the number of a descriptor that the chain itself has closed.
// FIN_SEED=n FIN_ROUNDS=n in the environment: others, and more.
#define _GNU_SOURCE
#include "chains_random.h"

// Of the thread sanitizer see everything.c.
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) {
#define OF(call) "race:interceptor_" #call "\n"
    return OF(accept) OF(bind) OF(close) OF(connect) OF(epoll) OF(eventfd) OF(fcntl) OF(listen) OF(open) OF(pipe) OF(pread)
        OF(pwrite) OF(read) OF(recv) OF(send) OF(socket) OF(write);
}

enum { CHAINS = 8 };

// ---- steps

static char some_op(const struct chain *c, const struct line *l) {
    static const char *const ops[] = {"ssvvvaawrfx", "ssvvvaawrfx", "wwwwfx", "rrrrfx"};
    if (!l)
        return "rwRRRWWWfx"[chance(c->file_closed ? 10 : 9)];
    const char *of = ops[l->kind == 'w' ? 2 : l->kind == 'r' ? 3 : 0];
    return of[chance((unsigned)strlen(of))];
}

static struct fin_step step_of(const struct chain *c, unsigned i) {
    const struct line *l = c->line[i];
    int fd = l ? l->fd : c->file;
    switch (c->op[i]) {
    case 'r': return fin_step_read(fd, c->data[i], c->size[i]);
    case 'w': return fin_step_write(fd, c->data[i], c->size[i]);
    case 'R': return fin_step_pread(fd, c->data[i], c->size[i], (off_t)c->at[i]);
    case 'W': return fin_step_pwrite(fd, c->data[i], c->size[i], (off_t)c->at[i]);
    case 'c': return fin_step_connect(fd, (const struct sockaddr *)&l->address, sizeof l->address);
    case 's': return fin_step_send(fd, c->data[i], c->size[i], 0);
    case 'v': return fin_step_recv(fd, c->data[i], c->size[i], 0);
    case 'a': return fin_step_recv(fd, c->data[i], c->size[i], MSG_WAITALL);
    case 'f': return fin_step_fsync(fd);
    default: return fin_step_close(fd);
    }
}

static void make_step(struct chain *c, unsigned i, size_t planned[LINES]) {
    struct line *l = chance(3) ? &c->lines[chance(c->line_count)] : NULL;
    size_t size = 1 + chance(chance(2) ? 50 : LARGEST);
    c->line[i] = l;
    c->op[i] = some_op(c, l);
    if (l && l->kind == 'c' && i < 3 && !memchr(c->op, 'c', i))
        c->op[i] = 'c';
    c->size[i] = size;
    c->at[i] = chance(FILE_SIZE);
    c->data[i] = malloc(size);
    memset(c->data[i], 0xee, size);
    if (l && strchr("ws", c->op[i])) {
        fill_bytes(c->data[i], false, planned[l - c->lines], size);
        planned[l - c->lines] += size;
    } else if (strchr("wW", c->op[i])) {
        memset(c->data[i], (int)chance(256), size);
    } else if (l && strchr("rva", c->op[i])) {
        l->fed += size;
    }
    c->steps[i] = step_of(c, i);
}

static void make_chain(struct chain *c) {
    static const char kinds[] = "sstwrc";
    size_t planned[LINES] = {0};
    memset(c, 0, sizeof *c);
    c->calm = chance(3) == 0;
    c->starves = !c->calm && chance(2);
    fin_event_init(&c->told);
    if (!c->starves)
        fin_event_advance(&c->told, 1);
    c->line_count = 1 + chance(LINES);
    for (unsigned i = 0; i < c->line_count; i++) {
        open_line(&c->lines[i], kinds[chance(6)]);
        c->lines[i].starves = &c->told;
    }
    c->file = nameless_file();
    c->file_end = chance(FILE_SIZE);
    for (size_t i = 0; i < c->file_end; i++)
        c->content[i] = (unsigned char)chance(256);
    CHECK_EQ(pwrite(c->file, c->content, c->file_end, 0), (ssize_t)c->file_end);
    c->file_closed = chance(4) == 0; // may be
    c->count = 1 + chance(chance(4) ? 6 : FIN_LINKED_MOST);
    for (unsigned i = 0; i < c->count; i++)
        make_step(c, i, planned);
    c->file_closed = false;
    for (unsigned i = 0; i < c->line_count; i++)
        if (chance(3) == 0)
            c->lines[i].fed = chance(2) ? chance((unsigned)c->lines[i].fed + 1) : c->lines[i].fed + chance(3000);
    c->act = new_act("chain", c);
    c->act->status = 1; // it is there
}

// ---- what it has done

static void look_at_untouched(const struct chain *c, unsigned i) {
    for (size_t k = 0; k < c->size[i] && !strchr("wWs", c->op[i]); k++)
        HOLDS_OF(c->act, c->data[i][k] == 0xee);
}

static void note(struct chain *c, unsigned i) {
    if (c->line[i])
        note_line(c, i, c->steps[i].result);
    else
        note_file(c, i, c->steps[i].result);
}

static bool cut_short(const struct chain *c, unsigned i) {
    ssize_t r = c->steps[i].result;
    return c->act->was_cancelled && (r == -ECANCELED || (is_whole(c->op[i]) && r > 0));
}

static void show_chain(const struct chain *c) {
    for (unsigned i = 0; i < c->count; i++)
        fprintf(stderr, "%c of %c, %d, %zu bytes: %zd\n", c->op[i], c->line[i] ? c->line[i]->kind : 'f',
                c->line[i] ? c->line[i]->fd : c->file, c->size[i], c->steps[i].result);
    for (const struct line *l = c->lines; l < c->lines + c->line_count; l++)
        fprintf(stderr, "%c, %d: sent %zu drained %zu fed %zu got %zu%s%s%s, peer %d\n", l->kind, l->fd, l->sent,
                l->drained, l->fed, l->got, l->dead ? ", dead" : "", l->closed ? ", closed" : "",
                l->given_up ? ", given up" : "", l->peer);
}

static void look_at_results(struct chain *c) {
    unsigned good = (unsigned)c->act->result;
    HOLDS_OF(c->act, c->act->result >= 0 && good <= c->count);
    HOLDS_OF(c->act, good > 0 || c->steps[0].result != -ECANCELED);
    for (unsigned i = 0; i < c->count; i++) {
        bool fine = i < good    ? is_good(c, i) && !(c->line[i] && c->line[i]->closed)
                    : i == good ? !is_good(c, i) && (cut_short(c, i) || justifies_end(c, i))
                                : c->steps[i].result == -ECANCELED;
        if (!fine)
            show_chain(c);
        HOLDS_OF(c->act, fine);
        if (c->steps[i].result <= 0)
            look_at_untouched(c, i);
        note(c, i);
    }
}

static void look_at_file(struct chain *c) {
    static __thread unsigned char now[sizeof c->content + 1];
    if (c->file_closed)
        return;
    HOLDS_OF(c->act, lseek(c->file, 0, SEEK_CUR) == (off_t)c->position);
    HOLDS_OF(c->act, pread(c->file, now, sizeof now, 0) == (ssize_t)c->file_end);
    HOLDS_OF(c->act, memcmp(now, c->content, c->file_end) == 0);
    close(c->file);
}

// What has not been received is still there, and nobody else's.
static void receive_rest(struct chain *c, struct line *l) {
    unsigned char p[2000];
    ssize_t n;
    while ((n = fin_read_nc(l->fd, p, sizeof p)) > 0) {
        HOLDS_OF(c->act, are_bytes(p, true, l->got, (size_t)n));
        l->got += (size_t)n;
    }
    if (!l->dead && n == 0)
        HOLDS_OF(c->act, l->got == l->fed);
    HOLDS_OF(c->act, n == 0 || n == -ENOTCONN || (l->dead && n == -ECONNRESET));
}

static void end_line(struct chain *c, struct line *l) {
    bool open = !l->closed && !l->given_up;
    bool connected = l->kind != 'c' || (open && getpeername(l->fd, (struct sockaddr *)&l->address, &(socklen_t){16}) == 0);
    while (connected && !l->dead && l->peer < 0)
        fin_yield(); // until it is accepted
    if (open && connected && l->kind != 'w' && chance(3))
        receive_rest(c, l);
    if (open)
        close(l->fd);
}

// ---- a chain

static ssize_t run_chain(struct act *a) {
    struct chain *c = a->object;
    a->counts = true;
    a->moved = 0;
    int r = !a->cancels && a->how ? fin_linked_nc(c->steps, c->count) : fin_linked(c->steps, c->count);
    for (unsigned i = 0; i < c->count; i++)
        a->moved += c->steps[i].result != -ECANCELED;
    return r;
}

static bool closes_itself(const struct chain *c, const struct line *l) {
    for (unsigned i = 0; i < c->count; i++)
        if (c->line[i] == l && c->op[i] == 'x')
            return true;
    return false;
}

static void gives_up(void *line) {
    struct line *l = line;
    for (unsigned n = 1 + chance(10); n; n--) // the chain has begun by then
        fin_yield();
    l->given_up = true;
    HOLDS(fin_close_nc(l->fd) == 0);
}

// Nothing but the cancel ends a chain that receives.
static void starve(struct chain *c) {
    struct act *a = c->act;
    a->cancels = true;
    fin_finish {
        START(a);
        pause_here();
        fin_cancel();
    }
    fin_event_advance(&c->told, 1);
}

static void run_to_end(struct chain *c) {
    struct act *a = c->act;
    a->run = run_chain;
    a->how = chance(2);
    fin_finish_nc {
        struct line *l = &c->lines[chance(c->line_count)];
        if (c->calm && chance(2) && !closes_itself(c, l))
            fin_async_call(gives_up, l);
        if (c->starves)
            starve(c);
        if (c->calm)
            attempt_calmly(a);
        else if (!c->starves || a->result == -ECANCELED)
            while (!attempt(a)) {
            }
    }
    look_at_results(c);
    look_at_file(c);
}

static void look_at_line(struct chain *c, const struct line *l) {
    bool all = l->drained == l->sent || (l->drained < l->sent && (l->reset || l->dead)) || l->kind == 'r';
    if (!all)
        show_chain(c);
    HOLDS_OF(c->act, all);
}

static void has_chain(void *unused) {
    struct chain *c = malloc(sizeof *c);
    (void)unused;
    make_chain(c);
    fin_finish {
        for (unsigned i = 0; i < c->line_count; i++)
            fin_async_call(is_beside, &c->lines[i]);
        run_to_end(c);
        for (unsigned i = 0; i < c->line_count; i++)
            end_line(c, &c->lines[i]);
        fin_cancel(); // who would accept
    }
    for (unsigned i = 0; i < c->line_count; i++) {
        look_at_line(c, &c->lines[i]);
        if (c->lines[i].kind == 'c')
            close(c->lines[i].listener);
    }
    for (unsigned i = 0; i < c->count; i++)
        free(c->data[i]);
    c->act->status = 0;
    free(c);
}

static void thread(void *number) {
    own_seed = seed * 977 + (unsigned)(intptr_t)number * 7919;
    for (unsigned burst = 0; burst < BURSTS; burst++) {
        fin_finish {
            for (unsigned n = 1 + chance(CHAINS); n; n--)
                fin_async_call(has_chain, NULL);
        }
    }
}

static void one_round(void) {
    own_seed = seed * 2654435761u;
    next_random(&own_seed);
    thread_count = 1 + chance(THREADS);
    on_all_threads(thread);
    free_acts();
}

static void hangs(int unused) {
    (void)unused;
    fprintf(stderr, "hangs: FIN_SEED=%u FIN_ROUNDS=1; %u threads, %s\n", seed, thread_count, fin_io_backend());
    for (int i = 0; i < act_count && i < ACTS; i++) {
        if (!acts[i] || !acts[i]->status)
            continue;
        show(acts[i]);
        show_chain(acts[i]->object);
    }
    abort();
}

int main(void) {
    run_rounds(30, 3, 30, one_round, hangs);
    return 0;
}
