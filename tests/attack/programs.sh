# SPDX-License-Identifier: LGPL-2.1-or-later
# Attacks through probes in programs: a breakpoint is written into every process that maps the file, and a counter
# into its data, in every process that runs it.

# roots_program: starts a root program; its pid is in $VICTIM, its path in $PROGRAM.
roots_program() {
        PROGRAM=/usr/local/bin/ktrace-probed
        install -m 755 "$PROBED" "$PROGRAM"
        "$PROGRAM" until "$T/stop" >counted &
        VICTIM=$!
        started+=("$VICTIM")
}

# traces PLACE: the attacker defines a probe there and records own processes. Both may be refused.
traces() {
        user ktracectl --no-ask-password probes add mine --on "$1" &&
                user ktracectl create mine --probe mine --scope own --lifetime linger && user ktracectl start mine ||
                true
        sleep 0.5
}
traces_end() {
        user ktracectl destroy mine || true
        user ktracectl probes remove mine || true
        : >stop
        wait "$VICTIM" || true
        rm -f "$PROGRAM"
}

# changed_bytes: the number of bytes of the victim's code that differ from the file.
changed_bytes() {
        python3 - "$VICTIM" "$PROGRAM" <<'EOS'
import sys
n = 0
image = open(sys.argv[2], "rb").read()
with open(f"/proc/{sys.argv[1]}/maps") as maps, open(f"/proc/{sys.argv[1]}/mem", "rb") as memory:
    for line in maps:
        fields = line.split()
        if fields[-1] != sys.argv[2] or "x" not in fields[1]:
            continue
        start, end = (int(x, 16) for x in fields[0].split("-"))
        offset = int(fields[2], 16)
        memory.seek(start)
        code = memory.read(end - start)
        n += sum(a != b for a, b in zip(code, image[offset:offset + len(code)]))
print(n)
EOS
}

case_program_of_roots() { # [open] set breakpoints in a root program, and a probe in a place that is not an instruction
        defended_by program-files
        roots_program
        traces "$PROGRAM:probed:step"
        bytes=$(changed_bytes)
        traces_end
        verdict "$bytes" "$(cat counted)" "changed bytes of root code, rounds with a set semaphore"
}

case_middle_of_instruction() { # change a constant in a root program by a breakpoint inside an instruction
        local offset
        defended_by boundaries
        rules "{\"name\": \"yes\", \"subjects\": [{\"uid\": $USER_UID}], \"probes\": {\"files\": [\"/usr/local/*\"]}}"
        echo 'polkit.addRule(function(action, subject) {
                if (action.id == "org.ktrace1.define-probe") return polkit.Result.YES; });' \
                        >/etc/polkit-1/rules.d/10-attack.rules
        systemctl restart polkit.service
        roots_program
        offset=$(ktracectl --json probes resolve "$PROGRAM:probed_bytes" | jq '.[0].offset')
        traces "$PROGRAM:$(printf '0x%x' $((offset + 3)))"
        bytes=$(changed_bytes)
        traces_end
        rm /etc/polkit-1/rules.d/10-attack.rules
        systemctl restart polkit.service
        verdict "$bytes" "bytes of a constant"
}
