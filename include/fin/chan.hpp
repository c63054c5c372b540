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
#include <string>
#include <string_view> // with std::data and std::size
#include <type_traits>
#include <utility>

#include <fin/chan.h>
#include <fin/check.hpp>

namespace fin {
namespace detail {

class FIN_TAGGED_ accepting; // <fin/co_chan.hpp>

// In a destructor.
[[noreturn]] __attribute__((noinline, cold)) inline void in_use(const char *what) noexcept {
    std::fprintf(stderr, "fin: a %s is destroyed while it is in use\n", what);
    std::abort();
}

// What a message is made of: an object that is bytes alone, or an array of such; or a container, which has those elsewhere.
template <class T, class = void> constexpr bool has_elements = false;
template <class T>
constexpr bool has_elements<T, std::void_t<decltype(std::data(std::declval<T &>()), std::size(std::declval<T &>()))>> = true;
template <class T, class = void> constexpr bool is_range = has_elements<T>;
template <class T> constexpr bool is_range<T, std::void_t<decltype(std::declval<T &>().begin())>> = true;
template <class T, class = void> constexpr bool is_reference = false; // std::ref
template <class T>
constexpr bool is_reference<T, std::void_t<typename T::type>> = std::is_convertible_v<T, typename T::type &>;

template <class T>
constexpr bool is_bytes = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_member_pointer_v<T> &&
                          !std::is_null_pointer_v<T> && !is_range<T> && !is_reference<T>;
template <class T, class = void> constexpr bool is_array = false;
template <class T> constexpr bool is_object = is_bytes<T> || is_array<T>;
template <class T, size_t n> constexpr bool is_array<T[n], void> = is_object<T>;
template <template <class, size_t> class Array, class T, size_t n> // std::array, which need not be known here
constexpr bool is_array<Array<T, n>, std::enable_if_t<n && std::is_aggregate_v<Array<T, n>> && has_elements<Array<T, n>>>> =
    is_object<T> && sizeof(Array<T, n>) == n * sizeof(T);

template <class T> using element_of = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<T &>()))>>;
template <class T> struct message_bytes {
    static_assert(is_object<T> || has_elements<const T>,
                  "a message is an object that can be copied as bytes, or a container of such: anything else means nothing "
                  "where it arrives");
    static const void *data(const T &m) {
        if constexpr (is_object<T>)
            return __builtin_addressof(m);
        else
            return std::data(m);
    }
    static size_t size(const T &m) {
        if constexpr (is_object<T>) {
            return sizeof m;
        } else if constexpr (std::is_void_v<element_of<const T>>) {
            return std::size(m);
        } else {
            static_assert(is_object<element_of<const T>>, "a container of containers has not its bytes");
            return std::size(m) * sizeof(element_of<const T>);
        }
    }
};

// Of a callable, or a function.
template <class Callable> void *address_of(Callable &c) {
    if constexpr (std::is_function_v<Callable>)
        return reinterpret_cast<void *>(&c);
    else
        return const_cast<void *>(static_cast<const volatile void *>(__builtin_addressof(c)));
}

// Of an object that was received: 0, or what is wrong.
template <class T> int received(ssize_t n) {
    return n < 0 ? static_cast<int>(n) : static_cast<size_t>(n) == sizeof(T) ? 0 : -EBADMSG;
}
template <class T> constexpr void check_object() {
    static_assert(!std::is_const_v<T> && !std::is_volatile_v<T>, "what a message is received into is written to");
    static_assert(is_object<std::remove_cv_t<T>>,
                  "what refers to memory elsewhere and does not grow: receive into a buffer, with its size");
}
template <class T> void *place_of(T &object) {
    check_object<T>();
    return const_cast<std::remove_cv_t<T> *>(__builtin_addressof(object));
}

// A container whose number of elements can be what a message has.
template <class T, class = void> constexpr bool grows = false;
template <class T>
constexpr bool grows<T, std::void_t<element_of<T>, decltype(std::declval<T &>().resize(size_t()))>> =
    !std::is_const_v<T> && is_object<element_of<T>>;
template <class T> constexpr bool fits(size_t size) {
    if constexpr (grows<T>)
        return size % sizeof(element_of<T>) == 0;
    else
        return size == sizeof(T);
}

