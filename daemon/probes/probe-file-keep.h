/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "define/definition.h"
#include "probes/probe-file.h"

/* Serialises the result of an inspection. */
int probe_file_to_json(const ProbeFile *file, json_object **ret);
/* Consumes fd, the file that an earlier daemon has inspected. Fails with -EBADMSG if the object is
 * malformed, otherwise as probe_file_new does. */
int probe_file_from_json(json_object *object,
                const Definition *definition,
                uid_t uid,
                const char *dir,
                int fd,
                ProbeFile **ret,
                Reason *reason);
