/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

/* Reads the catalogue again. The journal and ListProbes report its errors. */
void catalogue_load(ProbeSet *set, const char *lib_dir, const char *config_dir);
