// SPDX-License-Identifier: BSD-2-Clause
// What serves gives an answer that is longer than a message can be: who called is told so by an empty one, and the next
// call goes on as usual.
#include <string>

#include <fin.hpp>

#include "check.h"

FIN_BLOCKING int main() {
    auto ends = fin::chan::pair();
    fin::rpc client(std::move(ends.first), FIN_RPC_CLIENT), server(std::move(ends.second));
    fin_finish {
        fin_async {
            int r = server.serve<size_t>([](const size_t &size) noexcept { return std::string(size, 'x'); });
            CHECK_EQ(r, -ESHUTDOWN);
        };
        char answer[64];
        for (size_t size : {size_t(7), client.most() + 1, size_t(3), client.most() * 4, size_t(0)}) {
            ssize_t n = -1;
            fin_timeout(10 * FIN_S) {
                n = client.call(&size, sizeof size, answer, sizeof answer);
            }
            CHECK_EQ(n, size > sizeof answer ? 0 : size);
        }
        client = fin::rpc();
    }
    return 0;
}
