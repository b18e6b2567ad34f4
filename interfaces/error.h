/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/cleanup.h"

/* Positive return codes: the caller's request cannot be done. Negative errnos are our own
 * failures and reach the caller as Failed without detail. Public contract: see error_table. */
typedef enum KtError {
        KT_E_FAILED = 1,
        KT_E_INVALID_SPEC,  /* a key's value is malformed or over its limit */
        KT_E_UNKNOWN_KEY,   /* the key is in no table */
        KT_E_ACCESS_DENIED, /* policy says no */
        KT_E_NO_SUCH_EVENT,
        KT_E_NO_SUCH_PROCESS,
        KT_E_NO_SUCH_SESSION,
        KT_E_NAME_TAKEN,
        KT_E_LIMIT_REACHED,
        KT_E_BUSY, /* another plan of this session is running */
        KT_E_WRONG_STATE,
        KT_E_WRONG_MODE,
        KT_E_STREAM_BUSY,
        KT_E_CANCELLED,
        KT_E_KERNEL_REFUSED, /* the kernel refused a caller's value; reason quotes it */
        KT_E_NO_TRACING,     /* tracefs missing, empty, read-only or not permitted */
        KT_E_NO_CONSUMER,    /* the stream worker cannot be run safely */
        KT_E_AUTH_REQUIRED,  /* policy requires a password; the call did not allow polkit to ask */
        KT_E_NO_SUCH_FUNCTION, /* no such kernel function, or it takes no probe */
        KT_E_NO_SUCH_PROBE,
        KT_E_LOCKED, /* the session accepts no changes, spec key locked */
        _KT_E_N,
} KtError;

/* Process exit statuses of ktracectl. */
enum {
        KT_EXIT_OK = 0,
        KT_EXIT_FAILED = 1,
        KT_EXIT_USAGE = 2,
        KT_EXIT_DENIED = 3,
        KT_EXIT_LOST = 4,
        KT_EXIT_RECORDING = 125,
        KT_EXIT_NOT_EXECUTABLE = 126,
        KT_EXIT_NOT_FOUND = 127,
};

/* One line for the caller: which field, which value, where, and the remedy. */
typedef struct Reason {
        char text[512];
} Reason;

typedef struct ErrorEntry {
        KtError code;
        const char *bus_name; /* full: org.ktrace1.Error.X */
        const char *text;     /* used when no Reason was filled */
        int exit_status;
} ErrorEntry;

/* Never NULL: a negative or unknown code gives the entry of KT_E_FAILED. */
const ErrorEntry *error_get(int code);
/* NULL when the name is not one of ours. */
const ErrorEntry *error_find_by_bus_name(const char *bus_name);

/* Formats into reason (may be NULL; control characters become '?') and returns code. */
int reason_set(Reason *reason, int code, const char *format, ...) _printf_(3, 4);
