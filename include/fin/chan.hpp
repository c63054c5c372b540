// SPDX-License-Identifier: BSD-2-Clause
// <fin/chan.h> as classes: ends of channels that are closed with the object that has them, and messages that are objects.
//
//     fin::chan_listener door("@counter");                       fin::chan to("@counter");
//     fin::chan c;                                               to.send(request{3});
//     while (door.accept(c) == 0)                                if (to.recv(reply) == 0)
//         serve(std::move(c));                                       ...
//
// Constructors throw std::system_error. All else returns what the function of <fin/chan.h> with that name returns, which
// says when it waits and what errors there are: 0 or a count, or a negative errno; fin::check makes an exception of it. What
// is not here is done with the C function and native_handle().
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_CHAN_HPP)
#define FIN_CHAN_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view> // with std::data and std::size
#include <system_error>
#include <type_traits>
#include <utility>

#include <fin/chan.h>
#include <fin/raise.hpp>

namespace fin {
namespace detail {

FIN_TAGGED_ inline void made(int error, const char *what) {
    if (error != 0)
        raise<std::system_error>(-error, std::generic_category(), what);
}

// In a destructor.
[[noreturn]] __attribute__((noinline, cold)) inline void in_use(const char *what) noexcept {
    std::fprintf(stderr, "fin: a %s is destroyed while an AWE is in one of its calls\n", what);
    std::abort();
}

// The bytes of a message: those of an object, or of what a container has.
template <class T> using if_container = decltype(std::data(std::declval<T &>()), std::size(std::declval<T &>()));
template <class T, class = void> struct message_bytes {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>,
                  "a message is an object that can be copied as bytes, or a container of such: anything else means nothing "
                  "where it arrives");
    static constexpr bool is_object = true;
    static const void *data(const T &m) { return __builtin_addressof(m); }
    static constexpr size_t size(const T &) { return sizeof(T); }
};
template <class T> struct message_bytes<T, std::void_t<if_container<const T>>> {
    using element = std::remove_pointer_t<decltype(std::data(std::declval<const T &>()))>;
    static_assert(message_bytes<std::remove_cv_t<element>>::is_object, "a container of containers has not its bytes");
    static constexpr bool is_object = false;
    static const void *data(const T &m) { return std::data(m); }
    static size_t size(const T &m) { return std::size(m) * sizeof(element); }
};

// Of a callable, or a function.
template <class Callable> void *address_of(Callable &c) { return (void *)__builtin_addressof(c); }

// Of an object that was received: 0, or what is wrong.
template <class T> int received(ssize_t n) {
    return n < 0 ? static_cast<int>(n) : static_cast<size_t>(n) == sizeof(T) ? 0 : -EBADMSG;
}
template <class T, class = void> constexpr bool is_array = std::is_array_v<T>;
template <class T> constexpr bool is_array<T, std::void_t<decltype(std::tuple_size<T>::value)>> = true;
template <class T> void check_object() {
    static_assert(message_bytes<T>::is_object || (is_array<T> && std::is_trivially_copyable_v<T>),
                  "what refers to memory elsewhere, or can be of any length: receive into a buffer, with its size");
    static_assert(!std::is_const_v<T>, "what a message is received into is written to");
}

} // namespace detail

// An end of a channel, or none: to move it leaves none behind. The destructor closes it; if an AWE is in one of its calls
// then, the program ends, with a message.
//
// A message is some bytes; or an object that can be copied as bytes (a trivially copyable one), or a std::string,
// string_view, vector or array of such, whose elements are sent. To receive an object, the two sides must know what is sent:
// a message of another length is -EBADMSG, and gone, if it is shorter, or -EMSGSIZE, and still there. That an object from
// another process is one of those that its type allows is for the program to check; what lies in the gaps of an object is
// sent with it.
class chan {
public:
    chan() noexcept = default;
    explicit chan(fin_chan *end) noexcept : end_(end) {} // what fin_chan_take and others made becomes this object's
    // Connects to a listener.
    FIN_TAGGED_ FIN_BLOCKING explicit chan(const char *name, unsigned flags = 0) {
        detail::made(fin_chan_connect(&end_, name, flags), "fin::chan");
    }
    chan(chan &&other) noexcept : end_(other.release()) {}
    chan &operator=(chan &&other) noexcept {
        chan taken(std::move(other));
        std::swap(end_, taken.end_);
        return *this;
    }
    ~chan() {
        if (end_ && fin_chan_close(end_) != 0)
            detail::in_use("fin::chan");
    }
    // Both ends of a new channel.
    FIN_TAGGED_ static std::pair<chan, chan> pair(const fin_chan_options &options = {}) {
        std::pair<chan, chan> ends;
        detail::made(fin_chan_pair(&ends.first.end_, &ends.second.end_, &options), "fin::chan::pair");
        return ends;
    }
    explicit operator bool() const noexcept { return end_ != nullptr; }

    // fin_chan_send. What has no size is an object or a container.
    [[nodiscard]] FIN_BLOCKING int send(const void *data, size_t size) { return fin_chan_send(end_, data, size); }
    [[nodiscard]] FIN_BLOCKING int send_nc(const void *data, size_t size) { return fin_chan_send_nc(end_, data, size); }
    [[nodiscard]] int try_send(const void *data, size_t size) { return fin_chan_try_send(end_, data, size); }
    template <class T> [[nodiscard]] FIN_BLOCKING int send(const T &message) {
        return send(detail::message_bytes<T>::data(message), detail::message_bytes<T>::size(message));
    }
    template <class T> [[nodiscard]] FIN_BLOCKING int send_nc(const T &message) {
        return send_nc(detail::message_bytes<T>::data(message), detail::message_bytes<T>::size(message));
    }
    template <class T> [[nodiscard]] int try_send(const T &message) {
        return try_send(detail::message_bytes<T>::data(message), detail::message_bytes<T>::size(message));
    }

