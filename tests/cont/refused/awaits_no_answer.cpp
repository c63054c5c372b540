// SPDX-License-Identifier: BSD-2-Clause
#include <fin/co_serve.hpp>
fin::task<int> answers_nothing(fin::rpc &r) {
    co_return co_await fin::co::serve<int>(r, [](const int &) {});
}
