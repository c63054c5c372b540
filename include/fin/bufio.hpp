// SPDX-License-Identifier: BSD-2-Clause
// <fin/bufio.h> as classes, which have the memory.
//
//     fin::stream peer(fin::descriptor(fin::check(fin_accept(listener, nullptr, nullptr))));
//     std::string_view line;
//     while (peer.in.line(line) == 0)
//         peer.out.printf("%zu\n", line.size()); // flushed before more is waited for, and at the end
//
// Constructors throw std::system_error and std::bad_alloc. All else returns 0 or a count, or a negative errno, as the
// function of <fin/bufio.h> with that name does, which also says what is cancelled and how; fin::check makes an exception of
// it. At the end of a stream it is -ENODATA. What was moved from is none, of which nothing may be called.
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_BUFIO_HPP)
#define FIN_BUFIO_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include <sys/socket.h>

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

// Reads lines and pieces, which are valid until its next call that reads. If an AWE is in one of its calls when it is
// destroyed the program ends, with a message.
class reader {
public:
    // Of a descriptor, which stays the caller's; or of any other stream. It keeps up to `size` bytes.
    FIN_TAGGED_ explicit reader(int fd, size_t size = 4096) : reader(memory{size}) {
        check(fin_reader_init(r_.get(), fd, space_.get(), size), "fin::reader");
    }
    FIN_TAGGED_ reader(const fin_stream_calls &calls, void *stream, size_t size = 4096) : reader(memory{size}) {
        check(fin_reader_init_from(r_.get(), &calls, stream, space_.get(), size), "fin::reader");
    }
    reader(reader &&) noexcept = default;
    reader &operator=(reader &&other) noexcept {
        reader taken(std::move(other));
        std::swap(r_, taken.r_);
        std::swap(space_, taken.space_);
        return *this;
    }
    ~reader() {
        if (r_ && r_->busy)
            detail::in_use("fin::reader");
    }

    // fin_reader_line: the next line, without its end.
    [[nodiscard]] FIN_BLOCKING int line(std::string_view &text) {
        char *at = nullptr;
        ssize_t n = fin_reader_line(r_.get(), &at);
        return detail::found(n, at, 0, text);
    }
    [[nodiscard]] FIN_BLOCKING int line_nc(std::string_view &text) {
        char *at = nullptr;
        ssize_t n = fin_reader_line_nc(r_.get(), &at);
        return detail::found(n, at, 0, text);
    }
    [[nodiscard]] int try_line(std::string_view &text) {
        char *at = nullptr;
        ssize_t n = fin_reader_try_line(r_.get(), &at);
        return detail::found(n, at, 0, text);
    }
    // fin_reader_until: what comes up to, and with, that byte; or all, at the end.
    [[nodiscard]] FIN_BLOCKING int until(unsigned char end, std::string_view &piece) {
        char *at = nullptr;
        ssize_t n = fin_reader_until(r_.get(), end, &at);
        return detail::found(n, at, 0, piece);
    }
    [[nodiscard]] FIN_BLOCKING int until_nc(unsigned char end, std::string_view &piece) {
        char *at = nullptr;
        ssize_t n = fin_reader_until_nc(r_.get(), end, &at);
        return detail::found(n, at, 0, piece);
    }
    [[nodiscard]] int try_until(unsigned char end, std::string_view &piece) {
        char *at = nullptr;
        ssize_t n = fin_reader_try_until(r_.get(), end, &at);
        return detail::found(n, at, 0, piece);
    }
    // fin_reader_peek: all that there is once there are `count` bytes. -ENODATA: the stream ends before; then, too, it is
    // what there is.
    [[nodiscard]] FIN_BLOCKING int peek(size_t count, std::string_view &bytes) {
        char *at = nullptr;
        ssize_t n = fin_reader_peek(r_.get(), count, &at);
        return detail::found(n, at, count, bytes);
    }
    [[nodiscard]] FIN_BLOCKING int peek_nc(size_t count, std::string_view &bytes) {
        char *at = nullptr;
        ssize_t n = fin_reader_peek_nc(r_.get(), count, &at);
        return detail::found(n, at, count, bytes);
    }
    [[nodiscard]] int try_peek(size_t count, std::string_view &bytes) {
        char *at = nullptr;
        ssize_t n = fin_reader_try_peek(r_.get(), count, &at);
        return detail::found(n, at, count, bytes);
    }
    int take(size_t count) { return fin_reader_take(r_.get(), count); }
    FIN_BLOCKING int skip(unsigned char end) { return fin_reader_skip(r_.get(), end); } // over the next such byte
    FIN_BLOCKING int skip_nc(unsigned char end) { return fin_reader_skip_nc(r_.get(), end); }

