/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/names.h"

/* The object path of a session. */
typedef struct SessionPath {
        char text[sizeof(KT_SESSION_PREFIX "/") + KT_ID_DIGITS];
} SessionPath;

SessionPath path_of_session(const char *id);
/* Returns the last part of a path; "" if it is not a session's path. */
const char *path_get_session_id(const char *path);
