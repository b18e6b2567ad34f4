/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "interfaces/cleanup.h"

/* At most one notice of lost events of a session in each second. */
typedef struct LossPace LossPace;

/* uid: of the session's owner. notice: borrowed. */
typedef void (*LossHandler)(uid_t uid, json_object *notice, void *userdata);

int loss_pace_new(sd_event *event, LossHandler handler, void *userdata, LossPace **ret);
/* Calls no handler. */
LossPace *loss_pace_free(LossPace *pace);
DEFINE_CLEANUP(LossPace, loss_pace_free);

/* Takes a notice of kind lost-events: the handler is called with it now, or later with the sum. It
 * may be changed. */
void loss_pace_take(LossPace *pace, uid_t uid, const char *session, json_object *notice);
/* Calls the handler for what waits. session: NULL for all. */
void loss_pace_flush(LossPace *pace, const char *session);