// Where a message is received: while (place.wants_more(recv(place.data(), place.size()))). An object takes what comes; a
// container has as many elements as the last time, or 64 bytes, and twice as many where the message is longer, which stays
// in the channel meanwhile. What else came than a message leaves a container empty.
template <class T, bool = grows<T>> class message_place {
public:
    explicit message_place(T &object) : object_(object) {}
    void *data() const { return place_of(object_); }
    size_t size() const { return sizeof(T); }
    bool wants_more(ssize_t n) {
        n_ = n;
        return false;
    }
    int result() const { return received<T>(n_); }

private:
    T &object_;
    ssize_t n_ = 0;
};
template <class T> class message_place<T, true> {
    static constexpr size_t each = sizeof(element_of<T>);

public:
    explicit message_place(T &elements) : elements_(elements) {
        if (std::size(elements) * each < 64)
            elements.resize((64 + each - 1) / each);
    }
    void *data() const { return std::data(elements_); }
    size_t size() const { return std::size(elements_) * each; }
    bool wants_more(ssize_t n) {
        if (n == -EMSGSIZE) {
            elements_.resize(2 * std::size(elements_));
            return true;
        }
        result_ = n < 0 ? static_cast<int>(n) : fits<T>(static_cast<size_t>(n)) ? 0 : -EBADMSG;
        elements_.resize(result_ == 0 ? static_cast<size_t>(n) / each : 0);
        return false;
    }
    int result() const { return result_; }

private:
    T &elements_;
    int result_ = 0;
};

} // namespace detail

// An end of a channel, or none, of which nothing may be called: to move it leaves none behind. The destructor closes it; if
// an AWE is in one of its calls then, or there is a chan_room or a chan_message, the program ends, with a message.
//
// A message is some bytes; or an object that can be copied as bytes (a trivially copyable one), or an array of such (with
// all its elements: a string literal ends with its 0); or the elements of a std::string, string_view, vector, span and the
// like. To receive an object, the two sides must know what is sent: a message of another length is -EBADMSG, and gone, if it
// is shorter, though some of it may be in the object; or -EMSGSIZE, and still there, until it is received as bytes. A
// std::string, a vector, and what else has resize() gets as many elements as the message has; none where none came. The last
// of them being in parts is -EBADMSG, and where there is no memory for them (std::bad_alloc) the message stays. What another
// process sends is any bytes, and as many as its channel takes: an object of integers has some value then, a bool or a
// std::optional may have none. What lies in the gaps of an object is sent with it.
class chan {
public:
    chan() noexcept = default;
    explicit chan(fin_chan *end) noexcept : end_(end) {} // what fin_chan_take and others made becomes this object's
    // Connects to a listener.
    FIN_TAGGED_ FIN_BLOCKING explicit chan(const char *name, unsigned flags = 0) {
        fin::check(fin_chan_connect(&end_, name, flags), "fin::chan");
    }
    FIN_TAGGED_ FIN_BLOCKING explicit chan(const std::string &name, unsigned flags = 0) : chan(name.c_str(), flags) {}
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
        fin::check(fin_chan_pair(&ends.first.end_, &ends.second.end_, &options), "fin::chan::pair");
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

    // fin_chan_recv: the length of a message. Of an object or a container: 0.
    [[nodiscard]] FIN_BLOCKING ssize_t recv(void *buffer, size_t size) { return fin_chan_recv(end_, buffer, size); }
    [[nodiscard]] FIN_BLOCKING ssize_t recv_nc(void *buffer, size_t size) { return fin_chan_recv_nc(end_, buffer, size); }
    [[nodiscard]] ssize_t try_recv(void *buffer, size_t size) { return fin_chan_try_recv(end_, buffer, size); }
    template <class T> [[nodiscard]] FIN_BLOCKING int recv(T &message) {
        detail::message_place<T> place(message);
        while (place.wants_more(recv(place.data(), place.size()))) {
        }
        return place.result();
    }
    template <class T> [[nodiscard]] FIN_BLOCKING int recv_nc(T &message) {
        detail::message_place<T> place(message);
        while (place.wants_more(recv_nc(place.data(), place.size()))) {
        }
        return place.result();
    }
    template <class T> [[nodiscard]] int try_recv(T &message) {
        detail::message_place<T> place(message);
        while (place.wants_more(try_recv(place.data(), place.size()))) {
        }
        return place.result();
    }

