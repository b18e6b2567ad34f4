/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "interfaces/error.h"

/* A choice of system calls: "openat,read", "%file", "!futex", "trace=openat". */
typedef struct CallFilter CallFilter;

/* Returns 0, -ENOMEM, or KT_E_INVALID_SPEC with a reason. */
int call_filter_new(const char *text, CallFilter **ret, Reason *reason);
CallFilter *call_filter_free(CallFilter *filter);
DEFINE_CLEANUP(CallFilter, call_filter_free);
/* name NULL: an unknown call. */
bool call_filter_admits(const CallFilter *filter, const char *name);
/* The chosen calls, if they were named one by one; else NULL. */
char *const *call_filter_get_names(const CallFilter *filter, size_t *ret_n);

/* The kernel's name of a call in syscalls:sys_enter_NAME: newstat for stat. */
const char *call_filter_event_name(const char *call);
