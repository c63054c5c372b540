// SPDX-License-Identifier: BSD-2-Clause
// The report of AWEs that hold their thread: with FIN_HELD_MS in the environment.
#ifndef FIN_HOST_HELD_H
#define FIN_HOST_HELD_H

void fin_held_begin(void); // once a process

#endif
