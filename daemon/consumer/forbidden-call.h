/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From here on a system call that the seccomp filter traps is reported and ends the process. */
int forbidden_call_watch(const char *role);
