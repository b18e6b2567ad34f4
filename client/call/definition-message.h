/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy.h"

/* A definition from the command line. The daemon checks it. */
typedef struct DefinitionMessage {
        const char *name, *on, *event, *from, *to, *raw, *about; /* NULL: not given */
        bool is_return;
        char **args;
        size_t n_args;
        int file; /* the program that contains `on`; -1: none */
        const char *const *keys;
        size_t n_keys;
} DefinitionMessage;

/* Calls AddProbes with an array of definitions, in the form of a file of the catalogue.
 * ret_events: their names. */
int definitions_send(Proxy *proxy,
                json_object *definitions,
                json_object **ret_events,
                Reason *reason);
/* Calls AddProbe. ret_event is the name of the probe's event. */
int definition_send(Proxy *proxy,
                const DefinitionMessage *definition,
                char **ret_event,
                Reason *reason);
