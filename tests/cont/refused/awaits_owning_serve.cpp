// SPDX-License-Identifier: BSD-2-Clause
#include <memory>

#include <fin/co_serve.hpp>
fin::task<int> owns(fin::rpc &r, std::unique_ptr<int> p) {
    co_return co_await fin::co::serve<int>(r, [p = std::move(p)](const int &x) { return x + *p; });
}
