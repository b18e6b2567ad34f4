/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/user-place.h"

/* Returns the register's name in the kernel's fetch arguments on this machine, without '%'.
 * NULL: the number has no register. */
const char *user_register_name(unsigned reg);
/* Parses a text of sys/sdt.h: "8@%rdi -4@$5 8@-8(%rbp)", on ARM "8@x0 4@[sp, 8]". -EBADMSG: too
 * many arguments, or malformed. An argument that cannot be fetched is not an error. */
int user_args_parse(const char *text, bool is_arm, UserArg args[USER_ARGS_MAX], size_t *ret_n);
