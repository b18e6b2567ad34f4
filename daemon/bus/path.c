/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The object paths of sessions. Used by the other files of this folder. */
#include "bus/path.h"

#include <stdio.h>
#include <string.h>

SessionPath path_of_session(const char *id) {
        SessionPath path;

        (void)snprintf(path.text, sizeof(path.text), "%s/%s", KT_SESSION_PREFIX, id);
        return path;
}

const char *path_get_session_id(const char *path) {
        size_t prefix = strlen(KT_SESSION_PREFIX "/");

        return path && strncmp(path, KT_SESSION_PREFIX "/", prefix) == 0 ? path + prefix : "";
}
