/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "session/session.h"

/* What `systemctl status ktraced` says of it. */
typedef struct StatusLine StatusLine;

int status_line_new(sd_event *event, const Registry *registry, StatusLine **ret);
StatusLine *status_line_free(StatusLine *line);
/* There may be more or fewer sessions or streams. NULL is fine. */
void status_line_update(StatusLine *line);
