// SPDX-License-Identifier: BSD-2-Clause
#include "machine.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ac {

std::string Outcome::text() const {
    std::string out;
    for (unsigned x = 0; x < VARIABLES; x++)
        out += std::string(1, static_cast<char>('x' + x)) + "=" + std::to_string(sigma[x]) + " ";
    for (unsigned r = 0; r < CHANNELS; r++) {
        out += std::string(1, static_cast<char>('r' + r)) + "=[";
        for (unsigned i = 0; i < beta[r].count; i++)
            out += std::to_string(beta[r].values[i]);
        out += "] ";
    }
    return out + (endless ? "and no end" : finished ? "finished" : std::to_string(waiting) + " waiting");
}

// Operations in the holes of contexts.
static unsigned waiting_in(const Commands &commands, Id id) {
    const Command &c = commands[id];
    switch (c.kind) {
    case Kind::Seq:
        return waiting_in(commands, c.left);
    case Kind::Pool:
        return waiting_in(commands, c.left);
    case Kind::Bag:
        return waiting_in(commands, c.left) + waiting_in(commands, c.right);
    case Kind::Send:
    case Kind::Recv:
    case Kind::Try:
        return 1;
    default:
        return 0;
    }
}

Outcome outcome_of(const Commands &commands, const State &final) {
    Outcome o;
    o.sigma = final.sigma;
    o.beta = final.beta;
    o.finished = final.c == commands.SKIP;
    o.waiting = waiting_in(commands, final.c);
    return o;
}

static void compile(const Commands &commands, Id id, std::vector<Instruction> &out) {
    const Command &c = commands[id];
    auto here = [&] { return static_cast<uint32_t>(out.size()); };
    uint32_t first = here();
    switch (c.kind) {
    case Kind::Assign:
        out.push_back({Op::Assign, c, 0});
        break;
    case Kind::Cancel:
        out.push_back({Op::Cancel, c, 0});
        break;
    case Kind::Send:
    case Kind::Recv:
        out.push_back({Op::Io, c, 0});
        break;
    case Kind::Seq:
        compile(commands, c.left, out);
        compile(commands, c.right, out);
        break;
    case Kind::If: {
        out.push_back({Op::Unless, c, 0});
        compile(commands, c.left, out);
        uint32_t jump = here();
        out.push_back({Op::Jump, c, 0});
        out[first].target = here();
        compile(commands, c.right, out);
        out[jump].target = here();
        break;
    }
    case Kind::While:
        out.push_back({Op::Unless, c, 0});
        compile(commands, c.left, out);
        out.push_back({Op::Jump, c, first});
        out[first].target = here();
        break;
    case Kind::Try:
        out.push_back({Op::Try, c, 0});
        compile(commands, c.left, out);
        out[first].target = here();
        break;
    case Kind::Async:
    case Kind::Pool:
        out.push_back({c.kind == Kind::Async ? Op::Async : Op::Pool, c, 0});
        compile(commands, c.kind == Kind::Async ? c.left : commands[c.left].left, out);
        out.push_back({Op::End, c, 0});
        out[first].target = here();
        break;
    default:
        break; // Skip; a program has one command in a pool
    }
}

std::vector<Instruction> compile(const Commands &commands, Id c) {
    std::vector<Instruction> out;
    compile(commands, c, out);
    out.push_back({Op::End, {}, 0});
    return out;
}

// ---- the program's side

// In the frame of the AWE that waits for it.
struct Machine::Operation {
    Machine *machine;
    const Instruction *i;
    fin_awe *awe = nullptr;
    bool cancel_asked = false, done = false, ready = false;
    bool without_stack = false; // its AWE is cancelled by Fin, at once
};

bool Machine::operate(const Instruction &i) {
    if (given_up)
        return false;
    Operation o{this, &i};
    fin_cancel_item item;
    operations.push_back(&o);
    if (i.op == Op::Try)
        fin_cancel_item_add(&item, [](void *arg) { static_cast<Operation *>(arg)->cancel_asked = true; }, &o);
    if (random.below(2))
        fin_suspend(&o.awe);
    else
        fin_suspend_then(&o.awe, [](void *) {}, nullptr);
    if (i.op == Op::Try)
        fin_cancel_item_remove(&item);
    return o.done;
}

