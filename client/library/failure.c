/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Errors of the library: ktraced's names and texts, and the errno that is nearest to each. */

#include "library/failure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int failure_get_errno(int code) {
        switch (code) {
        case KT_E_INVALID_SPEC:
        case KT_E_UNKNOWN_KEY:
        case KT_E_KERNEL_REFUSED:
                return -EINVAL;
        case KT_E_ACCESS_DENIED:
                return -EACCES;
        case KT_E_AUTH_REQUIRED:
        case KT_E_LOCKED:
                return -EPERM;
        case KT_E_NO_SUCH_EVENT:
        case KT_E_NO_SUCH_FUNCTION:
        case KT_E_NO_SUCH_PROBE:
        case KT_E_NO_SUCH_SESSION:
                return -ENOENT;
        case KT_E_NO_SUCH_PROCESS:
                return -ESRCH;
        case KT_E_NAME_TAKEN:
                return -EEXIST;
        case KT_E_LIMIT_REACHED:
                return -EDQUOT;
        case KT_E_BUSY:
        case KT_E_STREAM_BUSY:
                return -EBUSY;
        case KT_E_WRONG_STATE:
        case KT_E_WRONG_MODE:
        case KT_E_NO_TRACING:
                return -EOPNOTSUPP;
        case KT_E_CANCELLED:
                return -ECANCELED;
        default:
                return -EIO;
        }
}

int failure_take(int r, const Reason *reason, ktrace_error *error) {
        const ErrorEntry *entry = error_get(r);

        if (error)
                *error = (ktrace_error){};
        if (r == 0 || !error)
                return r > 0 ? failure_get_errno(r) : r;
        (void)snprintf(error->name, sizeof(error->name), "%s", entry->bus_name);
        (void)snprintf(error->text,
                        sizeof(error->text),
                        "%s",
                        reason && reason->text[0] ? reason->text
                        : r < 0                   ? strerror(-r)
                                                  : entry->text);
        return r > 0 ? failure_get_errno(r) : r;
}
