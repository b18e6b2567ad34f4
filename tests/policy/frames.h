/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/policy.h"

/* Physical memory in what the group ktrace gets: page frame numbers, page table entries, physical
 * addresses. A field whose name or type looks like one must be cut by the shipped rule or be listed
 * in frames.c as examined, with the reason. */

/* names: "system:event", sorted. */
Grant *frames_grant(const char *policy_dir, const char *const *names, size_t n_names);
/* "system:event: type name" in ret for each field that is neither cut nor examined. */
void frames_check(const Grant *grant, const GrantEvent *event, const Format *format, GString *ret);
/* Fails with the list, and says what to do. */
void frames_assert_none(const GString *found);