// All but what needs a finish block or starts a body. False: the end of the body.
bool Machine::step(const Instruction &i, uint32_t &at) {
    switch (i.op) {
    case Op::Assign:
        sigma[i.c.x] = value(sigma, i.c.e);
        break;
    case Op::Unless:
        if (!value(sigma, i.c.b))
            at = i.target;
        break;
    case Op::Jump:
        at = i.target;
        break;
    case Op::Io:
        operate(i);
        break;
    case Op::Try:
        if (operate(i))
            at = i.target;
        break;
    case Op::Pool:
        pool(at, i.c.x);
        at = i.target;
        break;
    default:
        return false;
    }
    return !given_up;
}

template <class Body> static void run_copy(Body body, uint32_t from) { body(body, from); }

// The asyncs of the pool's own command are written in the frame of its finish block, and so are lazy; those directly inside
// a body get there through `body`. Each runs a copy of it: the braces of the block end before the bodies do.
void Machine::written_pool(uint32_t at) {
    fin_finish_as(block) {
        auto body = [&](auto &self, uint32_t from) -> void {
            for (bool more = true; more;) {
                const Instruction &i = code[from++];
                if (i.op == Op::Cancel) {
                    fin_cancel_as(block);
                } else if (i.op == Op::Async) {
                    uint32_t inside = from;
                    if (eager())
                        fin_async_eager { run_copy(self, inside); };
                    else
                        fin_async { run_copy(self, inside); };
                    from = i.target;
                } else {
                    more = step(i, from);
                }
            }
        };
        for (bool more = true; more;) {
            const Instruction &i = code[at++];
            if (i.op == Op::Cancel) {
                fin_cancel_as(block);
            } else if (i.op == Op::Async) {
                uint32_t inside = at;
                if (eager())
                    fin_async_eager { run_copy(body, inside); };
                else
                    fin_async { run_copy(body, inside); };
                at = i.target;
            } else {
                more = step(i, at);
            }
        }
    }
}

// What is left of a body whose AWE waits with a continuation.
struct Machine::Rest {
    Machine *machine;
    fin::scope *scope;
    Operation *o;
    uint32_t at;
};

void Machine::go_on(void *state, int result) {
    Rest rest = *static_cast<Rest *>(state);
    Machine &m = *rest.machine;
    const Instruction &i = *rest.o->i;
    m.went_on++;
    if (i.op == Op::Try && rest.o->done && result == 0)
        rest.at = i.target;
    m.take_off(*rest.o);
    delete rest.o;
    if (!m.given_up)
        m.scope_pool(*rest.scope, rest.at, true);
    fin_cont_end();
}

// Does not return, unless the AWE has to keep its stack.
void Machine::operate_without_stack(const Rest &rest, const Instruction &i) {
    fin_awe *self = fin_awe_self();
    if (i.op == Op::Io && !self) // by which name would it be resumed?
        return;
    auto *o = new Operation{this, &i};
    o->without_stack = i.op == Op::Try;
    operations.push_back(o);
    Rest all = rest;
    all.o = o;
    if (i.op == Op::Io) {
        o->awe = self;
        fin_block_on_nc(go_on, &all, sizeof all);
    } else {
        fin_block_on_then(go_on, &all, sizeof all, [](fin_awe *awe, void *arg) { static_cast<Operation *>(arg)->awe = awe; },
                          o);
    }
    take_off(*o);
    delete o;
}

void Machine::scope_pool(fin::scope &scope, uint32_t at, bool body) {
    for (bool more = true; more;) {
        const Instruction &i = code[at++];
        if (i.op == Op::Cancel) {
            scope.cancel();
        } else if (i.op == Op::Async) {
            uint32_t inside = at;
            scope.async([this, &scope, inside] { scope_pool(scope, inside, true); });
            at = i.target;
        } else {
            if (body && !given_up && (i.op == Op::Io || i.op == Op::Try) && random.below(2))
                operate_without_stack({this, &scope, nullptr, at}, i);
            more = step(i, at);
        }
    }
}

void Machine::pool(uint32_t at, bool shielded) {
    auto inside = [&](fin::scope &scope) { scope_pool(scope, at, false); };
    if (shielded)
        fin::finish_nc(inside);
    else if (how == Explicit)
        fin::finish(inside);
    else
        written_pool(at);
}

// ---- the devices and the scheduler

Machine::Machine(const std::vector<Instruction> &code, const State &first, uint64_t seed, How how, Helper *helper)
    : code(code), sigma(first.sigma), beta(first.beta), random{seed}, how(how), helper(helper) {}

bool Machine::can(const Operation &o) const {
    if (!o.awe)
        return false;
    bool recv = (o.i->op == Op::Try ? o.i->c.io : o.i->c.kind) == Kind::Recv;
    return !recv || beta[o.i->c.r].count > 0;
}

