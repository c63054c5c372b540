// SPDX-License-Identifier: BSD-2-Clause
// <fin/bufio.h> as classes, which have the memory.
//
//     fin::stream peer(fin::descriptor(fin_accept(listener, nullptr, nullptr)));
//     std::string_view line;
//     while (peer.in.line(line) == 0)
//         peer.out.write(line) || peer.out.write("\n"); // flushed before more is waited for, and at the end
//
// Constructors throw std::system_error and std::bad_alloc. All else returns 0 or a count, or a negative errno, as the
// function of <fin/bufio.h> with that name does, which also says what is cancelled and how; fin::check makes an exception of
// it. At the end of a stream it is -ENODATA.
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_BUFIO_HPP)
#define FIN_BUFIO_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <cerrno>
#include <cstdarg>
#include <memory>
#include <string_view>
#include <utility>

#include <fin/bufio.h>
#include <fin/chan.hpp> // what objects are bytes
#include <fin/check.hpp>
#include <fin/descriptor.hpp>

namespace fin {
namespace detail {

// What a reader gives for `at_least` bytes or more: 0, or why it is not that. What has come of it nevertheless is there.
inline int found(ssize_t n, const char *at, size_t at_least, std::string_view &out) noexcept {
    out = n > 0 ? std::string_view(at, static_cast<size_t>(n)) : std::string_view();
    return n < 0 ? static_cast<int>(n) : static_cast<size_t>(n) < at_least ? -ENODATA : 0;
}

} // namespace detail

class writer;

// Reads lines and pieces, which are valid until its next call. If it is destroyed, or moved, while an AWE waits in one of
// its calls the program ends, or goes on where no object is.
class reader {
public:
    // Of a descriptor, which stays the caller's; or of any other stream. It keeps up to size - 1 bytes.
    FIN_TAGGED_ explicit reader(int fd, size_t size = 4096) : reader(size) {
        check(fin_reader_init(r_.get(), fd, space_.get(), size), "fin::reader");
    }
    FIN_TAGGED_ reader(const fin_stream_calls &calls, void *stream, size_t size = 4096) : reader(size) {
        check(fin_reader_init_from(r_.get(), &calls, stream, space_.get(), size), "fin::reader");
    }
    reader(reader &&) noexcept = default;
    reader &operator=(reader &&) noexcept = default;
    ~reader() {
        if (r_ && r_->busy)
            detail::in_use("fin::reader");
    }

    // fin_reader_line: the next line, without its end.
    [[nodiscard]] FIN_BLOCKING int line(std::string_view &text) {
        char *at;
        ssize_t n = fin_reader_line(r_.get(), &at);
        return detail::found(n, at, 0, text);
    }
    [[nodiscard]] FIN_BLOCKING int line_nc(std::string_view &text) {
        char *at;
        ssize_t n = fin_reader_line_nc(r_.get(), &at);
        return detail::found(n, at, 0, text);
    }
    [[nodiscard]] int try_line(std::string_view &text) {
        char *at;
        ssize_t n = fin_reader_try_line(r_.get(), &at);
        return detail::found(n, at, 0, text);
    }
    // fin_reader_until: what comes up to, and with, that byte; or all, at the end.
    [[nodiscard]] FIN_BLOCKING int until(unsigned char end, std::string_view &piece) {
        char *at;
        ssize_t n = fin_reader_until(r_.get(), end, &at);
        return detail::found(n, at, 1, piece);
    }
    [[nodiscard]] int try_until(unsigned char end, std::string_view &piece) {
        char *at;
        ssize_t n = fin_reader_try_until(r_.get(), end, &at);
        return detail::found(n, at, 1, piece);
    }
    // fin_reader_peek: all that there is once there are `count` bytes. -ENODATA: the stream ends before; then, too, it is
    // what there is.
    [[nodiscard]] FIN_BLOCKING int peek(size_t count, std::string_view &bytes) {
        char *at;
        ssize_t n = fin_reader_peek(r_.get(), count, &at);
        return detail::found(n, at, count, bytes);
    }
    [[nodiscard]] int try_peek(size_t count, std::string_view &bytes) {
        char *at;
        ssize_t n = fin_reader_try_peek(r_.get(), count, &at);
        return detail::found(n, at, count, bytes);
    }
    int take(size_t count) { return fin_reader_take(r_.get(), count); }

