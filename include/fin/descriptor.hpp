// SPDX-License-Identifier: BSD-2-Clause
// A descriptor with an owner.
//
//     fin::descriptor log(fin::check(fin_open("log", O_RDONLY, 0), "log"));
//     fin::check(fin_read(log.get(), buffer, sizeof buffer));
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_DESCRIPTOR_HPP)
#define FIN_DESCRIPTOR_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <cerrno>
#include <utility>

#include <fin/file.h>

namespace fin {

// A descriptor, or none, which is negative. The destructor and an assignment close it as fin_close_nc does, which may wait,
// and is not cancelled. (What becomes of who waits for it elsewhere <fin/io.h> says.)
class descriptor {
public:
    descriptor() noexcept = default;
    explicit descriptor(int fd) noexcept : fd_(fd) {} // what is negative, as the error of a function that opens, is none
    descriptor(descriptor &&other) noexcept : fd_(other.release()) {}
    FIN_BLOCKING descriptor &operator=(descriptor &&other) noexcept {
        descriptor taken(std::move(other));
        std::swap(fd_, taken.fd_);
        return *this;
    }
    FIN_BLOCKING ~descriptor() {
        if (fd_ >= 0)
            (void)fin_close_nc(fd_);
    }

    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    int release() noexcept { return std::exchange(fd_, -1); } // which the caller closes
    // Before the object's end, for what it says: 0; -EBADF if there is none; or an error of a write that was made before.
    // Then there is none, whatever it says.
    FIN_BLOCKING int close() noexcept {
        int fd = release();
        return fd >= 0 ? fin_close_nc(fd) : -EBADF;
    }

private:
    int fd_ = -1;
};

} // namespace fin
#endif
