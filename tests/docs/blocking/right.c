// SPDX-License-Identifier: BSD-2-Clause
// Nothing to report.
#include <fin.h>

static FIN_BLOCKING int ask(int fd) {
    char c;
    return fin_recv(fd, &c, 1, 0) == 1 ? c : -1;
}

static int plain(int a) { return a + 1; }

FIN_BLOCKING int main(void) {
    fin_shared int sum = 0;
    fin_finish_as(all) {
        for (int i = 0; i < 2; i++) {
            fin_async {
                sum += plain(ask(i));
                fin_cancel_as(all);
            };
        }
    }
    return sum;
}
