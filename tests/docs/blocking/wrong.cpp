// SPDX-License-Identifier: BSD-2-Clause
// What check-blocking.py has to report, each line so marked, and what not.
#include <chrono>
#include <mutex>

#include <fin.hpp>

struct connection {
    int fd;
    fin::mutex lock;

    FIN_BLOCKING ssize_t receive(char *c) {
        std::lock_guard hold(lock);
        return fin_recv(fd, c, 1, 0);
    }
    char next() {
        char c = 0;
        receive(&c); // reported
        return c;
    }
    bool idle() {
        if (!lock.try_lock())
            return false;
        lock.unlock();
        return true;
    }
};

FIN_BLOCKING int both(connection &a, connection &b) {
    char x = 0, y = 0;
    fin_finish {
        fin_async { a.receive(&x); };
        fin_async_eager { b.receive(&y); };
    }
    fin::timeout(FIN_S, [&](fin::scope &s) {
        s.async([&]() FIN_BLOCKING { a.receive(&x); });
        s.async([&] { b.receive(&y); }); // reported
    });
    return x + y;
}

int unmarked(connection &a, connection &b) {
    int sum = 0;
    fin_finish {
        fin_async { sum += a.next(); }; // reported
    }
    auto later = [&]() FIN_BLOCKING { sum += both(a, b); };
    later(); // reported
    fin::finish([&](fin::scope &) {}); // reported
    return sum;
}

int unmarked_sleep() {
    return fin::sleep_for(std::chrono::milliseconds(1)); // reported
}