    // fin_chan_recv: the length of a message. Of an object: 0.
    [[nodiscard]] FIN_BLOCKING ssize_t recv(void *buffer, size_t size) { return fin_chan_recv(end_, buffer, size); }
    [[nodiscard]] FIN_BLOCKING ssize_t recv_nc(void *buffer, size_t size) { return fin_chan_recv_nc(end_, buffer, size); }
    [[nodiscard]] ssize_t try_recv(void *buffer, size_t size) { return fin_chan_try_recv(end_, buffer, size); }
    template <class T> [[nodiscard]] FIN_BLOCKING int recv(T &message) {
        detail::check_object<T>();
        return detail::received<T>(recv(__builtin_addressof(message), sizeof message));
    }
    template <class T> [[nodiscard]] FIN_BLOCKING int recv_nc(T &message) {
        detail::check_object<T>();
        return detail::received<T>(recv_nc(__builtin_addressof(message), sizeof message));
    }
    template <class T> [[nodiscard]] int try_recv(T &message) {
        detail::check_object<T>();
        return detail::received<T>(try_recv(__builtin_addressof(message), sizeof message));
    }

    // fin_chan_send_recv: the length of the answer. Of an object: 0.
    [[nodiscard]] FIN_BLOCKING ssize_t send_recv(const void *data, size_t size, void *buffer, size_t room) {
        return fin_chan_send_recv(end_, data, size, buffer, room);
    }
    template <class Request, class Answer> [[nodiscard]] FIN_BLOCKING int send_recv(const Request &request, Answer &answer) {
        using bytes = detail::message_bytes<Request>;
        detail::check_object<Answer>();
        return detail::received<Answer>(
            send_recv(bytes::data(request), bytes::size(request), __builtin_addressof(answer), sizeof answer));
    }

    size_t most() const { return fin_chan_most(end_); } // the longest message, in bytes

    using native_handle_type = fin_chan *; // null if there is no end
    native_handle_type native_handle() const noexcept { return end_; }
    fin_chan *release() noexcept { return std::exchange(end_, nullptr); } // which the caller closes

private:
    fin_chan *end_ = nullptr;
};

// Space in a channel for a message, which is written where it is sent from (fin_chan_reserve): commit() sends it, or the
// destructor gives the space up.
//
//     fin::chan_room room(c, 4096);
//     if (room.commit(fill(room.data())) != 0) ...
class chan_room {
public:
    // Waits for space for so many bytes; what others send at this end waits meanwhile. std::system_error, also ECANCELED.
    FIN_TAGGED_ FIN_BLOCKING chan_room(chan &c, size_t size) : end_(c.native_handle()) {
        detail::made(fin_chan_reserve(end_, size, &data_), "fin::chan_room");
    }
    chan_room(const chan_room &) = delete;
    chan_room &operator=(const chan_room &) = delete;
    ~chan_room() {
        if (end_)
            fin_chan_abandon(end_);
    }
    void *data() const noexcept { return data_; }
    // fin_chan_commit, once: sends the first `used` bytes. After -EINVAL, as those were too many, it can be tried again.
    [[nodiscard]] int commit(size_t used) {
        int error = end_ ? fin_chan_commit(end_, used) : -EINVAL;
        if (error != -EINVAL)
            end_ = nullptr;
        return error;
    }

private:
    fin_chan *end_;
    void *data_ = nullptr;
};

// A message that is read where it lies (fin_chan_peek), and taken when the object ends. Another process can change it until
// then: copy what you are going to check.
//
//     for (fin::chan_message m(c); ...
class chan_message {
public:
    // Waits for a message; who else receives at this end waits until this object ends. error() says what came instead.
    FIN_BLOCKING explicit chan_message(chan &c) : end_(c.native_handle()), size_(fin_chan_peek(end_, &data_)) {}
    chan_message(const chan_message &) = delete;
    chan_message &operator=(const chan_message &) = delete;
    ~chan_message() {
        if (size_ >= 0)
            (void)fin_chan_release(end_);
    }
    explicit operator bool() const noexcept { return size_ >= 0; }
    int error() const noexcept { return size_ < 0 ? static_cast<int>(size_) : 0; } // of fin_chan_peek
    const void *data() const noexcept { return data_; }
    size_t size() const noexcept { return size_ < 0 ? 0 : static_cast<size_t>(size_); }

private:
    fin_chan *end_;
    const void *data_ = nullptr;
    ssize_t size_;
};

// Listens for clients under a name, from its start to its end. Nobody may be in accept() then.
class chan_listener {
public:
    // fin_chan_listen. The options are those of the channels.
    FIN_TAGGED_ explicit chan_listener(const char *name, const fin_chan_options &options = {}) {
        detail::made(fin_chan_listen(&l_, name, &options), "fin::chan_listener");
    }
    chan_listener(const chan_listener &) = delete;
    chan_listener &operator=(const chan_listener &) = delete;
    ~chan_listener() { fin_chan_listener_close(l_); }

    // fin_chan_accept: 0, and `out`, whose end is closed first if it has one, has the new one.
    [[nodiscard]] FIN_BLOCKING int accept(chan &out) {
        fin_chan *c;
        int error = fin_chan_accept(l_, &c);
        if (error == 0)
            out = chan(c);
        return error;
    }

    using native_handle_type = fin_chan_listener *;
    native_handle_type native_handle() const noexcept { return l_; }

private:
    fin_chan_listener *l_ = nullptr;
};

} // namespace fin
#endif
