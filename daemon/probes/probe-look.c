/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Has the files of the catalogue's probes inspected, one after the other. An entry in a program is
 * not known to be valid before this. Called by catalogue.c when it has read the entries. An
 * inspection continues if its entry is removed, and its result is then dropped. */

#include "probes/probe-look.h"

#include <errno.h>

#include "probes/probe-set.h"

struct ProbeLook {
        ProbeSet *set;
        Probe *probe; /* NULL: removed */
};

static bool probe_look_is_needed(const Probe *probe) {
        return probe->source && probe->kind == PROBE_USER && probe->definition->on &&
               !probe->file && !probe->is_malformed && !probe->is_looked;
}

static void set_failed(Probe *probe, int result, const Reason *reason) {
        probe->look_failed = *reason;
        if (!reason->text[0])
                reason_set(&probe->look_failed, result, "its file cannot be inspected");
}

static void probe_look_on_inspected(int result,
                const Reason *said,
                Inspected *inspected,
                void *userdata) {
        _cleanup_free_ ProbeLook *look = userdata;
        Probe *probe = look->probe;
        Reason reason = *said;

        look->set->look = NULL;
        if (!probe) {
                inspected_free(inspected);
                probe_set_look(look->set);
                return;
        }
        if (result == 0)
                result = probe_file_new(
                                inspected, 0, look->set->state_dir, NULL, &probe->file, &reason);
        if (result == KT_E_CANCELLED)
                return;
        if (result != 0)
                set_failed(probe, result, &reason);
        probe_set_look(look->set);
}

static int look_into(ProbeSet *set, Probe *probe, Reason *reason) {
        _cleanup_free_ ProbeLook *look = malloc(sizeof(*look));
        UserSpot spot = {};

        if (!look)
                return -ENOMEM;
        *look = (ProbeLook){ set, probe };
        probe->is_looked = true;
        int r = user_spot_parse(probe->definition->on, &spot, reason);
        const InspectionQuestion question = { .offset = spot.offset, .marker = spot.marker };
        r = r
                            ?: inspections_ask_path(set->inspections,
                                               spot.path,
                                               &question,
                                               probe_look_on_inspected,
                                               look,
                                               reason);
        user_spot_clear(&spot);
        if (r == 0)
                set->look = TAKE_PTR(look);
        return r;
}

void probe_set_look(ProbeSet *set) {
        Probe *probe;

        TAILQ_FOREACH(probe, &set->list, probes) {
                Reason reason = {};

                if (set->look || set->is_closing)
                        return;
                if (!probe_look_is_needed(probe))
                        continue;
                int r = look_into(set, probe, &reason);
                if (r != 0)
                        set_failed(probe, r, &reason);
        }
}

void probe_look_forget(ProbeSet *set, const Probe *probe) {
        if (set->look && set->look->probe == probe)
                set->look->probe = NULL;
}