    [[nodiscard]] FIN_BLOCKING ssize_t read(void *buffer, size_t size) { return fin_reader_read(r_.get(), buffer, size); }
    [[nodiscard]] FIN_BLOCKING ssize_t read_nc(void *buffer, size_t size) {
        return fin_reader_read_nc(r_.get(), buffer, size);
    }
    [[nodiscard]] FIN_BLOCKING int read_all(void *buffer, size_t size, size_t *done = nullptr) {
        return fin_reader_read_all(r_.get(), buffer, size, done);
    }
    [[nodiscard]] FIN_BLOCKING int read_all_nc(void *buffer, size_t size, size_t *done = nullptr) {
        return fin_reader_read_all_nc(r_.get(), buffer, size, done);
    }
    // An object that can be copied as bytes, as it lies in the memory of who wrote it. Nothing is taken where it does not
    // come whole. -EMSGSIZE: it is larger than the buffer.
    template <class T> [[nodiscard]] FIN_BLOCKING int read_object(T &object) {
        std::string_view bytes;
        void *to = detail::place_of(object);
        int error = peek(sizeof object, bytes);
        if (error)
            return error;
        std::memcpy(to, bytes.data(), sizeof object);
        return take(sizeof object);
    }

    // fin_reader_tie: flushes that one before it reads more. The writer may be moved, and must exist until untie() or the
    // end of this.
    void tie(writer &w) noexcept;
    void untie() noexcept { fin_reader_tie(r_.get(), nullptr); }

    using native_handle_type = fin_reader *;
    native_handle_type native_handle() const noexcept { return r_.get(); }

private:
    struct memory {
        size_t size;
    };
    explicit reader(memory m) : r_(new fin_reader), space_(new char[m.size]) { r_->busy = false; }

    std::unique_ptr<fin_reader> r_;
    std::unique_ptr<char[]> space_;
};

// Gathers what is written. The destructor flushes as fin_writer_flush does, which may wait, and is cancelled; but not if the
// last attempt to write has failed, or was cancelled, as by a limit of time: then the rest is lost, and so it is after
// discard(). Who wants to know whether all has been written calls flush() before. If an AWE is in one of its calls when that
// is over the program ends, with a message.
class writer {
public:
    FIN_TAGGED_ explicit writer(int fd, size_t size = 4096) : writer(memory{size}) {
        check(fin_writer_init(w_.get(), fd, space_.get(), size), "fin::writer");
    }
    FIN_TAGGED_ writer(const fin_stream_calls &calls, void *stream, size_t size = 4096) : writer(memory{size}) {
        check(fin_writer_init_to(w_.get(), &calls, stream, space_.get(), size), "fin::writer");
    }
    writer(writer &&) noexcept = default; // what is tied stays tied
    FIN_BLOCKING writer &operator=(writer &&other) noexcept {
        writer taken(std::move(other));
        std::swap(w_, taken.w_);
        std::swap(space_, taken.space_);
        return *this;
    }
    FIN_BLOCKING ~writer() {
        if (!w_ || !w_->space)
            return;
        if (!w_->failed)
            (void)fin_writer_flush(w_.get());
        if (fin_mutex_trylock(&w_->turn) != 0)
            detail::in_use("fin::writer");
        fin_mutex_unlock(&w_->turn);
    }

