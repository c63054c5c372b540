// SPDX-License-Identifier: BSD-2-Clause
// What a C++20 coroutine waits for without a stack: messages, calls and the events of waitsets, as functions of
// <fin/chan_on.h> and <fin/rpc_on.h>. Part of <fin/coro.hpp>.
//
//     while ((error = co_await fin::co::recv(c, message)) == 0) ...
//
// What the arguments point or refer to must stay until then: what is sent may be a temporary of the same expression. A call
// whose answer is a container waits for room for the request as fin_rpc_send does, with the stack of its step.
#if __cplusplus < 202002L
#error "<fin/coro.hpp> needs C++20: compile with -std=c++20 or newer"
#elif !defined(FIN_CO_CHAN_HPP)
#define FIN_CO_CHAN_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // as fin/coro.hpp
#endif

#include <fin/coro.hpp>

namespace fin {
namespace detail {

template <auto Operation, class... Args> auto chan_operation(Args... args) {
    return stored_last<fin_chan_on, Operation>(args...);
}
template <auto Operation, class... Args> auto rpc_operation(Args... args) {
    return stored_last<fin_rpc_on, Operation>(args...);
}

// What brings an object: 0 where it has come.
template <class T, class Start, class Storage> class [[nodiscard]] FIN_TAGGED_ receiving : public operation<Start, Storage> {
public:
    using operation<Start, Storage>::operation;
    int await_resume() const noexcept { return received<T>(operation<Start, Storage>::await_resume()); }
};
template <class T, class Storage, class Start> auto receive_by(Start start) {
    return receiving<T, Start, Storage>(start);
}

// The same in a task, for a container.
template <class T, class Receive> FIN_TAGGED_ task<int> receive_elements(T &elements, Receive receive) {
    message_place<T> place(elements);
    bool more = true;
    while (more)
        more = place.wants_more(co_await receive(place.data(), place.size()));
    co_return place.result();
}
template <class Request, class Answer> FIN_TAGGED_ task<int> send_and_receive(fin_chan *end, const Request &request,
                                                                             Answer &answer) {
    using bytes = message_bytes<Request>;
    int error = co_await chan_operation<fin_chan_send_on>(end, bytes::data(request), bytes::size(request));
    if (error)
        co_return error;
    error = co_await receive_elements(answer,
                                      [end](void *p, size_t n) { return chan_operation<fin_chan_recv_on>(end, p, n); });
    co_return error;
}
template <class Request, class Answer> FIN_TAGGED_ task<int> call_for_elements(fin_rpc *end, const Request &request,
                                                                              Answer &answer) {
    using bytes = message_bytes<Request>;
    begun begun(end);
    int error = fin_rpc_send(end, bytes::data(request), bytes::size(request), &begun.id);
    if (error)
        co_return error;
    error = co_await receive_elements(
        answer, [end, id = begun.id](void *p, size_t n) { return rpc_operation<fin_rpc_recv_on>(end, id, p, n); });
    co_return error;
}

struct accepts {
    fin_chan_listener *from;
    fin_chan *end;
    int operator()(fin_chan_on *on, fin_cont *c, void *s, size_t n) { return fin_chan_accept_on(from, &end, on, c, s, n); }
};
class [[nodiscard]] FIN_TAGGED_ accepting : public operation<accepts, fin_chan_on> {
public:
    accepting(chan_listener &from, chan &out) : operation(accepts{from.native_handle(), nullptr}), from_(from), out_(out) {}
    template <class Promise> void await_suspend(std::coroutine_handle<Promise> h) noexcept {
        from_.enter();
        waits_ = true;
        operation::await_suspend(h);
    }
    int await_resume() {
        int error = operation::await_resume();
        if (waits_)
            from_.leave();
        if (error == 0)
            out_ = chan(start_.end);
        return error;
    }

private:
    chan_listener &from_;
    chan &out_;
    bool waits_ = false;
};

} // namespace detail

namespace co {

// <fin/chan.h> and <fin/waitset.h>
inline auto recv(fin_chan *chan, void *buffer, size_t size) {
    return detail::chan_operation<fin_chan_recv_on>(chan, buffer, size);
}
inline auto send(fin_chan *chan, const void *data, size_t size) {
    return detail::chan_operation<fin_chan_send_on>(chan, data, size);
}
inline auto send_recv(fin_chan *chan, const void *data, size_t size, void *buffer, size_t room) {
    return detail::chan_operation<fin_chan_send_recv_on>(chan, data, size, buffer, room);
}
inline auto accept(fin_chan_listener *l, fin_chan *&out) { return detail::chan_operation<fin_chan_accept_on>(l, &out); }
inline auto next(fin_waitset *w, void *&arg) { return detail::chan_operation<fin_waitset_next_on>(w, &arg); }
inline auto dispatch(fin_waitset *w) { return detail::chan_operation<fin_waitset_dispatch_on>(w); }
// <fin/rpc.h>
inline auto call(fin_rpc *r, const void *request, size_t size, void *answer, size_t room) {
    return detail::rpc_operation<fin_rpc_call_on>(r, request, size, answer, room);
}
inline auto recv(fin_rpc *r, uint32_t id, void *answer, size_t room) {
    return detail::rpc_operation<fin_rpc_recv_on>(r, id, answer, room);
}
inline auto accept(fin_rpc *r, void *request, size_t room, uint32_t &id) {
    return detail::rpc_operation<fin_rpc_accept_on>(r, request, room, &id);
}
inline auto serve(fin_rpc *r, fin_rpc_fn *fn, void *arg) { return detail::rpc_operation<fin_rpc_serve_on>(r, fn, arg); }

// <fin/chan.hpp>, <fin/waitset.hpp> and <fin/rpc.hpp>: of an object or a container that is received, 0. For a container
// they are tasks.
inline auto recv(chan &c, void *buffer, size_t size) { return recv(c.native_handle(), buffer, size); }
template <class T> FIN_TAGGED_ auto recv(chan &c, T &message) {
    if constexpr (detail::grows<T>)
        return detail::receive_elements(
            message, [end = c.native_handle()](void *p, size_t n) { return recv(end, p, n); });
    else
        return detail::receive_by<T, fin_chan_on>([end = c.native_handle(), &message](auto... rest) {
            return fin_chan_recv_on(end, detail::place_of(message), sizeof message, rest...);
        });
}
inline auto send(chan &c, const void *data, size_t size) { return send(c.native_handle(), data, size); }
template <class T> auto send(chan &c, const T &message) {
    return send(c, detail::message_bytes<T>::data(message), detail::message_bytes<T>::size(message));
}
template <class Request, class Answer> FIN_TAGGED_ auto send_recv(chan &c, const Request &request, Answer &answer) {
    using bytes = detail::message_bytes<Request>;
    if constexpr (detail::grows<Answer>)
        return detail::send_and_receive(c.native_handle(), request, answer);
    else
        return detail::receive_by<Answer, fin_chan_on>(
            [end = c.native_handle(), data = bytes::data(request), size = bytes::size(request), &answer](auto... rest) {
                return fin_chan_send_recv_on(end, data, size, detail::place_of(answer), sizeof answer, rest...);
            });
}
inline auto send_recv(chan &c, const void *data, size_t size, void *buffer, size_t room) {
    return send_recv(c.native_handle(), data, size, buffer, room);
}
inline auto accept(chan_listener &l, chan &out) { return detail::accepting(l, out); }
inline auto dispatch(waitset &w) { return dispatch(w.native_handle()); }
inline auto next(waitset &w, void *&arg) { return next(w.native_handle(), arg); }
inline auto call(rpc &r, const void *request, size_t size, void *answer, size_t room) {
    return call(r.native_handle(), request, size, answer, room);
}
template <class Request, class Answer> FIN_TAGGED_ auto call(rpc &r, const Request &request, Answer &answer) {
    using bytes = detail::message_bytes<Request>;
    if constexpr (detail::grows<Answer>)
        return detail::call_for_elements(r.native_handle(), request, answer);
    else
        return detail::receive_by<Answer, fin_rpc_on>(
            [end = r.native_handle(), data = bytes::data(request), size = bytes::size(request), &answer](auto... rest) {
                return fin_rpc_call_on(end, data, size, detail::place_of(answer), sizeof answer, rest...);
            });
}
inline auto recv(rpc &r, uint32_t id, void *answer, size_t room) { return recv(r.native_handle(), id, answer, room); }
template <class T> FIN_TAGGED_ auto recv(rpc &r, uint32_t id, T &answer) {
    if constexpr (detail::grows<T>)
        return detail::receive_elements(
            answer, [end = r.native_handle(), id](void *p, size_t n) { return recv(end, id, p, n); });
    else
        return detail::receive_by<T, fin_rpc_on>([end = r.native_handle(), id, &answer](auto... rest) {
            return fin_rpc_recv_on(end, id, detail::place_of(answer), sizeof answer, rest...);
        });
}
inline auto accept(rpc &r, void *request, size_t room, uint32_t &id) { return accept(r.native_handle(), request, room, id); }
template <class T> FIN_TAGGED_ auto accept(rpc &r, T &request, uint32_t &id) {
    if constexpr (detail::grows<T>)
        return detail::receive_elements(
            request, [end = r.native_handle(), &id](void *p, size_t n) { return accept(end, p, n, id); });
    else
        return detail::receive_by<T, fin_rpc_on>([end = r.native_handle(), &request, &id](auto... rest) {
            return fin_rpc_accept_on(end, detail::place_of(request), sizeof request, &id, rest...);
        });
}

} // namespace co
} // namespace fin
#endif
