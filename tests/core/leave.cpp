// SPDX-License-Identifier: BSD-2-Clause
// C++: exceptions that leave a body or the block, destructors, and return, break, goto out of a block.
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include <fin.hpp>

#include "check.h"

namespace {

struct Mark {
    const char *text;
    ~Mark() { LOG("~%s ", text); }
};

int by_return(int n) {
    fin_finish {
        fin_async { fin_yield(); LOG("t "); };
        Mark m{"m"};
        if (n)
            return n;
    }
    return -1;
}

void by_goto_and_break() {
    for (int i = 0; i < 2; i++) {
        fin_finish {
            fin_async { fin_yield(); LOG("t "); };
            if (i == 0)
                break;
            goto out;
        }
        LOG("%d ", i);
    }
out:
    LOG("o ");
}

void body_throws_after_blocking() {
    try {
        fin_finish {
            fin_async {
                Mark m{"body"};
                fin_yield();
                throw std::runtime_error("boom");
            };
            fin_async {
                fin_yield();
                fin_yield();
                LOG(fin_cancelled() ? "cancelled " : "not cancelled ");
            };
            LOG("end ");
        }
        LOG("not reached ");
    } catch (const std::runtime_error &e) {
        LOG("caught %s ", e.what());
    }
}

void body_throws_at_once() {
    try {
        fin_finish {
            fin_async { throw 1; };
            LOG("goes on %d ", fin_cancelled());
            fin_async { throw 2; };
        }
    } catch (int n) {
        LOG("caught %d ", n); // the first
    }
}

void block_throws() {
    try {
        fin_finish {
            fin_async {
                fin_yield();
                LOG("waited %d ", fin_cancelled());
            };
            Mark m{"m"};
            throw std::string("out");
        }
    } catch (const std::string &s) {
        LOG("caught %s ", s.c_str());
    }
}

// The block's exception wins over one of a body.
void both_throw() {
    try {
        fin_finish {
            fin_async { fin_yield(); throw 1; };
            throw 'x';
        }
    } catch (char c) {
        LOG("char ");
    } catch (int) {
        LOG("int ");
    }
}

// But a function that is the block: of all the first. What the block throws as it is cancelled is a consequence.
template <class Finish> void the_first_counts(Finish finish) {
    for (int later = 0; later < 2; later++) {
        try {
            finish([&](fin::scope &s) {
                s.async([] { fin_yield(); throw 1; });
                while (later && !fin_cancelled())
                    fin_yield();
                throw 'x';
            });
        } catch (char c) {
            LOG("char ");
        } catch (int) {
            LOG("int ");
        }
        CHECK(!std::current_exception());
    }
}

void deep(int n) {
    if (n == 0)
        throw n;
    fin_finish {
        fin_async {
            fin_yield();
            deep(n - 1);
        };
    }
}

// Each AWE has its own stack of exceptions being handled.
void handlers_interleave() {
    fin_finish {
        for (int i = 0; i < 3; i++) {
            fin_async_eager {
                int mine = i;
                try {
                    throw mine;
                } catch (int) {
                    for (int k = 0; k < mine + 1; k++)
                        fin_yield();
                    try {
                        throw;
                    } catch (int again) {
                        LOG("%d=%d ", mine, again);
                    }
                }
            };
        }
    }
    CHECK(!std::current_exception());
}

// And its own count of those in flight: in a destructor that unwinding runs, nothing is being handled.
void unwinding_interleaves() {
    struct Yields {
        char name;
        ~Yields() {
            for (int i = 0; i < 3; i++) {
                LOG("%c%d ", name, std::uncaught_exceptions());
                fin_yield();
            }
        }
    };
    fin_finish {
        fin_async_eager {
            try {
                Yields y{'a'};
                throw 1;
            } catch (int) {
            }
        };
        fin_async_eager { Yields y{'b'}; };
    }
}

void in_a_destructor_while_unwinding() {
    struct Waits {
        ~Waits() {
            fin_finish {
                fin_async { fin_yield(); LOG("w "); };
            }
        }
    };
    try {
        Waits w;
        throw 1;
    } catch (int) {
        LOG("caught ");
    }
}

// What is being handled when an async starts stays its owner's.
void async_in_a_handler() {
    try {
        try {
            throw 1;
        } catch (...) {
            fin_finish {
                fin_async { fin_yield(); LOG("%d ", std::current_exception() != nullptr); };
                fin_async_eager { fin_yield(); };
                LOG("%d ", std::current_exception() != nullptr);
                fin_yield();
                CHECK(std::current_exception());
            }
            CHECK(std::current_exception());
            throw;
        }
    } catch (int n) {
        LOG("again %d ", n);
    }
    CHECK(!std::current_exception());
}

// A block in a destructor that runs while an exception is thrown is not itself being unwound.
void body_throws_in_a_destructor_while_unwinding() {
    struct Waits {
        ~Waits() {
            for (;;) {
                try {
                    fin_finish {
                        fin_async { throw 5; };
                        break;
                    }
                } catch (int n) {
                    LOG("%d ", n);
                }
                break;
            }
        }
    };
    try {
        Waits w;
        throw 1;
    } catch (int) {
        LOG("caught ");
    }
}

// A scope's asyncs belong to the scope, wherever they are started.
void scope_used_from_elsewhere() {
    fin::finish([&](fin::scope &outer) {
        fin::scope *of_first = nullptr;
        outer.async([&] {
            fin::finish([&](fin::scope &s) {
                of_first = &s;
                fin_yield();
            });
            LOG("first ended ");
        });
        outer.async([&] {
            of_first->async([&] {
                fin_yield();
                fin_yield();
                fin_yield();
                LOG("its work ");
            });
            LOG("started ");
        });
    });
    fin::finish([&](fin::scope &s) {
        fin::finish([&](fin::scope &inner) {
            s.async([&] {
                fin_yield();
                LOG("%d ", fin_cancelled());
            });
            inner.cancel();
        });
        LOG("inner ended ");
    });
}

// Functions as bodies: lazy, eager, and directly inside another body. Reports name the function.
void throws_at_once(void *n) {
    CHECK(static_cast<fin_body *>(fin_self->current->pending)->entry == reinterpret_cast<void *>(throws_at_once));
    throw *static_cast<int *>(n);
}
void throws_later(void *n) {
    fin_yield();
    throw *static_cast<int *>(n);
}
void throws_nothing(void *) noexcept { LOG("noexcept "); }

void functions_throw() {
    static int numbers[] = {1, 2, 3, 4, 5, 6, 7};
    for (int form = 0; form < 7; form++) {
        int *n = &numbers[form];
        try {
            fin_finish_as(all) {
                fin_async {
                    fin_yield();
                    fin_yield();
                    LOG("%d", fin_cancelled());
                };
                switch (form) {
                case 0: fin_async_call(throws_at_once, n); break;
                case 1: fin_async_call(throws_later, n); break;
                case 2: fin_async_eager_call(throws_at_once, n); break;
                case 3: fin_async_eager_call(throws_later, n); break;
                case 4: fin_async { fin_async_call(throws_later, n); }; break;
                case 5: fin_async { fin_async_eager_call(throws_at_once, n); }; break;
                case 6: fin_async_call([](void *arg) { throw *static_cast<int *>(arg); }, n); break;
                }
                fin_async_call(throws_nothing, nullptr);
                fin_async_eager_call(throws_nothing, nullptr);
            }
        } catch (int caught) {
            LOG("=%d ", caught);
        }
    }
}

// What a block is left by, in each of its forms, beside a body in each of its.
template <class Block> void exception_leaves(Block block) {
    try {
        block();
    } catch (int n) {
        LOG("%d ", n);
    }
}
void blocks_of_each_form() {
    auto body = [](void *) { fin_yield(); LOG("w"); };
    exception_leaves([&] { fin_finish { fin_async_call(body, nullptr); throw 1; } });
    exception_leaves([&] { fin_finish_as(all) { fin_async_eager_call(body, nullptr); throw 2; } });
    exception_leaves([&] { fin_finish_nc { fin_async { body(nullptr); }; throw 3; } });
    exception_leaves([&] { fin_timeout(FIN_S) { fin_async_eager { body(nullptr); }; throw 4; } });
    exception_leaves([&] { fin::finish([&](fin::scope &s) { s.async([&] { body(nullptr); }); throw 5; }); });
    exception_leaves([&] { fin::finish_nc([&](fin::scope &s) { s.async([&] { body(nullptr); }); throw 6; }); });
    exception_leaves([&] { fin::timeout(FIN_S, [&](fin::scope &s) { s.async([&] { body(nullptr); }); throw 7; }); });
}

// The same for a function: what its owner handles is not what the function does.
void function_called_in_a_handler() {
    auto handles_its_own = [](void *) {
        CHECK(!std::current_exception());
        fin_yield();
        try {
            throw 2;
        } catch (int n) {
            fin_yield();
            LOG("%d ", n);
        }
        CHECK(!std::current_exception());
    };
    fin_finish {
        try {
            throw 1;
        } catch (int n) {
            fin_async_call(handles_its_own, nullptr);
            fin_async_eager_call(handles_its_own, nullptr);
            CHECK(std::current_exception());
            LOG("%d ", n);
        }
        CHECK(!std::current_exception());
    }
}

// An async in a function of its own inside the block cannot be its owner's.
void async_in_a_plain_lambda() {
    int sum = 0;
    fin_finish {
        auto start = [&](int n) __attribute__((noinline)) {
            volatile int filler[40];
            filler[n] = n;
            fin_async {
                fin_yield();
                sum += 1;
            };
            CHECK_EQ(filler[n], n);
        };
        for (int i = 0; i < 20; i++)
            start(i);
    }
    LOG("%d ", sum);
}

template <class F> void expect(F f, const char *log) {
    check_log[0] = 0;
    f();
    CHECK_LOG(log);
}

} // namespace