    // fin_writer_write: bytes, text.
    FIN_BLOCKING int write(const void *data, size_t size, size_t *done = nullptr) {
        return fin_writer_write(w_.get(), data, size, done);
    }
    FIN_BLOCKING int write_nc(const void *data, size_t size, size_t *done = nullptr) {
        return fin_writer_write_nc(w_.get(), data, size, done);
    }
    FIN_BLOCKING int write(std::string_view text, size_t *done = nullptr) { return write(text.data(), text.size(), done); }
    FIN_BLOCKING int write_nc(std::string_view text, size_t *done = nullptr) {
        return write_nc(text.data(), text.size(), done);
    }
    // An object that can be copied as bytes.
    template <class T> FIN_BLOCKING int write_object(const T &object, size_t *done = nullptr) {
        static_assert(detail::is_object<T>, "what refers to memory elsewhere means nothing where it is read");
        return write(__builtin_addressof(object), sizeof object, done);
    }
    FIN_BLOCKING int printf(const char *format, ...) __attribute__((format(printf, 2, 3))) {
        std::va_list arguments;
        va_start(arguments, format);
        int n = fin_writer_vprintf(w_.get(), format, arguments);
        va_end(arguments);
        return n;
    }
    FIN_BLOCKING int printf_nc(const char *format, ...) __attribute__((format(printf, 2, 3))) {
        std::va_list arguments;
        va_start(arguments, format);
        int n = fin_writer_vprintf_nc(w_.get(), format, arguments);
        va_end(arguments);
        return n;
    }
    [[nodiscard]] int try_write(std::string_view text) {
        return fin_writer_try_write(w_.get(), text.data(), text.size());
    }
    ssize_t discard() { return fin_writer_discard(w_.get()); }
    size_t held() const noexcept { return fin_writer_held(w_.get()); }
    int error() const noexcept { return fin_writer_error(w_.get()); }
    FIN_BLOCKING int flush() { return fin_writer_flush(w_.get()); }
    FIN_BLOCKING int flush_nc() { return fin_writer_flush_nc(w_.get()); }

    using native_handle_type = fin_writer *;
    native_handle_type native_handle() const noexcept { return w_.get(); }

private:
    struct memory {
        size_t size;
    };
    explicit writer(memory m) : w_(new fin_writer), space_(new char[m.size]) { w_->space = nullptr; }

    std::unique_ptr<fin_writer> w_;
    std::unique_ptr<char[]> space_;
};

inline void reader::tie(writer &w) noexcept { fin_reader_tie(r_.get(), w.native_handle()); }

namespace detail {

inline constexpr fin_stream_calls closed = {[](void *, void *, size_t) -> ssize_t { return -EBADF; },
                                            [](void *, const void *, size_t) -> ssize_t { return -EBADF; }, nullptr, nullptr,
                                            nullptr};
// Others may have written meanwhile.
inline int none_left(const writer &out) noexcept { return out.held() ? -EPIPE : 0; }
inline int say_end(int fd) noexcept { return ::shutdown(fd, SHUT_WR) == 0 ? 0 : -errno; }
template <class Stream> void swap_all(Stream &a, Stream &b) noexcept { // with their ends yet to come
    std::swap(a.fd, b.fd);
    std::swap(a.in, b.in);
    std::swap(a.out, b.out);
}
// That there is a stream, and what was to be written to it.
inline void forget(const reader &in, const writer &out) noexcept {
    fin_reader *r = in.native_handle();
    fin_writer *w = out.native_handle();
    if (r->busy || fin_writer_discard(w) < 0)
        in_use("fin::stream");
    r->fd = w->fd = -1;
    r->calls = w->calls = &closed;
}

} // namespace detail

// A descriptor with both, which are tied. At its end it is flushed, and closed.
struct stream {
    FIN_TAGGED_ explicit stream(descriptor &&d, size_t size = 4096)
        : fd(std::move(d)), in(fd.get(), size), out(fd.get(), size) {
        in.tie(out);
    }
    stream(stream &&) noexcept = default;
    FIN_BLOCKING stream &operator=(stream &&other) noexcept {
        stream taken(std::move(other));
        detail::swap_all(*this, taken);
        return *this;
    }
    // Flushes, and tells the peer that this was all; what it says can still be read. 0 or an error; of what is no socket
    // -ENOTSOCK.
    FIN_BLOCKING int shutdown() {
        int error = out.flush();
        return error ? error : detail::say_end(fd.get());
    }
    // Its end before that, for what it says: 0 if all has been written; why it has not, which a call before may have
    // said, too; or the error of the close. It is closed then, whatever it says: what the reader has got can be read, and
    // then it is -EBADF, as is a flush. If an AWE is in a call of the reader or writer then the program ends, with a
    // message.
    FIN_BLOCKING int close() {
        int error = out.error();
        if (error == 0)
            error = out.flush();
        if (error == 0)
            error = detail::none_left(out);
        int closed = fd.close();
        forget();
        return error ? error : closed;
    }
    void forget() noexcept { detail::forget(in, out); } // the library's

    descriptor fd;
    reader in;
    writer out;
};

} // namespace fin
#endif
