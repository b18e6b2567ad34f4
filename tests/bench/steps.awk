# SPDX-License-Identifier: LGPL-2.1-or-later
# Of what dbus-monitor --profile prints: the milliseconds of each call of the client that creates a session, and of the
# client before, between and after them. begin and end: when its process began and ended. A line each: name, tab, ms.
function put(name, from, to) {
        if (!(name in sum))
                names[++n] = name
        sum[name] += (to - from) * 1000
}
$1 == "mc" { call[$4, $3] = $8; begun[$4, $3] = $2 }
$1 == "mc" && $8 == "CreateSession" { client = $4 }
{ line[NR] = $0 }
END {
        at = begin
        between = "client: before the calls"
        for (i = 1; i <= NR; i++) {
                split(line[i], f, "\t")
                if (f[1] != "mr" || f[5] != client || !((client, f[6]) in call))
                        continue
                name = call[client, f[6]]
                if (name == "Hello" || name == "AddMatch" || name == "RemoveMatch")
                        continue
                put(between, at, begun[client, f[6]])
                put(name, begun[client, f[6]], f[2])
                at = f[2]
                between = "client: between the calls"
        }
        put("client: after the calls", at, end)
        for (i = 1; i <= n; i++)
                printf "%s\t%.3f\n", names[i], sum[names[i]]
}
