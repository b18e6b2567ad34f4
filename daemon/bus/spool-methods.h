/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

/* Methods of org.ktrace1.Manager that are about recordings on disk; userdata is the door. */
int method_list_spool(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
int method_open_spool(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
int method_remove_spool(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
