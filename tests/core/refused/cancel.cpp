// SPDX-License-Identifier: BSD-2-Clause
#include <fin.hpp>
void stop() { fin_cancel(); }
