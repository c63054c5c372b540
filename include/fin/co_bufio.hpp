// SPDX-License-Identifier: BSD-2-Clause
// What a C++20 coroutine waits for without a stack: lines and pieces of a fin::reader, the flush of a fin::writer, and the
// end of a fin::stream (<fin/bufio.hpp>).
//
//     while (co_await fin::co::line(peer.in, text) == 0)
//         co_await fin::co::write(peer.out, "what?\n"); // peer.out.write would wait with a stack, if the writer is full
//     co_await fin::co::close(peer); // as its end would with a stack
#if __cplusplus < 202002L
#error "<fin/coro.hpp> needs C++20: compile with -std=c++20 or newer"
#elif !defined(FIN_CO_BUFIO_HPP)
#define FIN_CO_BUFIO_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // as fin/coro.hpp
#endif

#include <fin/bufio.hpp>
#include <fin/coro.hpp>

namespace fin {
namespace detail {

template <class Begin> struct finds {
    Begin begin;
    size_t at_least;
    char *at;
    int operator()(fin_reader_on *on, fin_cont *c, void *s, size_t n) { return begin(&at, on, c, s, n); }
};
template <class Begin> class [[nodiscard]] FIN_TAGGED_ finding : public operation<finds<Begin>, fin_reader_on> {
public:
    finding(Begin begin, size_t at_least, std::string_view &out)
        : operation<finds<Begin>, fin_reader_on>(finds<Begin>{begin, at_least, nullptr}), out_(out) {}
    int await_resume() const noexcept {
        int n = operation<finds<Begin>, fin_reader_on>::await_resume();
        return found(n, this->start_.at, this->start_.at_least, out_);
    }

private:
    std::string_view &out_;
};


// The bytes are taken where it comes whole, and not before.
struct peeks {
    fin_reader *r;
    size_t count;
    char *at;
    int operator()(fin_reader_on *on, fin_cont *c, void *s, size_t n) {
        return fin_reader_peek_on(r, count, &at, on, c, s, n);
    }
};
template <class T> class [[nodiscard]] FIN_TAGGED_ reading_object : public operation<peeks, fin_reader_on> {
public:
    reading_object(reader &r, T &object)
        : operation<peeks, fin_reader_on>(peeks{r.native_handle(), sizeof object, nullptr}), to_(place_of(object)) {}
    int await_resume() const noexcept {
        int n = operation<peeks, fin_reader_on>::await_resume();
        if (n < 0 || size_t(n) < sizeof(T))
            return n < 0 ? n : -ENODATA;
        std::memcpy(to_, start_.at, sizeof(T));
        return fin_reader_take(start_.r, sizeof(T));
    }

private:
    void *to_;
};

} // namespace detail

namespace co {

// As the functions of fin::reader with these names. What is found is valid until the reader's next call.
inline auto line(reader &r, std::string_view &text) {
    auto begin = [h = r.native_handle()](auto... rest) { return fin_reader_line_on(h, rest...); };
    return detail::finding(begin, 0, text);
}
inline auto until(reader &r, unsigned char end, std::string_view &piece) {
    auto begin = [h = r.native_handle(), end](auto... rest) { return fin_reader_until_on(h, end, rest...); };
    return detail::finding(begin, 0, piece);
}
inline auto peek(reader &r, size_t count, std::string_view &bytes) {
    auto begin = [h = r.native_handle(), count](auto... rest) { return fin_reader_peek_on(h, count, rest...); };
    return detail::finding(begin, count, bytes);
}
inline auto skip(reader &r, unsigned char end) {
    return detail::stored_last<fin_reader_on, fin_reader_skip_on>(r.native_handle(), end);
}
inline auto read(reader &r, void *buffer, size_t size) {
    return detail::stored_last<fin_reader_on, fin_reader_read_on>(r.native_handle(), buffer, size);
}
inline auto read_all(reader &r, void *buffer, size_t size, size_t *done = nullptr) {
    detail::none(done);
    return detail::stored_last<fin_reader_on, fin_reader_read_all_on>(r.native_handle(), buffer, size, done);
}
template <class T> auto read_object(reader &r, T &object) { return detail::reading_object<T>(r, object); }
inline auto flush(writer &w) { return detail::stored_last<fin_writer_on, fin_writer_flush_on>(w.native_handle()); }
// As fin::writer::write and write_object, of what must stay until then.
inline auto write(writer &w, const void *data, size_t size, size_t *done = nullptr) {
    detail::none(done);
    return detail::stored_last<fin_writer_on, fin_writer_write_on>(w.native_handle(), data, size, done);
}
inline auto write(writer &w, std::string_view text, size_t *done = nullptr) {
    return write(w, text.data(), text.size(), done);
}
template <class T> auto write_object(writer &w, const T &object, size_t *done = nullptr) {
    static_assert(detail::is_object<T>, "what refers to memory elsewhere means nothing where it is read");
    return write(w, __builtin_addressof(object), sizeof object, done);
}
} // namespace co

namespace detail {

// tells() is a task that tells who reads that this was all, once it has been written.
template <class Stream, class Tells> FIN_TAGGED_ task<int> close_flushed(Stream &s, Tells tells) {
    int failed = s.fd ? s.out.error() : -EBADF, error = failed;
    if (!failed)
        error = co_await co::flush(s.out);
    if (error == 0)
        error = co_await tells(s);
    if (error == 0)
        error = none_left(s.out);
    bool refused = error == -EBUSY || error == -ENOMEM;
    if (refused && !failed)
        co_return error;
    int closed = co_await co::close(s.fd);
    if (s.fd)
        co_return closed;
    s.forget();
    co_return error ? error : closed;
}

FIN_TAGGED_ inline task<int> tells_nobody(stream &) { co_return 0; }

} // namespace detail

namespace co {

// As fin::stream::shutdown and close; but where the coroutine cannot wait (-EBUSY, -ENOMEM) close() leaves it open as
// before, with all that is to be written.
FIN_TAGGED_ inline task<int> shutdown(stream &s) {
    int error = co_await flush(s.out);
    co_return error ? error : detail::say_end(s.fd.get());
}
FIN_TAGGED_ inline task<int> close(stream &s) { return detail::close_flushed(s, detail::tells_nobody); }

} // namespace co
} // namespace fin
#endif
