// SPDX-License-Identifier: BSD-2-Clause
// For order_everything.c: what runs a program. Blocks and asyncs of all forms, where they stand in the code as programs
// have them.
#ifndef FIN_TESTS_CORE_ORDER_RUN_H
#define FIN_TESTS_CORE_ORDER_RUN_H

static void block(int me, const struct op *op);
static void calls(int me, int depth);
static void calls_with_item(int me, int item, int depth);
static void body(int me);
#ifdef __cplusplus
static void tries(int me);
#endif

static void body_of(void *me) { body((int)(intptr_t)me); }

static void one_op(int me, const struct op *op) {
    enum kind k = op->kind;
    const int child = op->a;
    if (k <= TO_ID_SAVE_ALONE)
        yields(me, op);
    else if (k <= SUSPEND_THEN)
        suspends(me, op);
    else if (k == SCHEDULE)
        schedules(op);
    else if (k <= ID_CHURN)
        uses_id(op);
    else if (k <= IS_CANCELLED)
        uses_items(op);
    else if (k <= ADVANCE)
        uses_object(me, op);
    else if (k == CALL)
        calls(me, 1 + (int)(op->style % 4));
#ifdef __cplusplus
    else if (k == THROW)
        throw thrown(op->b);
    else if (k == TRY)
        tries(me);
#endif
    else if (k == IN_FRAME)
        calls_with_item(me, op->a, (int)(op->style % 3));
    else if (k == BLOCK)
        block(me, op);
    else if (k == FINISH)
        op->style & 1 ? THCFinish() : THCAbort();
    else // outside any block of this function
        ASYNC({
            int mine = child;
            body(mine);
        });
}

// With values that are to be kept, more than there are registers for.
static void performs(int me, const struct op *op) {
    uintptr_t a = op->style, b = a + 1, c = a * 3, d = a ^ 5, e = ~a, f = a << 7, g = a * a;
    volatile uintptr_t there[4] = {a, c, e, g};
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    uintptr_t sum = a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f;
    one_op(me, op);
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    HOLDS(a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f == sum && a == op->style);
    HOLDS(there[0] == a && there[1] == c && there[2] == e && there[3] == g);
    arrives(me);
}

// The code in a block: returns from the function that has it, or goes to the end of the block.
#define CODE(cancels_it)                                                                                                    \
    real.blocks[b] = fin_self->current;                                                                                     \
    begins(me, b);                                                                                                          \
    for (;;) {                                                                                                              \
        struct op next;                                                                                                     \
        draw(me, &next, IN_BLOCK);                                                                                          \
        const int child = next.a;                                                                                           \
        const unsigned how = next.kind == ASYNC_OP ? next.style % 6 : 6;                                                    \
        if (next.kind == RETURN)                                                                                            \
            return;                                                                                                         \
        if (next.kind == LEAVE)                                                                                             \
            break;                                                                                                          \
        if (how == 0) {                                                                                                     \
            fin_async {                                                                                                     \
                int mine = child;                                                                                           \
                BODY(mine);                                                                                                 \
            };                                                                                                              \
        } else if (how == 1) {                                                                                              \
            fin_async_eager {                                                                                               \
                int mine = child;                                                                                           \
                BODY(mine);                                                                                                 \
            };                                                                                                              \
        } else if (how == 2) {                                                                                              \
            fin_async_call(body_of, (void *)(intptr_t)child);                                                               \
        } else if (how == 3) {                                                                                              \
            fin_async_eager_call(body_of, (void *)(intptr_t)child);                                                         \
        } else if (how == 4) {                                                                                              \
            fin_async {                                                                                                     \
                int mine = child;                                                                                           \
                body(mine);                                                                                                 \
            };                                                                                                              \
        } else if (next.kind == CANCEL_BLOCK && next.a == b) {                                                              \
            cancels_it;                                                                                                     \
        } else {                                                                                                            \
            performs(me, &next);                                                                                            \
            continue;                                                                                                       \
        }                                                                                                                   \
        arrives(me);                                                                                                        \
    }

// A body in place, which may start others directly inside it; these belong to the same block.
#define BODY(mine)                                                                                                          \
    m.awes[mine].nests = true;                                                                                              \
    arrives(mine);                                                                                                          \
    for (;;) {                                                                                                              \
        struct op in;                                                                                                       \
        draw(mine, &in, IN_BODY);                                                                                           \
        const int inner = in.a;                                                                                             \
        if (in.kind == LEAVE)                                                                                               \
            break;                                                                                                          \
        if (in.kind == NEST) {                                                                                              \
            fin_async {                                                                                                     \
                int own = inner;                                                                                            \
                body(own);                                                                                                  \
            };                                                                                                              \
            arrives(mine);                                                                                                  \
        } else {                                                                                                            \
            performs(mine, &in);                                                                                            \
        }                                                                                                                   \
    }

