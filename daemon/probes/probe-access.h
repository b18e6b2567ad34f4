/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"
#include "work/request.h"

/* Checks a definition in a program. file is NULL while the file is not known yet. */
int probe_check_user(ProbeSet *set,
                const Subject *subject,
                const Definition *definition,
                const ProbeFile *file,
                const char **ret_action,
                Reason *reason);
/* Checks every other definition. takes is 0 while it is not known yet. */
int probe_check_define(ProbeSet *set,
                const Subject *subject,
                const Definition *definition,
                unsigned takes,
                const char **ret_action,
                Reason *reason);
/* Checks a resolved definition of the subject by the current rules. KT_E_AUTH_REQUIRED: polkit has
 * not been asked about it. */
int probe_check_own(ProbeSet *set,
                const Subject *subject,
                const Probe *probe,
                bool is_authorized,
                Reason *reason);
/* Returns whether the subject may use the probe: one of the catalogue if rules grant it by name,
 * the subject's own while rules grant it, and never one of another user. Root may use
 * every probe. */
bool probe_may_use(ProbeSet *set, const Subject *subject, const Probe *probe);
/* Checks the probes that this probe is made of. */
int probe_check_origins(ProbeSet *set, const Subject *subject, const Probe *probe, Reason *reason);
/* Fails with KT_E_NO_SUCH_PROBE, the same as for a probe that the subject may not use. */
int probe_refuse_absent(ProbeSet *set, const Subject *subject, const char *name, Reason *reason);
