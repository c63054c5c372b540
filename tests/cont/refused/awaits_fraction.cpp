// SPDX-License-Identifier: BSD-2-Clause
#include <fin/co_io.hpp>
fin::task<> half_a_second() { co_await fin::co::sleep(0.5f); }
