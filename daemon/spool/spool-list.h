/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spool/spool.h"

/* A method of clients, as those of spool.h. It answers with one page, the recordings whose id
 * follows `after`, "" for the first page. request->list:
 * [{"id","name","uid","kind","state","bytes","created-usec","ended-usec","code","reason","lost",
 * "dropped-files","dropped-bytes","files":[{"name","bytes","state"}]}], and "ship", "shipped-file"
 * and "shipped" of a marked one. request->text: the `after` of the next page, "" after the last
 * one. KT_E_FAILED: the disk failed. */
int spool_list(Spool *spool,
                Request *request,
                SessionReach reach,
                const char *after,
                Reason *reason);
