// SPDX-License-Identifier: BSD-2-Clause
// Errors as exceptions.
#if __cplusplus < 201703L
#error "<fin.hpp> needs C++17: compile with -std=c++17 or newer"
#elif !defined(FIN_CHECK_HPP)
#define FIN_CHECK_HPP

#if defined(__GNUC__) && !defined(FIN_WARN)
#pragma GCC system_header
#endif

#include <system_error>
#include <type_traits>

#include <fin/raise.hpp>

namespace fin {

// Returns the result of a fin_* call; throws std::system_error if it is a negative errno. With a text, as in
// fin::check(fin_open(...), "the log"), what() begins with it: "the log: No such file or directory".
template <class Int, class... What> FIN_TAGGED_ Int check(Int result, const What &...what) {
    static_assert(std::is_signed_v<Int>, "fin::check of an unsigned number would find no error: errors are negative");
    if (result < 0)
        detail::raise<std::system_error>(static_cast<int>(-result), std::generic_category(), what...);
    return result;
}

} // namespace fin
#endif
