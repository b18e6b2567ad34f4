/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

/* A session spec in a file: an object with its keys, or what 'show --json' has printed of a session
 * (told by its keys id and spec), of which the spec alone counts. */
typedef struct SpecFile SpecFile;

/* KT_E_INVALID_SPEC: it cannot be read, or is no JSON; with file, line and column. */
int spec_file_open(const char *path, SpecFile **ret, Reason *reason);
SpecFile *spec_file_free(SpecFile *file);
DEFINE_CLEANUP(SpecFile, spec_file_free);
/* The spec's object; borrowed, and may be changed. */
json_object *spec_file_get(const SpecFile *file);
/* It is of a session that was: its name and its lifetime are that one's. */
bool spec_file_is_description(const SpecFile *file);
/* Into a spec. A mistake is told with file, line and column. */
int spec_file_read(const SpecFile *file, Spec *spec, Reason *reason);
/* Puts the place before a reason that begins with a key's path; returns r. */
int spec_file_refuse(const SpecFile *file, int r, Reason *reason);
