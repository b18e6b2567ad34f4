/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

/* Methods of org.ktrace1.Manager that are about probes; userdata is the door. */
int method_resolve_function(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
int method_add_probe(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
int method_add_probes(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
int method_remove_probe(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
int method_list_probes(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
int method_open_probe_file(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
