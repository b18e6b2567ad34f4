/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#define KT_BUS_NAME          "org.ktrace1"
#define KT_OBJECT            "/org/ktrace1"
#define KT_SESSION_PREFIX    "/org/ktrace1/session"
#define KT_MANAGER_INTERFACE "org.ktrace1.Manager"
#define KT_SESSION_INTERFACE "org.ktrace1.Session"
#define KT_ERROR_PREFIX      "org.ktrace1.Error."
#define KT_VARLINK_INTERFACE "org.ktrace1"

#define KT_CONFIG_DIR       "/etc/ktrace"
#define KT_LIB_DIR          "/usr/lib/ktrace"
#define KT_STATE_DIR        "/var/lib/ktrace"
#define KT_RUNTIME_DIR      "/run/ktrace"
#define KT_TRACEFS_DIR      "/sys/kernel/tracing"
#define KT_POLICY_SUBDIR    "policy.d"
#define KT_PROBES_CATALOGUE "ktrace_catalogue" /* system of the catalogue's probes */
#define KT_PROBES_SUBDIR    "probes.d"
#define KT_CONFIG_FILE      "ktraced.json"
#define KT_CONTAINER_SUBDIR "containers"
#define KT_CONTAINER_SOCKET "container-" /* then the name: how systemd calls its socket */

#define KT_CONSUMER_USER   "ktrace-consumer"
#define KT_CONSUMER_SOCKET "/run/ktrace/consumer"
#define KT_VARLINK_SOCKET  "/run/ktrace/org.ktrace1"

/* Instances are named KT_INSTANCE_PREFIX plus a session id. */
#define KT_INSTANCE_PREFIX "ktrace-"

/* A session id: this many lower-case hex digits, from getrandom(2). */
#define KT_ID_DIGITS 16
#define KT_NAME_MAX  64

/* The session of root that is the machine's black box. */
#define KT_BLACK_BOX "blackbox"