void Machine::device(Operation &o) {
    const Command &c = o.i->c;
    if ((o.i->op == Op::Try ? c.io : c.kind) == Kind::Recv)
        beta[c.r].pop_right(&sigma[c.x]);
    else
        beta[c.r].push_left(value(sigma, c.e));
    o.done = o.ready = true;
}

void Machine::take_off(const Operation &o) {
    for (Operation *&p : operations)
        if (p == &o) {
            p = operations.back();
            operations.pop_back();
            return;
        }
}

void Machine::resume(Operation &o) {
    fin_awe *awe = o.awe;
    take_off(o);
    if (!awe) // it was cancelled before it waited, and is in the queue
        return;
    if (helper && random.below(4) == 0) {
        struct Both {
            fin_awe *awe, *self;
            Helper *helper;
        } both{awe, nullptr, helper};
        fin_suspend_then(&both.self, [](void *arg) {
            auto *b = static_cast<Both *>(arg);
            b->helper->schedule(b->awe, b->self);
        }, &both);
        return;
    }
    switch (random.below(4)) {
    case 0:
        fin_yield_to(awe);
        break;
    case 1:
        fin_schedule_front(awe);
        fin_yield();
        break;
    case 2:
        fin_schedule(awe);
        fin_yield();
        break;
    default: // others may join it in the queue, and more be done before it runs
        fin_schedule(awe);
        queued = true;
    }
}

// One thing that can happen next, chosen at random. False: nothing can.
bool Machine::schedule() {
    struct Choice {
        Operation *o;
        enum { Do, Cancel, Resume } what;
    };
    Choice choices[128];
    size_t n = 0;
    for (Operation *o : operations) {
        if (n + 2 > sizeof choices / sizeof *choices)
            break;
        if (o->ready) {
            choices[n++] = {o, Choice::Resume};
            continue;
        }
        if (can(*o))
            choices[n++] = {o, Choice::Do};
        if (o->cancel_asked)
            choices[n++] = {o, Choice::Cancel};
    }
    if (n == 0 || (queued && random.below(n + 1) == 0)) {
        unsigned before = went_on;
        fin_yield();
        return std::exchange(queued, false) || went_on != before;
    }
    Choice c = choices[random.below(n)];
    if (c.what == Choice::Do && c.o->without_stack) {
        queued = true;
        if (fin_schedule(c.o->awe) == 0) // or it has been cancelled, and will run for that
            device(*c.o);
        take_off(*c.o);
    } else if (c.what == Choice::Do)
        device(*c.o);
    else if (c.what == Choice::Cancel)
        c.o->ready = true;
    else
        resume(*c.o);
    return true;
}

void Machine::give_up(bool endless) {
    outcome = {sigma, beta, static_cast<unsigned>(operations.size()), false, endless};
    given_up = true;
    while (!operations.empty())
        resume(*operations.back());
}

void Machine::scheduler() {
    unsigned steps = 0;
    while (!finished && steps < MOST_STEPS && schedule())
        steps++;
    if (!finished)
        give_up(steps == MOST_STEPS);
}

// The scheduler is an AWE like others, inside or outside an async.
Outcome Machine::run() {
    bool outside = random.below(2);
    fin_finish {
        if (outside) {
            fin_async {
                pool(0, false);
                finished = true;
            };
            scheduler();
        } else {
            fin_async {
                fin_yield(); // what it schedules is there from here on
                scheduler();
            };
            pool(0, false);
            finished = true;
        }
    }
    return given_up ? outcome : Outcome{sigma, beta, 0, true, false};
}

// ---- the helper

Helper::Helper() { pthread_create(&thread, nullptr, run, this); }

Helper::~Helper() {
    schedule(nullptr, nullptr);
    pthread_join(thread, nullptr);
}

void Helper::schedule(fin_awe *first, fin_awe *second) {
    todo[0] = first;
    todo[1] = second;
    __atomic_store_n(&posted, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &posted, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void *Helper::run(void *helper) {
    auto *h = static_cast<Helper *>(helper);
    for (;;) {
        while (__atomic_load_n(&h->posted, __ATOMIC_ACQUIRE) == 0)
            syscall(SYS_futex, &h->posted, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
        fin_awe *first = h->todo[0], *second = h->todo[1];
        __atomic_store_n(&h->posted, 0, __ATOMIC_RELAXED); // before the second can run and post again
        if (!first)
            return nullptr;
        fin_schedule(first);
        fin_schedule(second);
    }
}

} // namespace ac
