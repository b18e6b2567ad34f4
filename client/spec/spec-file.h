/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

/* A session spec in a file: an object with the spec's keys, or the output of 'show --json'. That
 * output has the keys id and spec, and only its spec is used. */
typedef struct SpecFile SpecFile;

/* Returns KT_E_INVALID_SPEC when the file cannot be read or is not JSON, with file, line and
 * column. */
int spec_file_open(const char *path, SpecFile **ret, Reason *reason);
SpecFile *spec_file_free(SpecFile *file);
DEFINE_CLEANUP(SpecFile, spec_file_free);
/* The spec's object. Borrowed; the caller may change it. */
json_object *spec_file_get(const SpecFile *file);
/* Whether the file is the description of an old session, with that session's name and lifetime. */
bool spec_file_is_description(const SpecFile *file);
/* Reads the file into a spec. An error is reported with file, line and column. */
int spec_file_read(const SpecFile *file, Spec *spec, Reason *reason);
/* Adds the place to a reason that begins with a key's path. Returns r. */
int spec_file_refuse(const SpecFile *file, int r, Reason *reason);