static void body(int me) {
    struct op op;
    arrives(me);
    for (draw(me, &op, IN_BODY); op.kind != LEAVE; draw(me, &op, IN_BODY))
        performs(me, &op);
}

static __attribute__((noinline)) void calls(int me, int depth) {
    volatile unsigned char room[200];
    for (unsigned i = 0; i < sizeof room; i++)
        room[i] = (unsigned char)(me + depth);
    struct op op;
    if (depth > 0)
        calls(me, depth - 1);
    else
        for (draw(me, &op, IN_CALL); op.kind != LEAVE; draw(me, &op, IN_CALL))
            performs(me, &op);
    for (unsigned i = 0; i < sizeof room; i++)
        HOLDS(room[i] == (unsigned char)(me + depth));
}

// Its item is removed, however it is left.
static __attribute__((noinline)) void calls_with_item(int me, int item, int depth) {
    struct fin_cancel_item here;
    m.items[item].at = &here;
    fin_cancel_item_add(&here, item_called, &m.items[item]);
    arrives(me);
#ifdef __cplusplus
    try {
        calls(me, depth);
    } catch (const thrown &) {
        dispatches_alone(); // it has been left, says the model
        HOLDS(fin_cancel_item_remove(&here) == m.items[item].was_there);
        throw;
    }
#else
    calls(me, depth);
#endif
    HOLDS(THCCancelItemRan(&here) == m.items[item].ran);
    item_leaves_frame(me, item);
    HOLDS(fin_cancel_item_remove(&here) == m.items[item].was_there);
    memset(&here, 0x5a, sizeof here);
}

#ifdef __cplusplus
static void tries(int me) {
    struct op op;
    try {
        arrives(me);
        for (draw(me, &op, IN_CALL); op.kind != LEAVE; draw(me, &op, IN_CALL))
            performs(me, &op);
    } catch (const thrown &caught) {
        arrives(me);
        HOLDS(caught.value == handles(&m.awes[me]));
        for (draw(me, &op, IN_CATCH); op.kind != LEAVE; draw(me, &op, IN_CATCH)) {
            if (op.kind == RETHROW)
                throw;
            performs(me, &op);
        }
    }
}
#endif

// A block whose time is over soon has an item that is called then, and stays.
static void begins(int me, int b) {
    arrives(me);
    if (m.blocks[b].timed != 3 || is_cancelled(b))
        return;
    if (fin_cancelled()) { // late from the start
        cancels(b);
        return;
    }
    for (int i = 0; i < ITEMS; i++)
        if (!m.items[i].listed && !m.items[i].in_frame) {
            struct model_item *t = &m.items[i];
            t->used = t->listed = true;
            t->ran = false;
            t->block = b;
            t->deed = NOTHING;
            t->at = &t->own;
            entry_add(b, i);
            fin_cancel_item_add(t->at, item_called, t);
            return;
        }
    HOLDS(false);
}

static void block_thc(int me, const struct op *op) {
    const int b = op->a;
    if (op->b == FINISH_THC)
        DO_FINISH({ CODE(fin_cancel()) });
    else if (op->b == FINISH_TAG)
        DO_FINISH_(tag, { CODE(CANCEL(tag)) });
    else
        DO_FINISH_NX({ CODE(fin_cancel()) });
}

static void block_fin(int me, const struct op *op) {
    const int b = op->a;
    if (op->b == FINISH_FIN) {
        fin_finish { CODE(fin_cancel()) }
    } else if (op->b == FINISH_AS) {
        fin_finish_as(label) { CODE(fin_cancel_as(label)) }
    } else {
        fin_finish_nc { CODE(fin_cancel()) }
    }
}

static void block_timed(int me, const struct op *op) {
    const int b = op->a;
    if (op->b == TIMEOUT) {
        fin_timeout(op->ns) { CODE(fin_cancel()) }
    } else {
        fin_deadline(op->ns) { CODE(fin_cancel()) }
    }
}

static void block(int me, const struct op *op) {
    if (op->b <= FINISH_NX)
        block_thc(me, op);
    else if (op->b <= FINISH_NC)
        block_fin(me, op);
    else
        block_timed(me, op);
    const struct model_block *k = &m.blocks[op->a];
    bool late = fin_timed_out();
    HOLDS(!k->timed || k->timed == 3 || late == (k->timed == 2));
    HOLDS(!k->late || late);
}

