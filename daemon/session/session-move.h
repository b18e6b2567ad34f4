/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/share.h"
#include "session/session.h"

/* For sessions that share an instance. */
extern const ShareHandlers session_share_handlers;
