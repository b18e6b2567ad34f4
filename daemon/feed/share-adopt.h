/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/share.h"

/* What the next daemon must know of a viewer, apart from its session. */
typedef struct ShareKept {
        char id[KT_ID_DIGITS + 1]; /* of the instance */
        uint64_t buffer_kb;
        uint32_t viewer, class;
        bool is_moved; /* it came from another instance. So it is alone in this one */
} ShareKept;

/* Takes the place that a session of the last daemon had. The trace must be read, and its plans must
 * wait until all sessions are adopted. Fails with -ENOENT, -EBADMSG or -errno if something is
 * missing or does not fit. */
int share_adopt(const ShareOptions *options,
                const ShareKept *kept,
                Trace *trace,
                const ShareHandlers *handlers,
                void *userdata,
                ShareViewer **ret);
/* All sessions are adopted, or are not. */
void share_end_adoption(const struct ShareList *list);
/* Returns false if the viewer has not begun. */
bool share_get_kept(const ShareViewer *viewer, ShareKept *ret);
/* The next daemon takes over all readers. */
void share_leave_all(const struct ShareList *list);
bool share_exists(const struct ShareList *list, const char *id);
