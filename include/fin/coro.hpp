// SPDX-License-Identifier: BSD-2-Clause
// C++20 coroutines beside AWEs with stacks, in one scheduler: a coroutine is an explicit AWE (fin/cont.h) of a finish block,
// and waits for Fin's operations with co_await. While it waits it has no stack, only its frame and 120 bytes.
//
//     fin::task<> serve(int fd) {
//         char buffer[512];
//         for (int n; (n = co_await fin::co::recv(fd, buffer, sizeof buffer)) > 0;)
//             if (co_await fin::co::send(fd, buffer, n) != n)
//                 break;
//     }
//     fin_finish { fin_async_task(serve(fd)); }          // or fin::finish([&](fin::scope &s) { s.async(serve(fd)); });
//
// co_await gives what the function of <fin/io.h> would return: a count, or a negative errno; -ECANCELED after the finish
// block was cancelled. A task may co_await another. An exception that leaves a task goes to the task that awaits it; one
// that leaves the outermost task cancels the finish block and is rethrown where the block ends. A finish block of a
// coroutine, and a limit of time, is an object of <fin/co_finish.hpp>: a co_await inside fin_finish waits for nothing but
// with_stack, and gives -EBUSY, or throws std::system_error with EBUSY if it has no such result. Nor does Clang compile
// fin_finish and its like in a coroutine at all; fin::finish waits with the stack of the step.
//
// To wait for anything that has no function in fin::co, use a stack, which the task keeps for that time:
//
//     int error = co_await fin::co::with_stack([&] { return fin_getaddrinfo(name, service, &hints, &found); });
//
// A task begins when its turn has come: what it refers to must exist then, and until its end. If the coroutine is a lambda
// that is called, that includes the closure with its captures: so give the lambda to async without calling it, or to
// fin::co::invoke, which keep it; or give it parameters, which the coroutine keeps.
//
// In the condition of a loop or a switch GCC 12 awaits also what stands behind &&, || or ?, whatever stands before them:
// await it in the body.
//
// A task awaits operations of fin::co and other tasks, each of them once: so what it awaits is a temporary, or
// std::move(it). Anything else does not compile. A task that has been given away is empty; to start or await it again throws
// std::logic_error. A task that is awaited still belongs to whoever made it, and must exist until it has ended: destroying
// it before that ends the program, with a message.
#if __cplusplus < 202002L
#error "<fin/coro.hpp> needs C++20: compile with -std=c++20 or newer"
#elif !defined(FIN_CORO_HPP)
#define FIN_CORO_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // what blocks is called on the program's behalf: docs/blocking.md
#endif
#include <coroutine>
#include <new>
#include <optional>
#include <stdexcept>

#include <fin.hpp>

namespace fin {

template <class T = void> class task;

namespace detail {

// The state of the explicit AWE that a coroutine is: 40 bytes, at one address from its start to its end.
struct routine {
    std::coroutine_handle<> current; // the innermost; null when the outermost has ended
    std::coroutine_handle<> outermost;
    int (*start)(void *awaiter, routine *r); // what it waits for; null while another coroutine is to go on
    void *awaiter;
    int result;
    unsigned transfers; // from one coroutine to another
};
static_assert(sizeof(routine) <= FIN_CONT_STATE && std::is_trivially_copyable_v<routine>);

FIN_TAGGED_ void continue_routine(void *state, int result);

// A coroutine that awaits another, or ends, resumes the next one. Clang always makes that a jump. GCC does not at -O1 and
// below, nor with ASan: a loop of calls would use up the stack, so now and then run_routine resumes.
inline std::coroutine_handle<> go_on(routine *r, std::coroutine_handle<> next) noexcept {
    r->current = next;
#ifndef __clang__
    if (++r->transfers % 16 == 0)
        return std::noop_coroutine();
#endif
    return next ? next : std::noop_coroutine();
}

struct awaited {}; // the base of all that a task may await

[[noreturn]] FIN_TAGGED_ __attribute__((noinline, cold)) inline void not_awaited(bool can_begin) {
    if (!can_begin)
        raise<std::logic_error>("a fin::task is awaited that has been given away, or awaited before");
    raise<std::system_error>(EBUSY, std::generic_category(), "a fin::task is awaited inside fin_finish");
}

// Keeps an operation where it was made: if await_transform returned a reference to it, GCC would copy it.
template <class A> struct FIN_TAGGED_ await_it {
    A &a;
    bool await_ready() const noexcept(noexcept(a.await_ready())) { return a.await_ready(); }
    template <class Handle> auto await_suspend(Handle h) noexcept { return a.await_suspend(h); }
    decltype(auto) await_resume() { return a.await_resume(); }
};

struct task_promise {
    routine *running = nullptr;
    std::coroutine_handle<> caller; // tools/fin_look.py knows where it lies, and routine::start
    std::exception_ptr error;

