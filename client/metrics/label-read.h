/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/place.h"
#include "metrics/set.h"

/* Returns 0, -ENOMEM, or KT_E_* with the place and the mistake. */
int label_read(SetLabel *label, json_object *o, const Place *place);
