/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The switches of test builds, see defence.h. Other builds compile nothing here. */

#include "interfaces/defence.h"

#ifdef KT_DEFENCE_SWITCHES
#include <stdlib.h>
#include <string.h>

bool defence_is_on(const char *name) {
        const char *off = getenv("KTRACE_DEFENCES_OFF");
        size_t length = strlen(name);

        for (const char *at = off; at && *at;
                        at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
                if (strcspn(at, ",") == length && strncmp(at, name, length) == 0)
                        return false;
        return true;
}
#endif