    // What a coroutine's promise is made of: its parameters, if they will do. All do, and are not looked at: otherwise one
    // that converts to whatever is wanted would be converted to a promise.
    template <class... Parameters> explicit task_promise(const Parameters &...) noexcept {}
    auto initial_suspend() noexcept {
        struct begins : std::suspend_always {
            void await_suspend(std::coroutine_handle<> h) const noexcept {
                const task_promise &p = std::coroutine_handle<task_promise>::from_address(h.address()).promise();
                if (__builtin_expect(p.running || p.caller, 0)) // it is not there: the addresses of functions are
                    misplaced();
            }
        };
        return begins();
    }
    auto final_suspend() noexcept {
        struct back {
            task_promise &ended;
            bool await_ready() noexcept { return false; }
            auto await_suspend(std::coroutine_handle<>) noexcept { return detail::go_on(ended.running, ended.caller); }
            void await_resume() noexcept {}
        };
        return back{*this};
    }
    void unhandled_exception() noexcept { error = std::current_exception(); }
    template <class A> FIN_TAGGED_ auto await_transform(A &&a) noexcept {
        static_assert(std::is_base_of_v<awaited, std::remove_reference_t<A>>,
                      "a fin::task awaits operations of fin::co and other tasks");
        static_assert(!std::is_lvalue_reference_v<A>, "a fin::task awaits each operation and task once: std::move it");
        return await_it<A>{a};
    }
};

template <class T> struct promise_of : task_promise {
    static_assert(lies_in_a_coroutine<T>,
                  "a coroutine lies in memory that is aligned as operator new aligns: let it return a pointer");
    std::optional<T> value;
    using task_promise::task_promise;
    task<T> get_return_object() { return task<T>(std::coroutine_handle<promise_of>::from_promise(*this)); }
    template <class U = T> void return_value(U &&v) {
        static_assert(std::is_convertible_v<U, T>, "co_return converts what it is given as return does: not explicitly");
        value.emplace(std::forward<U>(v));
    }
    T take() { return std::move(*value); }
};

template <class T> requires std::is_reference_v<T> struct promise_of<T> : task_promise {
    std::remove_reference_t<T> *value = nullptr;
    using task_promise::task_promise;
    task<T> get_return_object() { return task<T>(std::coroutine_handle<promise_of>::from_promise(*this)); }
    template <class U = T> void return_value(U &&v) {
        static_assert(std::is_convertible_v<U, T>, "co_return converts what it is given as return does: not explicitly");
        static_assert(!is_temporary<U, T>, "what a fin::task<T &> returns exists after its end: no temporary, no rvalue");
        T kept = std::forward<U>(v);
        value = __builtin_addressof(kept);
    }
    T take() noexcept { return static_cast<T>(*value); }
};

template <> struct promise_of<void> : task_promise {
    using task_promise::task_promise;
    task<void> get_return_object();
    void return_void() noexcept {}
    void take() noexcept {}
};

// co_await of an operation: start(storage, continuation, state, size) is a function of <fin/on.h> or, with another storage,
// of <fin/sync_on.h>, <fin/chan_on.h> or <fin/rpc_on.h>, with its arguments.
template <class Start, class Storage = fin_on> class [[nodiscard]] FIN_TAGGED_ operation : public awaited {
public:
    explicit operation(Start s) : start_(std::move(s)) {}
    bool await_ready() const noexcept { return in_a_block(); }
    template <class Promise> void await_suspend(std::coroutine_handle<Promise> h) noexcept {
        running_ = h.promise().running;
        running_->current = h;
        running_->awaiter = this;
        running_->start = [](void *self, routine *r) {
            auto *o = static_cast<operation *>(self);
            return o->start_(&o->on_, continue_routine, r, sizeof *r);
        };
    }
    int await_resume() const noexcept { return running_ ? running_->result : -EBUSY; }

protected:
    Start start_;

private:
    Storage on_;
    routine *running_ = nullptr;
};

// co_await of a callable: a call, and what it returned or threw.
template <class Body> class FIN_TAGGED_ calling : public awaited {
    using result = result_once<Body>;
    static_assert(!std::is_base_of_v<awaited, std::remove_reference_t<result>> && !std::is_same_v<result, next>,
                  "fin::co::with_stack and offload make a call: what that returns is not waited for");
    static_assert(lies_in_a_coroutine<holder<result>> && lies_in_a_coroutine<Body>,
                  "a coroutine lies in memory that is aligned as operator new aligns: let it return a pointer");

public:
    explicit calling(Body &&b) : body_(std::forward<Body>(b)) { check_in_co_await<Body>(); }
    bool await_ready() const noexcept { return in_a_block(); }
    result await_resume() {
        if (error_)
            std::rethrow_exception(std::move(error_));
        return result_.take();
    }

protected:
    void run() noexcept {
        FIN_TRY_ {
            result_.run(std::forward<Body>(body_));
        } FIN_CATCH_ {
            error_ = std::current_exception();
        }
    }

private:
    Body body_; // a reference where it has a name
    holder<result> result_;
    std::exception_ptr error_;
};

// The coroutine is suspended, as always; the step that resumed it makes the call, at the base of its stack. So it is the
// task's AWE that waits in the call, in the task's block: nothing is started, nothing has to be woken, and a cancel finds
// what the callable waits for. A separate AWE would need one more stack, because a step keeps its stack until what it has
// started has ended.
template <class Body> class [[nodiscard]] FIN_TAGGED_ stackful : public calling<Body> {
public:
    using calling<Body>::calling;
    bool await_ready() noexcept {
        bool here = in_a_block();
        if (here)
            this->run();
        return here;
    }
    template <class Promise> void await_suspend(std::coroutine_handle<Promise> h) noexcept {
        routine *r = h.promise().running;
        r->current = h;
        r->awaiter = this;
        r->start = [](void *self, routine *) noexcept {
            static_cast<stackful *>(self)->run();
            return 0;
        };
    }
};

// The call is made by a thread of the pool.
template <class Body> class [[nodiscard]] FIN_TAGGED_ offloading : public calling<Body> {
public:
    using calling<Body>::calling;
    template <class Promise> void await_suspend(std::coroutine_handle<Promise> h) noexcept {
        running_ = h.promise().running;
        running_->current = h;
        running_->awaiter = this;
        running_->start = [](void *self, routine *r) noexcept {
            auto run = [](void *o) noexcept { static_cast<offloading *>(o)->run(); };
            return fin_offload_on(&static_cast<offloading *>(self)->on_, run, self, continue_routine, r, sizeof *r);
        };
    }
    result_once<Body> await_resume() {
        check(running_ ? running_->result : -EBUSY);
        return calling<Body>::await_resume();
    }

private:
    fin_on on_;
    routine *running_ = nullptr;
};

// Thrown from a destructor, which ends the program, with this message.
[[noreturn]] __attribute__((noinline, cold)) inline void destroyed() {
    raise<std::logic_error>("a fin::task is destroyed that waits, or runs");
}

// Operation(the storage, args, continuation, state, size), as most of <fin/on.h> are.
template <class Storage, auto Operation, class... Args> auto stored_first(Args... args) {
    auto start = [=](Storage *on, fin_cont *c, void *s, size_t n) { return Operation(on, args..., c, s, n); };
    return operation<decltype(start), Storage>(start);
}
// Operation(args, the storage, continuation, state, size), as all others are.
template <class Storage, auto Operation, class... Args> auto stored_last(Args... args) {
    auto start = [=](Storage *on, fin_cont *c, void *s, size_t n) { return Operation(args..., on, c, s, n); };
    return operation<decltype(start), Storage>(start);
}
} // namespace detail

// A coroutine that has not begun; it begins when it is awaited, or given to a finish block.
template <class T> class [[nodiscard]] task : public detail::awaited {
public:
    using promise_type = detail::promise_of<T>;
    using handle = std::coroutine_handle<promise_type>;

    explicit task(handle h) : handle_(h) {}
    task(task &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    task &operator=(task &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~task() {
        if (!handle_)
            return;
        if (!can_begin() && !handle_.done())
            detail::destroyed();
        handle_.destroy();
    }

    FIN_TAGGED_ bool await_ready() const {
        if (!can_begin() || detail::in_a_block())
            detail::not_awaited(can_begin());
        return false;
    }
    template <class Promise> auto await_suspend(std::coroutine_handle<Promise> caller) noexcept {
        detail::routine *r = caller.promise().running;
        handle_.promise().caller = caller;
        handle_.promise().running = r;
        return detail::go_on(r, handle_);
    }
    FIN_TAGGED_ T await_resume() { // the frame ends here: of tasks that hold others, not all at the end of the outermost
        task ended = std::move(*this);
        ended.rethrow();
        return ended.handle_.promise().take();
    }

    FIN_TAGGED_ void rethrow() const { // what has left it
        if (handle_.promise().error)
            std::rethrow_exception(handle_.promise().error);
    }
    bool can_begin() const noexcept { return handle_ && !handle_.promise().running; }
    handle release() noexcept { return std::exchange(handle_, nullptr); }

private:
    handle handle_;
};

namespace detail {

inline task<void> promise_of<void>::get_return_object() {
    return task<void>(std::coroutine_handle<promise_of>::from_promise(*this));
}

inline task<>::handle outermost(const routine &r) { return task<>::handle::from_address(r.outermost.address()); }

// A step: runs the coroutine to its next wait or its end. If a wait is refused, the error is the result of what was awaited.
FIN_TAGGED_ inline void run_routine(routine &r, int result) {
    task<>::handle h = outermost(r);
    h.promise().running = &r;
    do {
        r.result = result;
        r.start = nullptr;
        do
            r.current.resume();
        while (!r.start && r.current);
        if (r.start)
            result = r.start(r.awaiter, &r);
    } while (r.start);
    std::exception_ptr error = std::move(h.promise().error);
    h.destroy();
    if (error)
        std::rethrow_exception(std::move(error));
}

FIN_TAGGED_ inline void continue_routine(void *state, int result) {
    guarded([&] { run_routine(*static_cast<routine *>(state), result); });
}

FIN_TAGGED_ inline void start_task(fin_finish_block *block, task<> &&t) {
    if (!t.can_begin())
        raise<std::logic_error>("a fin::task is started that has been given away, or awaited before");
    task<>::handle h = t.release();
    routine r{h, h, nullptr, nullptr, 0, 0};
    if (!fin_cont_start_(block, continue_routine, &r, sizeof r)) {
        h.destroy();
        raise<std::bad_alloc>();
    }
}

} // namespace detail

namespace detail {

template <class Body, class... Args>
using called_with = decltype(std::declval<once<Body, Args...>>()(std::declval<Args>()...));

template <class Body, class... Args> FIN_TAGGED_ called_with<Body, Args...> invoked(Body body, Args... args) {
    static_assert(lies_in_a_coroutine<Body> && (lies_in_a_coroutine<Args> && ...),
                  "a coroutine lies in memory that is aligned as operator new aligns: let it be a pointer");
    co_return co_await static_cast<once<Body, Args...>>(body)(std::move(args)...);
}

} // namespace detail

namespace co {

// Calls body(args...) when this task runs, and awaits the task that it returns: gives what that gives. The body and the
// arguments are copies that exist until then (std::ref passes a reference), so the body may be a coroutine that is a lambda
// and has captures:
//
//     auto both = co_await fin::co::when_all(fin::co::invoke([=]() -> fin::task<page> { ... }), fetch(url));
//
// With GCC 12 a closure that owns something has to have a name, as for with_stack; if it cannot be copied, std::ref(it).
template <class Body, class... Args>
FIN_TAGGED_ auto invoke(Body &&body, Args &&...args) -> detail::called_with<std::decay_t<Body>, std::decay_t<Args>...> {
    detail::check_in_co_await<Body>();
    return detail::invoked<std::decay_t<Body>, std::decay_t<Args>...>(std::forward<Body>(body), std::forward<Args>(args)...);
}

} // namespace co

namespace detail {

template <class Body> FIN_TAGGED_ task<void> kept(Body &&body) {
    static_assert(std::is_invocable_r_v<task<>, once<std::decay_t<Body>>>,
                  "a finish block owns a fin::task<>: nobody would take another's value");
    return detail::invoked<std::decay_t<Body>>(std::forward<Body>(body));
}

template <class Body> requires makes_task<Body> FIN_TAGGED_ void start_task(fin_finish_block *block, Body &&body) {
    detail::start_task(block, detail::kept(std::forward<Body>(body)));
}

} // namespace detail

#ifndef FIN_ELIDE
FIN_TAGGED_ inline void scope::async(task<void> &&t) { detail::start_task(block_, std::move(t)); }
#endif

namespace co {

// For anything else that there is to wait for: calls body(), an ordinary function or closure that may block. co_await gives
// what it returns: an object that can be moved, a reference, or nothing. (As in "stackful": the callable has a stack, which
// a waiting task has not. Nothing is spawned, and no thread is involved.)
//
// The call is the task's own, in its finish block. The task goes on when the callable has ended, never before, so the
// callable may refer to what the coroutine has ([&]; a callable with a name is called where it is). If it does not block,
// the task goes on at once. An exception that leaves it is thrown by the co_await, and cancels nothing by itself. It runs
// even if the block has been cancelled: what it waits for says so, as everywhere. It must unlock what it locks, or the next
// co_await gives -EBUSY; likewise a mutex of the task that it gives up for a while (fin_cond_wait). It must not end in any
// other way, with fin_cont_end or a function that ends in _on: the task would never go on.
//
// While it waits it uses the stack that the task runs on anyway. So it cannot lack memory: a task for which there is no
// stack does not run until one is spare, and has a stack when it comes here. A plain call in the coroutine does the same;
// with_stack shows where the task waits, and has the whole stack, however many coroutines await this one.
template <class Body> auto with_stack(Body &&body) { return detail::stackful<Body>(std::forward<Body>(body)); }

// What a task may wait for without a stack: co_await gives what the function of that name returns. Time, files, sockets,
// signals and child processes are in <fin/co_io.hpp>, messages in <fin/co_chan.hpp>, locks and the like in
// <fin/co_sync.hpp>.

// Any other whose storage is the argument before the continuation: co_await co::wait_on<fin_tls_read_on>(t, buffer, size).
template <auto Operation, class... Args> auto wait_on(Args... args) {
    return detail::stored_last<decltype(detail::storage_of(detail::arguments_of<Operation>())), Operation>(args...);
}
// The task goes to the tail of the run queue.
inline auto yield() {
    return detail::operation([](fin_on *, fin_cont *c, void *s, size_t n) { return fin_yield_on(c, s, n); });
}
// The task waits until somebody schedules `slot`: then the result is 0.
inline auto suspend(fin_awe *&slot) {
    return detail::operation([&slot](fin_on *, fin_cont *c, void *s, size_t n) {
        slot = fin_awe_self();
        return fin_block_on(c, s, n);
    });
}
inline auto suspend_nc(fin_awe *&slot) { // not cancelled
    return detail::operation([&slot](fin_on *, fin_cont *c, void *s, size_t n) {
        slot = fin_awe_self();
        return fin_block_on_nc(c, s, n);
    });
}
// co::suspend if another thread may be quick: then(arg) runs once the task can be scheduled, as that of fin_suspend_then.
inline auto suspend(fin_awe *&slot, void (*then)(void *), void *arg) {
    return detail::operation([&slot, t = fin_then_{then, arg}](fin_on *, fin_cont *c, void *s, size_t n) {
        auto run = [](fin_awe *, void *p) { static_cast<const fin_then_ *>(p)->fn(static_cast<const fin_then_ *>(p)->arg); };
        slot = fin_awe_self();
        return fin_block_on_then(c, s, n, run, const_cast<fin_then_ *>(&t));
    });
}

} // namespace co
} // namespace fin

// Starts a fin::task<> in the enclosing finish block, or a coroutine, which is called without arguments, and kept with what
// it has captured. It runs when its turn in the queue has come.
#define fin_async_task(...) ::fin::detail::start_task(FIN_CONT_BLOCK_, (__VA_ARGS__))
#include <fin/co_chan.hpp>
#include <fin/co_finish.hpp>
#include <fin/co_io.hpp>
#include <fin/co_sync.hpp>
#endif
