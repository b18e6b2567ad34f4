# SPDX-License-Identifier: LGPL-2.1-or-later
"""give-probe.py NAME ON FILE: defines a probe, and gives a descriptor of FILE with it, which need not be where ON says.
ktracectl always gives the file that ON names. Prints the error and exits with 3 if the daemon refuses."""

import os
import socket
import sys

import dbus

name, on, path = sys.argv[1:]
bus = dbus.SystemBus()
manager = dbus.Interface(bus.get_object("org.ktrace1", "/org/ktrace1"), "org.ktrace1.Manager")
ticket, end = manager.OpenProbeFile()
file = os.open(path, os.O_RDONLY)
with socket.socket(fileno=end.take()) as s:
    socket.send_fds(s, [b"\0"], [file])
    try:
        manager.AddProbe({"name": name, "on": on, "file": ticket})
    except dbus.DBusException as e:
        print(e.get_dbus_message(), file=sys.stderr, flush=True)
        sys.exit(3)
