/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "policy/policy.h"

/* Two directories, lib and etc, each with a policy.d; removed by fixture_clear. */
typedef struct Fixture {
        char *base, *lib, *etc;
} Fixture;

void fixture_init(Fixture *fixture);
void fixture_clear(Fixture *fixture);
/* Writes DIR/policy.d/NAME. */
void fixture_write(const char *dir, const char *name, const char *text);
/* Loads and expects success. */
Policy *fixture_load(const Fixture *fixture);
/* Loads one file and expects this refusal; `text` has to be in the reason. */
void fixture_refused(const char *json, int code, const char *text);
