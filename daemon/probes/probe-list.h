/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

/* Answers with request->list:
 * [{"name","event","about","source","uid","definition","resolved","state","why","users","fields",
 * "hits","misses"}] for the catalogue and the caller's own probes. Root sees all probes. */
int probe_list_all(ProbeSet *set, Request *request, Reason *reason);
