// SPDX-License-Identifier: BSD-2-Clause
// <fin/rpc.h> as a class: an end of a channel for calls, whose requests and answers are objects, or bytes.
//
//     fin::rpc to(fin::chan("@counter"), FIN_RPC_CLIENT);        fin::rpc from(std::move(c));
//     if (to.call(request{3}, answer) == 0)                      from.serve<request>([](const request &r) noexcept {
//         ...                                                        return answer_to(r); });
//
// Objects, containers and errors are as in <fin/chan.hpp>.
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_RPC_HPP)
#define FIN_RPC_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <cstring>
#include <new>

#include <fin/chan.hpp>
#include <fin/rpc.h>

namespace fin {
namespace detail {

template <class Result> constexpr void check_served() {
    static_assert(!is_task<std::remove_cv_t<Result>> && !std::is_same_v<std::remove_cv_t<Result>, next>,
                  "what serves a request is not waited for: start it in a block");
}

// A call that nobody waits for any more when this ends.
struct begun {
    explicit begun(fin_rpc *end) : end_(end) {}
    begun(const begun &) = delete;
    begun &operator=(const begun &) = delete;
    ~begun() { (void)fin_rpc_forget(end_, id); }

    uint32_t id = 0;

private:
    fin_rpc *end_;
};

// A request, from the bytes that came: an object need not have a constructor.
template <class T, bool = grows<T>> class request {
public:
    request(const void *bytes, size_t size) : is_one_(fits<T>(size)) {
        check_object<T>();
        if (is_one_)
            std::memcpy(bytes_, bytes, sizeof(T));
    }
    explicit operator bool() const { return is_one_; } // it has the length of one
    const T &object() const { return *std::launder(reinterpret_cast<const T *>(bytes_)); }

private:
    alignas(T) unsigned char bytes_[sizeof(T)];
    bool is_one_;
};
template <class T> class request<T, true> {
public:
    FIN_TAGGED_ request(const void *bytes, size_t size) : is_one_(fits<T>(size)) {
        elements_.resize(is_one_ ? size / sizeof(element_of<T>) : 0);
        if (is_one_ && size)
            std::memcpy(std::data(elements_), bytes, size);
    }
    explicit operator bool() const { return is_one_; }
    const T &object() const { return elements_; }

private:
    T elements_;
    bool is_one_;
};

// With an empty message in place of one that is too long: who called would wait for ever.
template <class End, class Answer> FIN_BLOCKING void answer_call(End &r, uint32_t id, const Answer &a) {
    if (r.reply(id, a) == -EMSGSIZE)
        (void)r.reply(id, nullptr, 0);
}

} // namespace detail

// An end for calls, or none, of which nothing may be called. The destructor closes it, and its channel; if an AWE is in one
// of its calls then, the program ends, with a message.
class rpc {
public:
    rpc() noexcept = default;
    explicit rpc(fin_rpc *end) noexcept : end_(end) {} // what fin_rpc_open made becomes this object's
    // fin_rpc_open: the end becomes this object's, or stays with `c` where it throws. EINVAL, too, of none.
    FIN_TAGGED_ explicit rpc(chan &&c, unsigned flags = 0) {
        fin::check(c ? fin_rpc_open(&end_, c.native_handle(), flags) : -EINVAL, "fin::rpc");
        (void)c.release();
    }
    rpc(rpc &&other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
    rpc &operator=(rpc &&other) noexcept {
        rpc taken(std::move(other));
        std::swap(end_, taken.end_);
        return *this;
    }
    ~rpc() {
        if (end_ && fin_rpc_close(end_) != 0)
            detail::in_use("fin::rpc");
    }
    explicit operator bool() const noexcept { return end_ != nullptr; }

    // fin_rpc_call: the length of the answer. Of an object or a container: 0.
    [[nodiscard]] FIN_BLOCKING ssize_t call(const void *request, size_t size, void *answer, size_t room) {
        return fin_rpc_call(end_, request, size, answer, room);
    }
    template <class Request, class Answer>
    [[nodiscard]] FIN_TAGGED_ FIN_BLOCKING int call(const Request &request, Answer &answer) {
        using bytes = detail::message_bytes<Request>;
        if constexpr (detail::grows<Answer>) {
            detail::begun begun(end_);
            int error = send(request, begun.id);
            return error ? error : recv(begun.id, answer);
        } else {
            return detail::received<Answer>(
                call(bytes::data(request), bytes::size(request), detail::place_of(answer), sizeof answer));
        }
    }

    // The two halves of that, and fin_rpc_forget, which gives a call up.
    [[nodiscard]] FIN_BLOCKING int send(const void *request, size_t size, uint32_t &id) {
        return fin_rpc_send(end_, request, size, &id);
    }
    template <class Request> [[nodiscard]] FIN_BLOCKING int send(const Request &request, uint32_t &id) {
        return send(detail::message_bytes<Request>::data(request), detail::message_bytes<Request>::size(request), id);
    }
    [[nodiscard]] FIN_BLOCKING ssize_t recv(uint32_t id, void *answer, size_t room) {
        return fin_rpc_recv(end_, id, answer, room);
    }
    template <class Answer> [[nodiscard]] FIN_BLOCKING int recv(uint32_t id, Answer &answer) {
        detail::message_place<Answer> place(answer);
        while (place.wants_more(recv(id, place.data(), place.size()))) {
        }
        return place.result();
    }
    int forget(uint32_t id) { return fin_rpc_forget(end_, id); }

    // fin_rpc_accept: the length of the next request, and its id. Of an object or a container: 0. A request of another
    // length is -EBADMSG, and wants an answer, if it is shorter.
    [[nodiscard]] FIN_BLOCKING ssize_t accept(void *request, size_t room, uint32_t &id) {
        return fin_rpc_accept(end_, request, room, &id);
    }
    template <class Request> [[nodiscard]] FIN_BLOCKING int accept(Request &request, uint32_t &id) {
        detail::message_place<Request> place(request);
        while (place.wants_more(accept(place.data(), place.size(), id))) {
        }
        return place.result();
    }
    // fin_rpc_reply.
    [[nodiscard]] FIN_BLOCKING int reply(uint32_t id, const void *answer, size_t size) {
        return fin_rpc_reply(end_, id, answer, size);
    }
    template <class Answer> [[nodiscard]] FIN_BLOCKING int reply(uint32_t id, const Answer &answer) {
        return reply(id, detail::message_bytes<Answer>::data(answer), detail::message_bytes<Answer>::size(answer));
    }

    // fin_rpc_serve: calls fn(id, request, size) for each request, in an async of its own, and returns the error that ends
    // it once all of these have returned. An exception that leaves one ends the program. The request lies anywhere, so an
    // object has to be copied out of it.
    template <class Fn> FIN_TAGGED_ FIN_BLOCKING int serve(Fn &&fn) {
        using function = std::remove_reference_t<Fn>;
        static_assert(std::is_invocable_v<function &, uint32_t, void *, size_t>,
                      "what serves is called with (uint32_t id, void *request, size_t size)");
        detail::check_served<std::invoke_result_t<function &, uint32_t, void *, size_t>>();
        auto work = [](fin_rpc *, uint32_t id, void *request, size_t size, void *f) noexcept {
            (*reinterpret_cast<function *>(f))(id, request, size);
        };
        return fin_rpc_serve(end_, work, detail::address_of(fn));
    }

    // The same with objects or containers: the answer is what fn(request) returns. A request of another length, and one
    // whose answer is longer than most(), is answered by an empty message.
    template <class Request, class Fn> FIN_TAGGED_ FIN_BLOCKING int serve(Fn &&fn) {
        using function = std::remove_reference_t<Fn>;
        static_assert(std::is_invocable_v<function &, const Request &>, "what serves is called with (const request &)");
        using answer = std::remove_cv_t<std::remove_reference_t<std::invoke_result_t<function &, const Request &>>>;
        detail::check_served<answer>();
        static_assert(!std::is_void_v<answer>, "what serves objects returns the answer");
        return serve([this, &fn](uint32_t id, void *bytes, size_t size) FIN_BLOCKING noexcept {
            if (detail::request<Request> request(bytes, size); request)
                detail::answer_call(*this, id, static_cast<const answer &>(fn(request.object())));
            else
                (void)reply(id, nullptr, 0);
        });
    }

    size_t most() const { return fin_rpc_most(end_); }       // the longest request or answer, in bytes
    uint64_t strays() const { return fin_rpc_strays(end_); } // answers that nobody waited for

    using native_handle_type = fin_rpc *; // null if there is no end
    native_handle_type native_handle() const noexcept { return end_; }
    fin_rpc *release() noexcept { return std::exchange(end_, nullptr); } // which the caller closes

private:
    fin_rpc *end_ = nullptr;
};

} // namespace fin
#endif
