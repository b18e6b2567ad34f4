/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The methods of ktraced that ktracectl calls. The names and types of the arguments are those of
 * the interface. The backends of the proxy use this table to turn JSON into messages. A test
 * compares the table with interfaces/org.ktrace1.*.xml. */

#include "call/proxy-method.h"

#include <string.h>

#include "interfaces/cleanup.h"

static const char *const session_row[] = { "id", "path", "name", "uid", "state", NULL };

static const ProxyMethod methods[] = {
        { "AcknowledgeSpool", false, { { "id", "s" }, { "file", "s" } }, {} },
        { "AddProbe", false, { { "definition", "a{sv}" } }, { { "event", "s" } } },
        { "AddProbes", false, { { "definitions", "aa{sv}" } }, { { "events", "as" } } },
        { "Administrate", false, {}, {} },
        { "CheckSession", false, { { "spec", "a{sv}" } }, { { "decision", "a{sv}" } } },
        { "CreateSession", false, { { "spec", "a{sv}" } }, { { "id", "s" }, { "path", "o" } } },
        { "DescribeEvent", false, { { "name", "s" } }, { { "event", "a{sv}" } } },
        { "GetLimits", false, {}, { { "limits", "a{sv}" } } },
        { "GetSession", false, { { "id", "s" } }, { { "path", "o" } } },
        { "GetStatus", false, {}, { { "status", "a{sv}" } } },
        { "ListEvents", false, { { "glob", "s" } }, { { "names", "as" } } },
        { "ListProbes", false, {}, { { "probes", "aa{sv}" } } },
        { "ListSessions", false, {}, { { "sessions", "a(sosus)", session_row } } },
        { "ListSpool",
                        false,
                        { { "after", "s" } },
                        { { "recordings", "aa{sv}" }, { "next", "s" } } },
        { "OpenBlackBox", false, { { "options", "a{sv}" } }, { { "stream", "h" } } },
        { "OpenProbeFile", false, {}, { { "file", "u" }, { "socket", "h" } } },
        { "OpenSpool", false, { { "id", "s" }, { "options", "a{sv}" } }, { { "pipe", "h" } } },
        { "Reload", false, {}, {} },
        { "RemoveProbe", false, { { "name", "s" } }, {} },
        { "RemoveSpool", false, { { "id", "s" } }, {} },
        { "ResolveFunction", false, { { "function", "s" } }, { { "description", "a{sv}" } } },
        { "Watch", false, { { "options", "a{sv}" } }, {} },

        { "Clear", true, {}, {} },
        { "Configure", true, { { "changes", "a{sv}" } }, {} },
        { "Describe", true, {}, { { "session", "a{sv}" } } },
        { "Destroy", true, {}, {} },
        { "GetHistogram", true, { { "name", "s" } }, { { "rows", "aa{sv}" } } },
        { "GetStatistics", true, {}, { { "statistics", "a{sv}" } } },
        { "Mark", true, { { "text", "s" } }, {} },
        { "OpenSink", true, { { "options", "a{sv}" } }, { { "socket", "h" } } },
        { "OpenStream", true, { { "options", "a{sv}" } }, { { "pipe", "h" } } },
        { "Snapshot", true, { { "options", "a{sv}" } }, { { "stream", "h" } } },
        { "Start", true, {}, {} },
        { "Stop", true, {}, {} },
        { "Subscribe", true, {}, {} },
};

const ProxyMethod *proxy_method_find(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(methods); i++)
                if (strcmp(methods[i].name, name) == 0)
                        return &methods[i];
        return NULL;
}

const ProxyMethod *proxy_method_get_all(size_t *ret_n) {
        *ret_n = ELEMENTSOF(methods);
        return methods;
}

bool proxy_method_has_fd(const ProxyMethod *method) {
        for (size_t i = 0; i < ELEMENTSOF(method->out) && method->out[i].name; i++)
                if (strcmp(method->out[i].type, "h") == 0)
                        return true;
        return false;
}
