/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/compile.h"

/* A format's text with the last line written so that values are shown as their types want it. */
int probe_form_show(const ProbeForm *form, const char *format, char **ret);