int main() {
    expect([] { CHECK_EQ(by_return(7), 7); }, "~m t ");
    expect(by_goto_and_break, "t 0 t o ");
    expect(body_throws_after_blocking, "end ~body cancelled caught boom ");
    expect(body_throws_at_once, "goes on 1 caught 1 ");
    expect(block_throws, "~m waited 1 caught out ");
    expect(both_throw, "char ");
    expect([] { the_first_counts([](auto body) { fin::finish(body); }); }, "char int ");
    expect([] { the_first_counts([](auto body) { fin::finish_nc(body); }); }, "char int ");
    expect([] { the_first_counts([](auto body) { fin::timeout(FIN_S, body); }); }, "char int ");
    expect([] { try { deep(20); } catch (int n) { LOG("%d", n); } }, "0");
    expect(handlers_interleave, "0=0 1=1 2=2 ");
    expect(unwinding_interleaves, "a1 b0 a1 b0 a1 b0 ");
    expect(in_a_destructor_while_unwinding, "w caught ");
    expect(async_in_a_plain_lambda, "20 ");
    expect(async_in_a_handler, "1 0 again 1 ");
    expect(body_throws_in_a_destructor_while_unwinding, "5 caught ");
    expect(functions_throw, "noexcept noexcept 1=1 noexcept noexcept 1=2 noexcept noexcept 1=3 noexcept noexcept 1=4 "
                            "noexcept noexcept 1=5 noexcept noexcept 1=6 noexcept noexcept 1=7 ");
    expect(blocks_of_each_form, "w1 w2 w3 w4 w5 w6 w7 ");
    expect(function_called_in_a_handler, "1 2 2 ");
    expect(scope_used_from_elsewhere, "started its work first ended inner ended 0 ");
    for (int i = 0; i < 2000; i++)
        expect([] { try { deep(3); } catch (int n) { LOG("%d", n); } }, "0");
    return 0;
}
