/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy.h"

/* Reads all pages of ListSpool. The oldest recording comes first. */
int spool_list_read(Proxy *proxy, json_object **ret, Reason *reason);
