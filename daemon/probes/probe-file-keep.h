/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "define/definition.h"
#include "probes/probe-file.h"

/* What was found in a probe's file, in writing. */
int probe_file_to_json(const ProbeFile *file, json_object **ret);
/* Takes fd, the file that a daemon before this one has looked into. -EBADMSG: no such writing; else
 * as probe_file_new. */
int probe_file_from_json(json_object *object,
                const Definition *definition,
                uid_t uid,
                const char *dir,
                int fd,
                ProbeFile **ret,
                Reason *reason);
