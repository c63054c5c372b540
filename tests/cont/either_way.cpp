// SPDX-License-Identifier: BSD-2-Clause
// A program of two files, one of them compiled without exceptions: each has its own of what the compiler makes of fin.hpp.
void without_exceptions();
void with_exceptions();

int main() {
    without_exceptions();
    with_exceptions();
    return 0;
}
