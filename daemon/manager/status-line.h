/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "session/session.h"

/* The status text in `systemctl status ktraced`. */
typedef struct StatusLine StatusLine;

int status_line_new(sd_event *event, const Registry *registry, StatusLine **ret);
StatusLine *status_line_free(StatusLine *line);
/* Call when the number of sessions or streams may have changed. NULL is allowed. */
void status_line_update(StatusLine *line);
