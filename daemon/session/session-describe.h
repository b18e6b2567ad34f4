/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/session.h"

/* {"id","name","uid","state","spec":{…},"rule","events":[…],"off":[…],"requests":[{"pattern","matched","granted"}],"notes":[…]}
 */
int session_describe(const Session *session, json_object **ret);
/* {"cpus":[{"cpu","recorded","read","lost","dropped","overwritten","entries","bytes","oldest-nsec","now-nsec"}],"recorded","lost","written-bytes","discarded-bytes"}
 */
int session_statistics(const Session *session, json_object **ret);
/* The metadata JSON of the stream, as a sealed memfd. */
int session_metadata(const Session *session, int *ret_fd);
