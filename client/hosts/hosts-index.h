/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "hosts/manifest.h"

#define HOSTS_INDEX_FILE "index.html"

/* Writes a page with a row for each machine. files: by machine, the names of files beside the page;
 * NULL: the machine has none. */
void hosts_index_write(FILE *out, const Manifest *manifest, char *const *files);
