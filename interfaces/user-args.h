/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/user-place.h"

/* As the kernel's fetch arguments call the register of this machine, without '%'. NULL: there is
 * none of that number. */
const char *user_register_name(unsigned reg);
/* "8@%rdi -4@$5 8@-8(%rbp)", on ARM "8@x0 4@[sp, 8]", as sys/sdt.h has written it. -EBADMSG: too
 * many, or no such text; what cannot be fetched is no error. */
int user_args_parse(const char *text, bool is_arm, UserArg args[USER_ARGS_MAX], size_t *ret_n);