    // fin_chan_send_recv: the length of the answer. Of an object or a container: 0.
    [[nodiscard]] FIN_BLOCKING ssize_t send_recv(const void *data, size_t size, void *buffer, size_t room) {
        return fin_chan_send_recv(end_, data, size, buffer, room);
    }
    template <class Request, class Answer> [[nodiscard]] FIN_BLOCKING int send_recv(const Request &request, Answer &answer) {
        using bytes = detail::message_bytes<Request>;
        if constexpr (detail::grows<Answer>) { // which may be the request, too
            int error = send(request);
            return error ? error : recv(answer);
        } else {
            return detail::received<Answer>(
                send_recv(bytes::data(request), bytes::size(request), detail::place_of(answer), sizeof answer));
        }
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
//     if (fin::chan_room room(c, 4096); room)
//         error = room.commit(fill(room.data(), 4096));
class chan_room {
public:
    // Waits for space for so many bytes; what others send at this end waits until the object ends, or sends. error() says
    // why there is none.
    FIN_BLOCKING chan_room(chan &c, size_t size)
        : end_(c.native_handle()), error_(fin_chan_reserve(end_, size, &data_)), is_open_(error_ == 0) {}
    chan_room(const chan_room &) = delete;
    chan_room &operator=(const chan_room &) = delete;
    ~chan_room() {
        if (is_open_)
            fin_chan_abandon(end_);
    }
    explicit operator bool() const noexcept { return is_open_; } // there is space, and nothing was sent
    int error() const noexcept { return error_; }                // of fin_chan_reserve
    void *data() const noexcept { return data_; }
    // fin_chan_commit, once: sends the first `used` bytes. After -EINVAL, as those were too many, it can be tried again.
    [[nodiscard]] int commit(size_t used) {
        int error = is_open_ ? fin_chan_commit(end_, used) : -EINVAL;
        is_open_ = is_open_ && error == -EINVAL;
        return error;
    }

private:
    fin_chan *end_;
    void *data_ = nullptr;
    int error_;
    bool is_open_;
};

// A message that is read where it lies (fin_chan_peek), and taken when the object ends. Another process can change it until
// then: copy what you are going to check.
//
//     if (fin::chan_message m(c); m)
//         handle(m.data(), m.size());
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
    std::string_view text() const noexcept { return {static_cast<const char *>(data_), size()}; }

private:
    fin_chan *end_;
    const void *data_ = nullptr;
    ssize_t size_;
};

// Listens for clients under a name, from its start to its end. If an AWE is in accept() then, the program ends, with a
// message.
class chan_listener {
public:
    // fin_chan_listen. The options are those of the channels.
    FIN_TAGGED_ explicit chan_listener(const char *name, const fin_chan_options &options = {}) {
        fin::check(fin_chan_listen(&l_, name, &options), "fin::chan_listener");
    }
    FIN_TAGGED_ explicit chan_listener(const std::string &name, const fin_chan_options &options = {})
        : chan_listener(name.c_str(), options) {}
    explicit chan_listener(fin_chan_listener *l) noexcept : l_(l) {} // what fin_chan_listen made becomes this object's
    chan_listener(const chan_listener &) = delete;
    chan_listener &operator=(const chan_listener &) = delete;
    ~chan_listener() {
        if (__atomic_load_n(&inside_, __ATOMIC_RELAXED) != 0)
            detail::in_use("fin::chan_listener");
        fin_chan_listener_close(l_);
    }

    // fin_chan_accept: 0, and `out`, whose end is closed first if it has one, has the new one.
    [[nodiscard]] FIN_BLOCKING int accept(chan &out) {
        fin_chan *c;
        enter();
        int error = fin_chan_accept(l_, &c);
        leave();
        if (error == 0)
            out = chan(c);
        return error;
    }

    using native_handle_type = fin_chan_listener *;
    native_handle_type native_handle() const noexcept { return l_; }

private:
    friend class detail::accepting;
    void enter() noexcept { __atomic_add_fetch(&inside_, 1, __ATOMIC_RELAXED); }
    void leave() noexcept { __atomic_sub_fetch(&inside_, 1, __ATOMIC_RELAXED); }

    fin_chan_listener *l_ = nullptr;
    unsigned inside_ = 0;
};

} // namespace fin
#endif
