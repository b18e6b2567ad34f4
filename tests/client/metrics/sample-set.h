/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "metrics/set-read.h"

/* Reads a set with the name "sample" from a text that must be right. */
Set *sample_read(const char *text);
/* The same with one metric: the text is the inside of its object after name, help and type. */
Set *sample_read_metric(const char *type, const char *rest);
