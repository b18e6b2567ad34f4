/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

/* Reads the catalogue anew. What is wrong with it is in the journal and in ListProbes. */
void catalogue_load(ProbeSet *set, const char *lib_dir, const char *config_dir);
