/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "exporter/otlp-push.h"
#include "interfaces/error.h"
#include "metrics/board.h"

/* Everything that serves or sends the snapshots of the board. */
typedef struct Outputs Outputs;

int outputs_new(Board *board, Outputs **ret);
Outputs *outputs_free(Outputs *outputs);
DEFINE_CLEANUP(Outputs, outputs_free);
/* Takes the sockets that systemd passes. Returns 0, -errno, or KT_E_* with a reason. */
int outputs_take_sockets(Outputs *outputs, Reason *reason);
/* Serves HTTP or Varlink on a socket of its own, see listener.h. */
int outputs_listen(Outputs *outputs, const char *address, Reason *reason);
int outputs_listen_report(Outputs *outputs, const char *path, Reason *reason);
/* Starts, replaces or ends the push. endpoint NULL: none. With the settings that it has, it goes on
 * with its queue and its counts. On failure the push stays as it was. */
int outputs_set_push(Outputs *outputs, const OtlpSettings *settings, Reason *reason);
/* Adds the counts of the push to a snapshot, if there is one. May be called by any thread. Returns
 * 0 or -ENOMEM. */
int outputs_fill(Outputs *outputs, MetricSnapshot *snapshot);
