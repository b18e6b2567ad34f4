/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "varlink/server.h"

/* org.varlink.certification: calls that a client makes in order, each with what the one before has
 * answered. The userdata of its handlers is a Certification. */
typedef struct Certification {
        bool has_ended; /* all went well to the end */
        unsigned n_refused;
} Certification;

extern const VarlinkInterface certification_interface;
