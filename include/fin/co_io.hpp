// SPDX-License-Identifier: BSD-2-Clause
// What a C++20 coroutine waits for without a stack: time, files, sockets, signals and child processes, as functions of
// <fin/on.h>. Part of <fin/coro.hpp>.
//
//     int n = co_await fin::co::recv(fd, buffer, sizeof buffer);
//
// What the arguments point to must stay until then: buffers, addresses, vectors.
#if __cplusplus < 202002L
#error "<fin/coro.hpp> needs C++20: compile with -std=c++20 or newer"
#elif !defined(FIN_CO_IO_HPP)
#define FIN_CO_IO_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header // as fin/coro.hpp
#endif

#include <fin/coro.hpp>

namespace fin {
namespace detail {
inline void none(size_t *done) noexcept { // also where the coroutine cannot wait
    if (done)
        *done = 0;
}
template <class Owner, class Handle> concept owns = std::is_same_v<typename Owner::native_handle_type, Handle *>;
} // namespace detail

namespace co {

// co_await gives what the function of that name returns (<fin/time.h>, <fin/file.h>, <fin/socket.h>, <fin/offload.h>).
template <class Time, class = detail::if_ns<Time>> auto sleep(Time time) {
    return detail::stored_first<fin_on, fin_sleep_on>(fin::ns(time));
}
template <class Time, class = detail::if_when<Time>> auto sleep_until(Time when) {
    return detail::stored_first<fin_on, fin_sleep_until_on>(fin::when(when));
}
inline auto poll(int fd, int events) { return detail::stored_first<fin_on, fin_poll_on>(fd, events); }
inline auto read(int fd, void *buffer, size_t size) { return detail::stored_first<fin_on, fin_read_on>(fd, buffer, size); }
inline auto write(int fd, const void *data, size_t size) {
    return detail::stored_first<fin_on, fin_write_on>(fd, data, size);
}
inline auto pread(int fd, void *buffer, size_t size, off_t offset) {
    return detail::stored_first<fin_on, fin_pread_on>(fd, buffer, size, offset);
}
inline auto pwrite(int fd, const void *data, size_t size, off_t offset) {
    return detail::stored_first<fin_on, fin_pwrite_on>(fd, data, size, offset);
}
inline auto readv(int fd, const iovec *buffers, int count) {
    return detail::stored_first<fin_on, fin_readv_on>(fd, buffers, count);
}
inline auto writev(int fd, const iovec *buffers, int count) {
    return detail::stored_first<fin_on, fin_writev_on>(fd, buffers, count);
}
inline auto fsync(int fd) { return detail::stored_first<fin_on, fin_fsync_on>(fd); }
inline auto fdatasync(int fd) { return detail::stored_first<fin_on, fin_fdatasync_on>(fd); }
inline auto statx(int dir, const char *path, int flags, unsigned mask, struct statx *out) {
    return detail::stored_first<fin_on, fin_statx_on>(dir, path, flags, mask, out);
}
// close_nc is not cancelled. Nor is the close of what has an owner, as with fin::descriptor::close; where the coroutine
// cannot wait (-EBUSY, -ENOMEM) the owner has it still. (The owner's destructor would wait with a stack.)
inline auto close(int fd) { return detail::stored_first<fin_more_on, fin_close_on>(fd); }
inline auto close_nc(int fd) { return detail::stored_first<fin_more_on, fin_close_on_nc>(fd); }
inline auto close(descriptor &d) {
    auto start = [&d](fin_more_on *on, fin_cont *c, void *s, size_t n) {
        int fd = d.release(), refused = fin_close_on_nc(on, fd, c, s, n);
        d = descriptor(fd);
        return refused;
    };
    return detail::operation<decltype(start), fin_more_on>(start);
}
inline auto recv(int fd, void *buffer, size_t size, int flags = 0) {
    return detail::stored_first<fin_on, fin_recv_on>(fd, buffer, size, flags);
}
inline auto send(int fd, const void *data, size_t size, int flags = 0) {
    return detail::stored_first<fin_on, fin_send_on>(fd, data, size, flags);
}
// All of it: 0, or the reason why not; *done says how much.
inline auto read_all(int fd, void *buffer, size_t size, size_t *done = nullptr) {
    detail::none(done);
    return detail::stored_first<fin_more_on, fin_read_all_on>(fd, buffer, size, done);
}
inline auto write_all(int fd, const void *data, size_t size, size_t *done = nullptr) {
    detail::none(done);
    return detail::stored_first<fin_more_on, fin_write_all_on>(fd, data, size, done);
}
inline auto recv_all(int fd, void *buffer, size_t size, int flags = 0, size_t *done = nullptr) {
    detail::none(done);
    return detail::stored_first<fin_more_on, fin_recv_all_on>(fd, buffer, size, flags, done);
}
inline auto send_all(int fd, const void *data, size_t size, int flags = 0, size_t *done = nullptr) {
    detail::none(done);
    return detail::stored_first<fin_more_on, fin_send_all_on>(fd, data, size, flags, done);
}
// Sleeps until `when`, and sends then.
template <class Time, class = detail::if_when<Time>>
auto send_at(Time when, int fd, const void *data, size_t size, int flags = 0) {
    return detail::stored_first<fin_on, fin_send_at_on>(fin::when(when), fd, data, size, flags);
}
// Without an address. Where descriptors are short (-EMFILE ...) it does not pause before it says so, nor does next() of an
// acceptor: a loop that goes on sleeps first.
inline auto accept(int fd, int flags = 0) { return detail::stored_first<fin_on, fin_accept_on>(fd, flags); }
inline auto connect(int fd, const sockaddr *address, socklen_t size) {
    return detail::stored_first<fin_more_on, fin_connect_on>(fd, address, size);
}
inline auto openat(int dir, const char *path, int flags, mode_t mode = 0) {
    return detail::stored_first<fin_on, fin_openat_on>(dir, path, flags, mode);
}
// fn(arg) on a thread of the pool: 0, or -ECANCELED and the like. Of a lambda: co_await gives what it returns, or throws
// what it throws, and std::system_error if it was cancelled before it began or there is no thread for it. A lambda with a
// name is called where it is.
inline auto offload(void (*fn)(void *), void *arg) { return detail::stored_first<fin_on, fin_offload_on>(fn, arg); }
template <class Body> auto offload(Body &&body) { return detail::offloading<Body>(std::forward<Body>(body)); }
inline auto recvmsg(int fd, msghdr &message, int flags = 0) {
    return detail::stored_first<fin_more_on, fin_recvmsg_on>(fd, &message, flags);
}
inline auto recvfrom(int fd, void *buffer, size_t size, int flags, sockaddr *from, socklen_t *from_size) {
    return detail::stored_first<fin_more_on, fin_recvfrom_on>(fd, buffer, size, flags, from, from_size);
}
// With a copy of the message's header.
inline auto sendmsg(int fd, const msghdr &message, int flags = 0) {
    auto start = [=](fin_more_on *on, fin_cont *c, void *s, size_t n) {
        return fin_sendmsg_on(on, fd, &message, flags, c, s, n);
    };
    return detail::operation<decltype(start), fin_more_on>(start);
}
inline auto sendto(int fd, const void *data, size_t size, int flags, const sockaddr *to, socklen_t to_size) {
    return detail::stored_first<fin_more_on, fin_sendto_on>(fd, data, size, flags, to, to_size);
}
// <fin/signals.h>, <fin/process.h>: the next signal; the end of a child.
inline auto next(fin_signals &set, fin_signal_info &info) {
    return detail::stored_last<fin_more_on, fin_signals_next_on>(&set, &info);
}
inline auto wait(fin_process &p, int &status) { return detail::stored_last<fin_more_on, fin_wait_on>(&p, &status); }
inline auto wait_nc(fin_process &p, int &status) { return detail::stored_last<fin_more_on, fin_wait_on_nc>(&p, &status); }
// The same of a fin::process and a fin::signal_set (<fin/process.hpp>).
template <detail::owns<fin_process> Process> auto wait(Process &p, int &status) { return wait(*p.native_handle(), status); }
template <detail::owns<fin_process> Process> auto wait_nc(Process &p, int &status) {
    return wait_nc(*p.native_handle(), status);
}
template <detail::owns<fin_signals> Set> auto next(Set &set, fin_signal_info &info) {
    return next(*set.native_handle(), info);
}
// <fin/stream.h>: the next connection, or piece.
inline auto next(fin_acceptor *a) { return detail::stored_last<fin_on, fin_acceptor_next_on>(a); }
inline auto next(fin_receiver *r, void *&piece) { return detail::stored_last<fin_on, fin_receiver_next_on>(r, &piece); }
inline auto recv(fin_buffers *b, int fd, void *&piece) {
    return detail::stored_last<fin_buffers_on, fin_buffers_recv_on>(b, fd, &piece);
}

} // namespace co
} // namespace fin
#endif