// ---- programs

static void begin(void) {
    for (int i = 0; i < IDS; i++)
        m.ids[i].names = -1;
    memset(m.items, 0, sizeof m.items);
    memset(&m.awes[0], 0, sizeof m.awes[0]);
    memset(&m.blocks[0], 0, sizeof m.blocks[0]); // what is around all blocks
    m.blocks[0].open = m.blocks[0].nc = true;
    m.blocks[0].parent = -1;
    m.awe_count = m.block_count = 1;
    m.awes[0].base = m.awes[0].id = m.awes[0].entered = -1;
    m.awes[0].state = RUNS;
    m.awes[0].steps = 40;
    m.current = 0;
    m.left = 20 + below(300);
    soon = one_in(8);
#ifdef __cplusplus
    throws = !soon && one_in(2);
    lost = false;
#endif
    for (int i = 0; i < SEMS; i++)
        fin_sem_init(&real.sems[i], m.sems[i] = below(3));
    for (int i = 0; i < LOCKS; i++) {
        m.holder[i] = -1;
        thc_lock_init(&real.locks[i]);
        thc_condvar_init(&real.conds[i]);
    }
    for (int i = 0; i < QUEUES; i++)
        thc_queue_init(&real.queues[i]);
    for (int i = 0; i < EVENTS; i++) {
        m.counts[i] = 1;
        thc_ec_init(&real.counts[i]);
        thc_ec_advance(&real.counts[i], 1);
    }
}

static void end(void) {
    HOLDS(m.queue.n == 0 && m.aside.n == 0 && m.current == 0);
    for (int i = 1; i < m.awe_count; i++)
        HOLDS(m.awes[i].state == ENDED);
    for (int i = 0; i < ITEMS; i++)
        if (m.items[i].listed)
            HOLDS(m.items[i].block == 0 && fin_cancel_item_remove(m.items[i].at));
    for (int i = 0; i < LOCKS; i++)
        HOLDS(m.holder[i] < 0 && !real.locks[i].locked && m.at_lock[i].n == 0 && m.at_cond[i].n == 0);
    for (int i = 0; i < SEMS; i++)
        HOLDS(real.sems[i].value == m.sems[i]);
    for (int i = 0; i < IDS; i++)
        if (m.ids[i].live)
            HOLDS(fin_awe_id_get(m.ids[i].value) == NULL);
#ifdef __cplusplus
    HOLDS(thrown::live == 0 || lost);
    thrown::live = 0;
#endif
    struct fin_stats stats;
    fin_stats(&stats);
    HOLDS(stats.stacks_used == 1 && !fin_cancelled()); // the scheduler's
}

static void program(void) {
    begin();
#ifdef __cplusplus
    m.awes[0].frames[m.awes[0].depth++].kind = A_TRY;
    keeper = AWES - 1; // nobody
    m.awes[keeper].state = ENDED;
    tries(0);
#else
    struct op op;
    for (draw(0, &op, IN_CALL); op.kind != LEAVE; draw(0, &op, IN_CALL))
        performs(0, &op);
#endif
    end();
}

static void hangs(int unused) {
    (void)unused;
    fails(__FILE__, __LINE__, "it goes on");
}

// FIN_SEED=n FIN_ROUNDS=n in the environment: others, and more. An argument: how often each operation was drawn is told.
int main(int argc, char **argv) {
    const char *first = getenv("FIN_SEED"), *many = getenv("FIN_ROUNDS");
    unsigned rounds = many ? (unsigned)atoi(many) : on_valgrind() ? 300 : getenv("FIN_FEW") || FIN_SANITIZED ? 1000 : 10000;
    (void)argv;
    signal(SIGALRM, hangs);
    thc_seq_init(&real.tickets);
    never_loses = FIN_SANITIZED || on_valgrind();
    for (unsigned i = 0; i < rounds; i++) {
        if (i % 256 == 0)
            alarm(60);
        seed = (first ? (unsigned)atoi(first) : 1) + i;
        random_state = seed * 2654435761u;
        program();
    }
    for (int k = 0; k <= RETURN; k++) {
        if (argc > 1)
            printf("%s: %u\n", kind_names[k], op_counts[k]);
        HOLDS(rounds < 1000 || op_counts[k] > 0 || k == TRY || k == THROW || k == RETHROW);
    }
    return 0;
}
#endif
