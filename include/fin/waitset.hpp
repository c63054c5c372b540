// SPDX-License-Identifier: BSD-2-Clause
// <fin/waitset.h> as classes: a set whose handlers are closures, and sources that leave it by themselves.
//
//     fin::waitset set;
//     auto on_message = [&] { while (c.try_recv(m) == 0) handle(m); };
//     set.add(c, on_message);
//     while (set.dispatch() == 0) { }
//
// A handler is a callable with a name, called without arguments: it is called where it is, and must exist as long as it is
// in a set. An exception that leaves it ends the program. Errors are as in <fin/chan.hpp>.
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_WAITSET_HPP)
#define FIN_WAITSET_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <fin/chan.hpp>
#include <fin/waitset.h>

namespace fin {
namespace detail {

template <class Handler> constexpr void check_handler() {
    static_assert(std::is_invocable_v<Handler &>, "a handler of a waitset is called without arguments");
}
template <class Handler> FIN_TAGGED_ void run_handler(void *handler) noexcept {
    using result = std::invoke_result_t<Handler &>;
    static_assert(!is_task<result> && !std::is_same_v<result, next>,
                  "what a handler returns is not waited for: start it in a block");
    (*reinterpret_cast<Handler *>(handler))();
}

} // namespace detail

// fin_waitset: one wait for many channels. When the object ends, nobody may be in one of its calls but those that wait,
// which return -ESHUTDOWN; it ends after its sources.
class waitset {
public:
    FIN_TAGGED_ waitset() { fin::check(fin_waitset_new(&w_), "fin::waitset"); }
    explicit waitset(fin_waitset *w) noexcept : w_(w) {} // what fin_waitset_new made becomes this object's
    waitset(const waitset &) = delete;
    waitset &operator=(const waitset &) = delete;
    ~waitset() { fin_waitset_close(w_); }

    // fin_waitset_add. The end leaves the set when it is closed, or by one of the next two.
    template <class Handler> [[nodiscard]] FIN_TAGGED_ int add(chan &c, Handler &handler) {
        detail::check_handler<Handler>();
        return fin_waitset_add(w_, c.native_handle(), detail::run_handler<Handler>, detail::address_of(handler));
    }
    template <class Handler> int add(chan &, const Handler &&) = delete; // a temporary would be gone when it is called
    int remove(chan &c) { return fin_waitset_remove(w_, c.native_handle()); }
    // Waits for another AWE that is in the handler. -EDEADLK, and it has not left, to the handler itself.
    [[nodiscard]] FIN_BLOCKING int remove_wait_nc(chan &c) { return fin_waitset_remove_wait_nc(w_, c.native_handle()); }
    // fin_waitset_move: an end that is in another set comes to this one.
    [[nodiscard]] int take_over(chan &c) { return fin_waitset_move(w_, c.native_handle()); }

    [[nodiscard]] FIN_BLOCKING int dispatch() { return fin_waitset_dispatch(w_); }
    [[nodiscard]] FIN_BLOCKING int dispatch_nc() { return fin_waitset_dispatch_nc(w_); }
    [[nodiscard]] FIN_BLOCKING int dispatch_nonblock() { return fin_waitset_dispatch_nonblock(w_); }
    [[nodiscard]] int check() { return fin_waitset_check(w_); }
    void shutdown() { fin_waitset_shutdown(w_); }

    using native_handle_type = fin_waitset *;
    native_handle_type native_handle() const noexcept { return w_; }

private:
    fin_waitset *w_ = nullptr;
};

// fin_waitset_source: an event that the program makes, in a set from the object's start to its end. The destructor waits
// for another AWE that is in the handler; so the handler must not wait for who destroys it, but may do so itself.
class waitset_source {
public:
    template <class Handler> FIN_TAGGED_ waitset_source(waitset &set, Handler &handler) : set_(set.native_handle()) {
        detail::check_handler<Handler>();
        fin::check(fin_waitset_add_source(set_, &source_, detail::run_handler<Handler>, detail::address_of(handler)),
                   "fin::waitset_source");
    }
    template <class Handler> waitset_source(waitset &, const Handler &&) = delete; // a temporary, as of waitset::add
    waitset_source(const waitset_source &) = delete;
    waitset_source &operator=(const waitset_source &) = delete;
    FIN_BLOCKING ~waitset_source() {
        if (fin_waitset_remove_source_wait_nc(set_, &source_) == -EDEADLK)
            (void)fin_waitset_remove_source(set_, &source_);
    }

    void trigger() { fin_waitset_trigger(&source_); } // from any thread, not during the destructor

    using native_handle_type = fin_waitset_source *;
    native_handle_type native_handle() noexcept { return &source_; }

private:
    fin_waitset *set_;
    fin_waitset_source source_ = {};
};

} // namespace fin
#endif
