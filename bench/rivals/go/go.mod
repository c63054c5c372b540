// SPDX-License-Identifier: BSD-2-Clause
module rival

go 1.19
