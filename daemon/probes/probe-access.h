/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"
#include "work/request.h"

/* A definition in a program. file: NULL while it is not known which it is. */
int probe_check_user(ProbeSet *set,
                const Subject *subject,
                const Definition *definition,
                const ProbeFile *file,
                const char **ret_action,
                Reason *reason);
/* Every other one. takes: 0 while that is not known yet. */
int probe_check_define(ProbeSet *set,
                const Subject *subject,
                const Definition *definition,
                unsigned takes,
                const char **ret_action,
                Reason *reason);
/* A definition of the subject's own that is resolved, by the rules of now. KT_E_AUTH_REQUIRED:
 * polkit has not been asked about it. */
int probe_check_own(ProbeSet *set,
                const Subject *subject,
                const Probe *probe,
                bool is_authorized,
                Reason *reason);
/* The catalogue's by name; one's own while rules grant it, another's never. */
bool probe_may_use(ProbeSet *set, const Subject *subject, const Probe *probe);
/* The probes that it is made of. */
int probe_check_origins(ProbeSet *set, const Subject *subject, const Probe *probe, Reason *reason);
/* KT_E_NO_SUCH_PROBE, as for what may not be used. */
int probe_refuse_absent(ProbeSet *set, const Subject *subject, const char *name, Reason *reason);