    [[nodiscard]] FIN_BLOCKING ssize_t read(void *buffer, size_t size) { return fin_reader_read(r_.get(), buffer, size); }
    [[nodiscard]] FIN_BLOCKING int read_all(void *buffer, size_t size, size_t *done = nullptr) {
        return fin_reader_read_all(r_.get(), buffer, size, done);
    }
    // An object that can be copied as bytes: as it lies in the memory of who wrote it.
    template <class T> [[nodiscard]] FIN_BLOCKING int read_all(T &object) {
        return read_all(detail::place_of(object), sizeof object);
    }

    // fin_reader_tie: flushes that one before it waits. The writer must exist as long as this does, wherever it is moved.
    void tie(writer &w) noexcept;

    using native_handle_type = fin_reader *;
    native_handle_type native_handle() const noexcept { return r_.get(); }

private:
    explicit reader(size_t size) : r_(new fin_reader), space_(new char[size]) { r_->busy = false; }

    std::unique_ptr<fin_reader> r_;
    std::unique_ptr<char[]> space_;
};

// Gathers what is written. The destructor, and an assignment, flush as fin_writer_flush does, which may wait, and is
// cancelled; who wants to know whether all has been written calls flush() before.
class writer {
public:
    FIN_TAGGED_ explicit writer(int fd, size_t size = 4096) : writer(size) {
        check(fin_writer_init(w_.get(), fd, space_.get(), size), "fin::writer");
    }
    FIN_TAGGED_ writer(const fin_stream_calls &calls, void *stream, size_t size = 4096) : writer(size) {
        check(fin_writer_init_to(w_.get(), &calls, stream, space_.get(), size), "fin::writer");
    }
    writer(writer &&) noexcept = default;
    FIN_BLOCKING writer &operator=(writer &&other) noexcept {
        writer taken(std::move(other));
        std::swap(w_, taken.w_);
        std::swap(space_, taken.space_);
        return *this;
    }
    FIN_BLOCKING ~writer() {
        if (w_ && w_->space)
            (void)fin_writer_flush(w_.get());
    }

    // fin_writer_write. What has no size is text, or an object that can be copied as bytes.
    FIN_BLOCKING int write(const void *data, size_t size, size_t *done = nullptr) {
        return fin_writer_write(w_.get(), data, size, done);
    }
    FIN_BLOCKING int write(std::string_view text) { return write(text.data(), text.size()); }
    template <class T, class = std::enable_if_t<detail::is_object<T> && !std::is_convertible_v<const T &, std::string_view>>>
    FIN_BLOCKING int write(const T &object) {
        return write(__builtin_addressof(object), sizeof object);
    }
    FIN_BLOCKING int printf(const char *format, ...) __attribute__((format(printf, 2, 3))) {
        std::va_list arguments;
        va_start(arguments, format);
        int n = fin_writer_vprintf(w_.get(), format, arguments);
        va_end(arguments);
        return n;
    }
    FIN_BLOCKING int flush() { return fin_writer_flush(w_.get()); }
    FIN_BLOCKING int flush_nc() { return fin_writer_flush_nc(w_.get()); }

    using native_handle_type = fin_writer *;
    native_handle_type native_handle() const noexcept { return w_.get(); }

private:
    explicit writer(size_t size) : w_(new fin_writer), space_(new char[size]) { w_->space = nullptr; }

    std::unique_ptr<fin_writer> w_;
    std::unique_ptr<char[]> space_;
};

inline void reader::tie(writer &w) noexcept { fin_reader_tie(r_.get(), w.native_handle()); }

// A descriptor with both, which are tied. At its end it is flushed, and closed.
struct stream {
    FIN_TAGGED_ explicit stream(descriptor &&d, size_t size = 4096)
        : fd(std::move(d)), in(fd.get(), size), out(fd.get(), size) {
        in.tie(out);
    }
    stream(stream &&) noexcept = default;

    descriptor fd;
    reader in;
    writer out;
};

} // namespace fin
#endif
