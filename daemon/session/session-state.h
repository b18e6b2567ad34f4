/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/session.h"

const char *session_state_to_string(SessionState state);
const char *session_get_id(const Session *session);
const char *session_get_name(const Session *session); /* "" if it has no name */
uid_t session_get_uid(const Session *session);
SessionState session_get_state(const Session *session);
