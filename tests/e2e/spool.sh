# SPDX-License-Identifier: LGPL-2.1-or-later
# Recordings on disk: files, limits, access, and what survives a crash.

spool_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        within 10 spool_over || true
        spooled | jq -r '.[].id' | xargs -r ktracectl spool remove || true
        [ ! -f before.json ] || cat before.json >"$CONFIG_DIR/ktraced.json"
        ktracectl policy reload || true
        leave_case
}
spooled() { ktracectl spool list --json=short; }
spool_over() { spooled | jq -e 'all(.state == "ended" or .state == "crashed")'; }
spool_begin() {
        trap spool_end EXIT
        spool_limits '{"spool-keep-free-kb": 1024}'
}
# spool_limits OBJECT: sets limits until the end of the case.
spool_limits() {
        [ -f before.json ] || cp "$CONFIG_DIR/ktraced.json" before.json
        jq '. + $ARGS.positional[0]' --jsonargs "$1" <before.json >"$CONFIG_DIR/ktraced.json"
        ktracectl policy reload
}
# spool_recorder NAME SPOOL [OPTION...], $BUFFER, $COMPRESSION: of two system calls that no other program makes, of all
# processes. Not compressed by default, so that few calls fill a file.
spool_recorder() {
        local name=$1
        echo "{\"spool\": $2}" >spec.json
        shift 2
        ktracectl create "$name" --spec spec.json --scope system -b "${BUFFER:-8192}" \
                --compression "${COMPRESSION:-none}" -e raw_syscalls:sys_enter \
                -f 'id >= 1000 && id <= 1001' "$@"
        ktracectl start "$name"
}
calls() { "$TARGET" calls "$1" "$2"; }
has() { count "$1" ".fields.id == $2"; }
entry() { spooled | jq -r ".[0].$1"; } # FIELD
ended() { within 20 spool_over || fail "it still records: $(spooled)"; }
spool_daemon() { # ends the daemon; the next call starts another one
        local pid
        pid=$(daemon_pid)
        kill "$pid"
        within 20 sh -c "! kill -0 $pid 2>/dev/null" || fail "the session has not ended"
}

case_spool_compressed() { # by default a recording is compressed: a fraction of the size, with the same events
        spool_begin
        local size plain
        for COMPRESSION in none zstd; do
                spool_recorder "$COMPRESSION" '{"max-bytes": 67108864}'
                calls 30000 1000
                ktracectl stop "$COMPRESSION"
                ktracectl destroy "$COMPRESSION"
                ended
                expect 0 ktracectl spool fetch "$COMPRESSION" -o "$COMPRESSION.kts"
                same 30000 "$(has "$COMPRESSION.kts" 1000)" "events with compression $COMPRESSION"
        done
        plain=$(stat -c %s none.kts)
        size=$(stat -c %s zstd.kts)
        [ $((size * 4)) -lt "$plain" ] || fail "$size bytes of $plain"
        echo '{"spool": {}}' >spec.json
        ktracectl create preset --spec spec.json --scope system -b 8192 -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start preset
        calls 30000 1000
        ktracectl destroy preset
        ended
        expect 0 ktracectl spool fetch preset -o preset.kts
        [ $(($(stat -c %s preset.kts) * 4)) -lt "$plain" ] || fail "the default: $(stat -c %s preset.kts) bytes"
}

case_spool_usage() { # bad values of --spool and --spool with another format fail with status 2
        refused 2 '--spool 64M: write the size after a =: --spool=64M' ktracectl record --spool 64M \
                -a -e sched:sched_switch -- true
        refused 2 '--spool "1K": 1024 is not from 524288 to [0-9]* bytes' ktracectl create box --spool=1K \
                -a -e sched:sched_switch
        refused 2 'expected a number of bytes' ktracectl create box --spool=1.5G -a -e sched:sched_switch
        refused 2 'no such format' ktracectl spool fetch box --to doc
        refused 2 'second: one argument too many' ktracectl spool fetch first second
        refused 2 'spool remove: ID is missing' ktracectl spool remove
        refused 2 'standard input is the command' ktracectl record --spec - -- true
        echo '{"scope": "own", "frob": 1}' >spec.json
        refused 2 'standard input:1:18: unknown key "frob"' ktracectl create box --spec - <spec.json
        same 0 "$(spooled | jq length)" recordings
}

case_spool_files() { # [deep] each file of a recording is readable alone, and all files together have each event once
        spool_begin
        spool_recorder box '{"max-bytes": 67108864, "rotate-bytes": 262144}'
        for _ in 1 2 3 4; do
                calls 10000 1000
                sleep 0.3
        done
        refused 1 "spool fetch $(entry id)" ktracectl stream box -o x.kts
        refused 1 'still records' ktracectl spool remove "$(entry id)"
        ktracectl spool fetch box -o part.kts
        ktracectl stop box
        ktracectl destroy box
        expect 0 ktracectl spool fetch box -o all.kts # it waits until everything is on the disk
        ended
        same 0 "$(entry lost)" lost
        same 40000 "$(has all.kts 1000)" "events of the whole"
        [ "$(has part.kts 1000)" -le 40000 ] || fail "more than there were"
        mkdir files
        expect 0 ktracectl spool fetch box -o files
        n=0 sum=0
        for file in files/*.kts; do
                events=$(has "$file" 1000)
                [ "$events" -gt 0 ] || fail "$file has none"
                [ "$(stat -c %s "$file")" -le 262144 ] || fail "$file is too long"
                sum=$((sum + events)) n=$((n + 1))
        done
        [ "$n" -ge 4 ] || fail "$n files"
        same 40000 "$sum" "events of the files"
        same "$n" "$(entry 'files | length')" files
        same 40000 "$(ktracectl report --json=short files/*.kts | count_events true)" "events of all files in order"
        expect 0 ktracectl spool fetch box --file 1 -o one.kts
        cmp one.kts "$(find files -name '*-000001.kts')"
        cat files/*.kts | cmp - all.kts
        expect 0 ktracectl spool remove box
        same '[]' "$(spooled)" list
        same '' "$(ls "$SPOOL_DIR")" directory
}

case_spool_newest() { # a full recording drops its oldest files and has the newest events
        spool_begin
        spool_recorder box '{"max-bytes": 1048576, "rotate-bytes": 262144}'
        calls 1 1001
        for _ in 1 2 3 4 5 6; do
                calls 8000 1000
                sleep 0.3
                [ "$(find "$SPOOL_DIR" -name '*.kts' -printf '%s\n' |
                        awk '{ n += $1 } END { print n }')" -le 1048576 ] ||
                        fail "too much on disk"
        done
        calls 3 1001
        sleep 0.3
        ktracectl destroy box
        ended
        [ "$(entry '"dropped-files"')" -gt 0 ] || fail "nothing was dropped: $(spooled)"
        expect 0 ktracectl spool fetch box -o all.kts
        same 3 "$(has all.kts 1001)" "of the last, and none of the first; $(spooled)"
}

case_spool_oldest() { # with keep oldest, a full recording ends its session with a reason
        spool_begin
        spool_recorder box '{"max-bytes": 1048576, "rotate-bytes": 262144, "keep": "oldest", "sync": "none"}'
        calls 3 1001
        for _ in 1 2 3 4 5 6; do
                calls 8000 1000
                sleep 0.2
        done
        within 20 no_instance || fail "the session continues"
        ended
        same spool-full "$(entry code)" code
        expect 0 ktracectl spool fetch box -o all.kts
        same 3 "$(has all.kts 1001)" "of the first"
        [ "$(stat -c %s all.kts)" -le 1048576 ] || fail "too much"
        [ "$(stat -c %s all.kts)" -ge 700000 ] || fail "too little: $(stat -c %s all.kts)"
}

case_spool_limits() { # limits of a session, a user and the whole disk do not drop files of others
        spool_begin
        spool_limits '{"max-spool-kb": 2048, "max-spool-kb-per-uid": 1200, "spool-keep-free-kb": 0}'
        echo '{"spool": {"rotate-bytes": 262144}}' >spec.json
        echo '{"spool": {"max-bytes": 4194304}}' >large.json
        refused 1 'max-spool-kb' user ktracectl create large --spec large.json --scope own -e sched:sched_process_exit
        expect 0 user ktracectl create one --spec spec.json --scope own -e sched:sched_process_exit
        expect 0 user ktracectl create two --spec spec.json --scope own -e sched:sched_process_exit
        refused 1 'max-spool-kb-per-uid' user ktracectl create three --spec spec.json --scope own \
                -e sched:sched_process_exit
        no_name three || fail "the refused one is there"
        expect 0 stranger ktracectl create other --spool=600K --scope own -e sched:sched_process_exit
        spool_limits '{"max-spool-kb-total": 1600, "spool-keep-free-kb": 0}'
        refused 1 'max-spool-kb-total' ktracectl create root --spec spec.json --scope system -e sched:sched_process_exit
        spool_limits '{"max-spool-kb-total": 2300, "spool-keep-free-kb": 0}'
        refused 1 'max-spool-kb-total, 2012 allowed' stranger ktracectl create more --spool=600K --scope own \
                -e sched:sched_process_exit
        expect 0 ktracectl create share --spec spec.json --scope system -e sched:sched_process_exit
        spool_limits '{"max-spool-kb": 0}'
        refused 1 'none is allowed' stranger ktracectl create none --spool --scope own -e sched:sched_process_exit
        spool_limits "{\"spool-keep-free-kb\": $((1 << 40))}"
        refused 1 'disk is full' ktracectl create root --spec spec.json --scope system -e sched:sched_process_exit
        same 0 "$(spooled | jq '[.[] | select(.name == "root")] | length')" "entries of what was refused"
}
no_name() { ! ktracectl list --json=short | jq -e "any(.name == \"$1\")"; }

case_spool_strangers() { # other users do not find a recording, and only root can read the directory
        spool_begin
        echo '{"spool": {"rotate-bytes": 262144}}' >spec.json
        expect 0 user ktracectl create mine --spec spec.json --scope own -e sched:sched_process_exit
        id=$(user ktracectl spool list --json=short | jq -r '.[0].id')
        same '[]' "$(stranger ktracectl spool list --json=short)" "the stranger's list"
        refused 1 "\"$id\": no such recording: ListSpool" stranger busctl call org.ktrace1 /org/ktrace1 \
                org.ktrace1.Manager OpenSpool 'sa{sv}' "$id" 0
        refused 1 'no such recording' stranger busctl call org.ktrace1 /org/ktrace1 org.ktrace1.Manager RemoveSpool s \
                "$id"
        refused 1 'no such recording' user busctl call org.ktrace1 /org/ktrace1 org.ktrace1.Manager OpenSpool 'sa{sv}' \
                ../../etc/passwd. 0
        refused 1 'no such file' user busctl call org.ktrace1 /org/ktrace1 org.ktrace1.Manager OpenSpool 'sa{sv}' \
                "$id" 1 file s session.json
        refused 1 'no such file' user busctl call org.ktrace1 /org/ktrace1 org.ktrace1.Manager OpenSpool 'sa{sv}' \
                "$id" 1 file s ../../../etc/shadow
        [ -z "$(find "$SPOOL_DIR"/* ! -user root -o ! -type l -perm /077)" ] || fail "$(find "$SPOOL_DIR" -ls)"
        user ktracectl destroy mine
        ended
        expect 0 ktracectl spool fetch "$id" -o root.kts
        mkdir in
        ln -s "$T/planted" "in/$id-000001.kts"
        refused 1 'cannot be written' ktracectl spool fetch "$id" -o in
        [ ! -e "$T/planted" ] || fail "a link was followed"
        expect 0 user ktracectl spool remove "$id"
        same '[]' "$(spooled)" list
}

case_spool_record() { # record --spool exits with the command's status and writes nothing in the directory
        spool_begin
        expect 7 ktracectl record --spool=4M -e raw_syscalls:sys_enter -- sh -c "'$TARGET' calls 300 1000; exit 7"
        grep -qE "events recorded, 0 lost; 'ktracectl spool fetch [0-9a-f]{16}' gets them" err || fail "$(cat err)"
        [ ! -e trace.dat ] || fail "a file was written"
        refused 2 'leave out -o' ktracectl record --spool -o t.kts -e raw_syscalls:sys_enter -- true
        ended
        expect 0 ktracectl spool fetch "$(entry id)" -o t.kts
        same 300 "$(has t.kts 1000)" events
        expect 0 ktracectl spool fetch "$(entry id)" -o t.dat
        same 300 "$(has t.dat 1000)" "events as trace.dat"
}

case_spool_names_of_files() { # each file has the names of its own commands, and no others for a user
        spool_begin
        jq -n '{compression: "none", spool: {"max-bytes": 16777216, "rotate-bytes": 262144},
                events: ["raw_syscalls:sys_enter"]}' >own.json
        # The kernel saves a name when its process leaves the CPU. So the process sleeps between the calls.
        expect 0 user ktracectl record -q --spec own.json -- "$TARGET" paced 9000 20
        ended
        mkdir files
        ktracectl spool fetch "$(entry id)" -o files
        [ "$(find files -name '*.kts' | wc -l)" -ge 3 ] || fail "$(ls files)"
        for file in files/*.kts; do
                [ "$(stat -c %s "$file")" -le 262144 ] || fail "$file is too long"
                same '["target"]' "$(ktracectl convert "$file" --to json |
                        jq -sc 'map(select(.event != null).comm) | unique')" "who is in $file"
        done
}

case_spool_user() { # a user can record own processes to disk, and only this user can read them
        spool_begin
        expect 0 user ktracectl record --spool=4M -e raw_syscalls:sys_enter -- "$TARGET" calls 3000 110
        ended
        id=$(user ktracectl spool list --json=short | jq -r '.[0].id')
        expect 0 user ktracectl spool fetch "$id" -o t.kts
        [ "$(has t.kts 110)" -ge 3000 ] && [ "$(has t.kts 110)" -lt 3010 ] || fail "$(has t.kts 110) calls"
        same 0 "$(stranger ktracectl spool list --json=short | jq length)" "what strangers see"
        same "$USER_UID" "$(entry uid)" owner
        [ "$(stat -c %U "$SPOOL_DIR/$id/000001.kts")" = root ] || fail "the file is not root's"
        expect 0 user ktracectl spool remove "$id"
}

case_spool_links() { # symbolic links in the spool directory are neither followed nor removed with their target
        spool_begin
        ktracectl spool list
        mkdir "$T/victim"
        echo secret >"$T/victim/file"
        spool_daemon
        ln -s "$T/victim" "$SPOOL_DIR/00000000deadbeef"
        mkdir -m 700 "$SPOOL_DIR/00000000deadbee1"
        echo '{"version": 1, "uid": 0, "name": "planted", "kind": "session",
                "created-usec": 1, "ended-usec": 2, "code": "x", "reason": "planted"}' \
                >"$SPOOL_DIR/00000000deadbee1/session.json"
        ln -s "$T/victim/file" "$SPOOL_DIR/00000000deadbee1/000001.kts"
        mkfifo "$SPOOL_DIR/00000000deadbee1/000002.kts"
        same 00000000deadbee1 "$(spooled | jq -r '.[].id')" list
        same 0 "$(entry 'files | length')" files
        refused 1 'nothing of it is on the disk; it ended: planted' ktracectl spool fetch planted -o t.kts
        [ ! -e t.kts ] || fail "an empty file is left"
        expect 0 ktracectl spool remove planted
        same secret "$(cat "$T/victim/file")" "the victim"
        rm "$SPOOL_DIR/00000000deadbeef"
}

case_spool_pages() { # a list of more recordings than one answer holds is whole, and sorted by time
        spool_begin
        ktracectl spool list
        spool_daemon
        local i id
        for i in $(seq 1 300); do
                id=$(printf '%016x' $((0x9e3779b97f4a7c15 * i)))
                mkdir -m 700 "$SPOOL_DIR/$id"
                echo "{\"version\": 1, \"uid\": 0, \"name\": \"n$i\", \"kind\": \"session\", \"created-usec\": $i,
                        \"ended-usec\": 400, \"code\": \"x\", \"reason\": \"planted\"}" \
                        >"$SPOOL_DIR/$id/session.json"
        done
        same "$(seq 1 300)" "$(spooled | jq -r '.[]["created-usec"]')" "the list"
        same "$(seq 1 300)" "$(ktracectl --varlink spool list --json=short | jq -r '.[]["created-usec"]')" Varlink
        busctl --json=short call org.ktrace1 /org/ktrace1 org.ktrace1.Manager ListSpool s '' >page.json
        same 256 "$(jq '.data[0] | length' page.json)" "recordings of a page"
        busctl --json=short call org.ktrace1 /org/ktrace1 org.ktrace1.Manager \
                ListSpool s "$(jq -r '.data[1]' page.json)" >rest.json
        same '44 ""' "$(jq -r '"\(.data[0] | length) \(.data[1] | tojson)"' rest.json)" "the last page"
        refused 1 'after: \"x\" is not an id' busctl call org.ktrace1 /org/ktrace1 org.ktrace1.Manager ListSpool s x
        # One of the last page is found by its name.
        expect 0 ktracectl spool remove "$(jq -r '.data[0][-1].name.data' rest.json)"
        same 299 "$(spooled | jq length)" "recordings afterwards"
}

case_spool_short() { # [deep] of a hundred short recordings, ten at the same time, each has all its records
        local i id pids=()
        spool_begin
        for i in $(seq 100); do
                ktracectl record -q --spool=1M -e raw_syscalls:sys_enter -f 'id == 1000' -- "$TARGET" calls "$i" 1000 &
                pids+=("$!")
                [ $((i % 10)) = 0 ] || continue
                wait "${pids[@]}" || fail "a recording fails"
                pids=()
        done
        ended
        for id in $(spooled | jq -r '.[].id'); do
                ktracectl spool fetch "$id" -o t.kts || fail "$(spooled | jq -c ".[] | select(.id == \"$id\")")"
                has t.kts 1000
        done >counts
        same "$(seq 100)" "$(sort -n counts)" "the calls of each recording"
}

case_spool_fetch_nothing() { # a fetch that gets no frame of a recording fails, and leaves no file
        spool_begin
        spool_recorder box '{"max-bytes": 1048576}'
        calls 5 1000
        ktracectl destroy box
        ended
        truncate -s 10 "$SPOOL_DIR/$(entry id)"/*.kts
        refused 1 'expected a stream, got nothing' ktracectl spool fetch box -o t.kts
        [ ! -e t.kts ] || fail "an empty file is left"
        refused 1 'expected a stream, got nothing' ktracectl spool fetch box --to text -o t.txt
}

case_spool_readers() { # a reader that opens a recording and stops keeps at most one dropped file
        spool_begin
        spool_recorder box '{"max-bytes": 8388608, "rotate-bytes": 1048576}'
        for _ in 1 2 3; do
                calls 20000 1000
                sleep 0.3
        done
        ktracectl destroy box
        ended
        mkfifo unread
        exec 8<>unread
        background sh -c 'exec ktracectl spool fetch box -o - --to kts >unread'
        within 20 is_read || fail "no reader: $(cat background.err)"
        expect 0 ktracectl spool fetch box -o all.kts
        expect 0 ktracectl spool remove box
        same '' "$(ls "$SPOOL_DIR")" directory
        within 20 nothing_is_held || fail "removed files are open"
        kill "$BACKGROUND" || true
        within 20 sh -c "! find /proc/[0-9]*/fd -lname '$SPOOL_DIR/*' 2>/dev/null | grep -q ." || fail "still open"
}

case_spool_fetch_restart() { # [asan] a fetch that a restart of the daemon cuts is reported as incomplete
        spool_begin
        spool_recorder box '{"max-bytes": 8388608, "rotate-bytes": 1048576}'
        for _ in 1 2 3; do
                calls 20000 1000
                sleep 0.3
        done
        ktracectl destroy box
        ended
        [ "$(listed)" -gt 1 ] || fail "one file: $(spooled)"
        mkfifo unread
        exec 8<>unread
        background sh -c 'exec ktracectl spool fetch box -o - --to kts >unread'
        within 20 is_read || fail "no reader: $(cat background.err)"
        killed
        cat unread >part.kts 8>&- &
        exec 8>&-
        local status=0
        wait "$BACKGROUND" || status=$?
        same 1 "$status" "status: $(cat background.err)"
        grep -q 'the rest is missing: fetch it again' background.err || fail "not reported: $(cat background.err)"
        expect 0 ktracectl spool fetch box -o all.kts
        same 60000 "$(has all.kts 1000)" calls
}

listed() { spooled | jq '.[0].files | length'; }
# The quota has room for 3 MiB of whole files, in addition to the current file and the next one. The size of a file
# depends on the machine.
whole_bytes() { spooled | jq '[.[0].files[] | select(.state == "whole") | .bytes] | add // 0'; }
pinned_bytes() {
        find /proc/[0-9]*/fd -lname "$SPOOL_DIR/*.kts (deleted)" -exec stat -Lc '%i %s' {} + 2>/dev/null |
                sort -u | awk '{ n += $2 } END { print n + 0 }'
}
is_full() { [ "$(whole_bytes)" -gt $((3145728 - 524288)) ]; }
dropped() { [ "$(entry '"dropped-files"')" -ge "$1" ]; }
is_read() { [ -n "$(find /proc/[0-9]*/fd -lname "$SPOOL_DIR/*.kts" 2>/dev/null || true)" ]; }
is_less() { [ $(($(whole_bytes) + $(pinned_bytes))) -le 3145728 ]; }
is_pinned() { ! nothing_is_held; }

case_spool_pinned() { # a dropped file counts for its reader until the reader has finished
        spool_begin
        spool_limits '{"spool-keep-free-kb": 1024, "max-spool-kb-per-uid": 4096}'
        jq -n '{scope: "own", name: "box", lifetime: "linger", compression: "none",
                spool: {"max-bytes": 4194304, "rotate-bytes": 524288},
                events: [{name: "raw_syscalls:sys_enter", filter: "id == 1000"}]}' >own.json
        mkfifo unread
        exec 8<>unread
        : >goes # and no longer: the command outlives who is killed with the case
        background user ktracectl record -q --spec own.json \
                -- sh -c "while [ -e goes ]; do sleep 0.05; '$TARGET' calls 4000 1000; done"
        within 40 dropped 1 || fail "nothing is dropped: $(spooled)"
        within 30 is_full || fail "less than there is room for: $(spooled)"
        AS_EXEC=exec user sh -c "exec ktracectl spool fetch $(entry id) -o - --to kts" >unread 2>fetch.err &
        fetch=$!
        started+=("$fetch")
        head -c 1 <&8 >/dev/null # it has the oldest one
        within 60 dropped $(($(entry '"dropped-files"') + 2)) || fail "nothing more is dropped: $(spooled)"
        within 20 is_pinned || fail "no reader has a dropped file: $(cat fetch.err)"
        within 20 is_less || fail "as many as without a reader: $(spooled)"
        for _ in 1 2 3 4 5 6 7 8; do
                is_less || fail "as many as without a reader: $(spooled)"
                sleep 0.1
        done
        kill "$(pgrep -x -P "$fetch" ktracectl || echo "$fetch")"
        within 20 nothing_is_held || fail "it is still read"
        within 20 is_full || fail "less than there is room for, without a reader: $(spooled)"
}

# find also fails for processes whose files cannot be read.
nothing_is_held() { [ -z "$(find /proc/[0-9]*/fd -lname "$SPOOL_DIR/*.kts (deleted)" 2>/dev/null || true)" ]; }

files_are_limited() {
        local pid
        for pid in $(pgrep -x ktrace-consumer); do
                if grep -q '^Max file size *262144 *262144 ' "/proc/$pid/limits" 2>/dev/null; then
                        return 0
                fi
        done
        return 1
}

case_spool_names() { # a name finds only own recordings, whatever names other users choose
        spool_begin
        echo '{"spool": {"rotate-bytes": 262144}}' >spec.json
        expect 0 ktracectl create web --spec spec.json --scope system -e sched:sched_process_exit
        expect 0 user ktracectl create web --spec spec.json --scope own -e sched:sched_process_exit
        expect 0 user ktracectl create boot --spec spec.json --scope own -e sched:sched_process_exit
        within 20 files_are_limited || fail "no stream worker has a largest file"
        user ktracectl destroy web
        user ktracectl destroy boot
        ktracectl destroy web
        ended
        refused 1 'no such recording' ktracectl spool remove boot
        expect 0 ktracectl spool remove web
        same 2 "$(user ktracectl spool list --json=short | jq length)" "the user's"
        refused 1 'no such recording' ktracectl spool fetch web
}

case_spool_kill_consumer() { # [asan] a killed worker ends its session with a reason; its recording is readable
        spool_begin
        spool_recorder box '{"rotate-bytes": 262144}'
        calls 10000 1000
        within 20 sh -c "[ \$(find '$SPOOL_DIR' -name '*.kts' -printf '%s\n' |
                awk '{ n += \$1 } END { print n }') -gt 400000 ]"
        pid=$(pgrep -n -x ktrace-consumer)
        kill -KILL "$pid"
        within 20 no_instance || fail "it goes on without"
        ended
        same failed "$(entry code)" code
        ktracectl spool fetch box -o all.kts
        [ "$(has all.kts 1000)" -ge 4000 ] || fail "$(has all.kts 1000)"
}

case_spool_kill_daemon() { # a recording continues with all events when the daemon is killed
        spool_begin
        spool_recorder box '{"rotate-bytes": 262144}' --lifetime linger
        for _ in 1 2 3; do
                calls 5000 1000
                pid=$(daemon_pid)
                kill -KILL "$pid"
                calls 5000 1000
                within 20 ktracectl status || fail "no daemon started"
                same running "$(ktracectl --json=short show box | jq -r .state)" state
        done
        calls 5 1001
        ktracectl stop box
        ktracectl destroy box
        ended
        expect 0 ktracectl spool fetch box -o all.kts
        same 30000 "$(has all.kts 1000)" "events (the recording is $(spooled))"
        same 5 "$(has all.kts 1001)" "events of the end"
}

case_spool_shutdown() { # [guest] when the daemon stops, a recording gets its end, and the next daemon lists it
        service_manager && skip "systemd keeps sessions there"
        spool_begin
        spool_recorder box '{"rotate-bytes": 262144}'
        calls 1000 1000
        spool_daemon
        same shutdown "$(entry code)" code
        ktracectl spool fetch box -o all.kts
        same 1000 "$(has all.kts 1000)" events
        # The machine shuts down: no process wrote an end.
        spool_recorder cut '{"rotate-bytes": 262144}'
        calls 1000 1000
        id=$(spooled | jq -r '.[] | select(.name == "cut").id')
        within 20 sh -c "[ \$(stat -c %s '$SPOOL_DIR/$id/000001.kts') -gt 60000 ]" || fail "$(ls -l "$SPOOL_DIR/$id")"
        cp -a "$SPOOL_DIR/$id" "$T/copy"
        ktracectl destroy cut
        ended
        ktracectl spool remove cut
        spool_daemon
        truncate -s -7 "$T/copy/000001.kts"
        cp -a "$T/copy" "$SPOOL_DIR/$id"
        same crashed "$(spooled | jq -r '.[] | select(.name == "cut").state')" state
        ktracectl spool fetch cut -o cut.kts
        ktracectl report --json=short cut.kts >lines || true
        [ "$(grep -c sys_enter lines)" -gt 0 ] || fail "nothing is left"
        same crashed "$(jq -r .code "$SPOOL_DIR/$id/session.json")" "session.json"
}

case_spool_shutdown_unfinished() { # [deep] the daemon stops and the worker does not end in time: data can be missing
        service_manager && skip "systemd keeps sessions there"
        spool_begin
        local worker
        spool_recorder box '{"rotate-bytes": 262144}'
        calls 500 1000
        sleep 0.3
        worker=$(pgrep -n -x ktrace-consumer)
        kill -STOP "$worker" # like a worker that hangs in the disk
        calls 500 1000
        spool_daemon
        kill -KILL "$worker"
        same crashed "$(entry state)" "state"
        entry reason | grep -q 'ended before the stream worker' || fail "$(spooled)"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

# Mounts a small file system for the spool.
small_disk() { # SIZE
        spool_limits '{"spool-keep-free-kb": 0}'
        spool_daemon
        mount -t tmpfs -o "size=$1,mode=755" tmpfs "$SPOOL_DIR"
        trap small_disk_end EXIT
}
small_disk_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        within 10 spool_over || true
        cp -a "$SPOOL_DIR" left || true
        spool_daemon
        umount "$SPOOL_DIR"
        spool_end
}

case_spool_disk_newest() { # [asan] on a full disk a session drops its own oldest files
        spool_begin
        small_disk 2m
        spool_recorder box '{"max-bytes": 67108864, "rotate-bytes": 262144}'
        for _ in 1 2 3 4 5 6 7 8; do
                calls 8000 1000
                sleep 0.3
        done
        calls 3 1001
        sleep 0.3
        ktracectl destroy box
        ended
        [ "$(entry '"dropped-files"')" -gt 0 ] || fail "nothing was dropped: $(spooled)"
        expect 0 ktracectl spool fetch box -o all.kts
        same 3 "$(has all.kts 1001)" "of the last"
}

case_spool_disk_full() { # on a disk that others have filled, lost events are counted until there is room
        spool_begin
        small_disk 4m
        BUFFER=64
        spool_recorder box '{"max-bytes": 67108864, "rotate-bytes": 262144, "keep": "oldest"}'
        calls 1000 1000
        within 20 written 1000 || fail "not on the disk: $(spooled)"
        dd if=/dev/zero of="$SPOOL_DIR/filler" bs=64k 2>/dev/null || true
        for _ in 1 2 3 4; do
                calls 8000 1000
                sleep 0.3
        done
        within 20 sh -c 'ktracectl spool list --json=short | jq -e ".[0].state == \"waiting\""' ||
                fail "not reported: $(spooled)"
        same running "$(ktracectl --json=short show box | jq -r .state)" state
        ktracectl spool fetch box -o part.kts
        rm "$SPOOL_DIR/filler"
        within 20 written $(($(has part.kts 1000) + 1)) || fail "the recording does not continue: $(spooled)"
        within 20 steady
        calls 5 1001
        ktracectl stop box
        ktracectl destroy box
        ended
        ktracectl spool fetch box -o all.kts
        same 5 "$(has all.kts 1001)" "of those after"
        [ "$(entry lost)" -gt 0 ] || fail "no loss reported: $(spooled)"
        same 32000 "$(($(has all.kts 1000) + $(entry lost) - 1000))" "recorded and lost"
}

case_spool_disk_full_at_the_end() { # [deep] a recording that ends on a full disk is reported as incomplete
        spool_begin
        small_disk 4m
        BUFFER=512 spool_recorder box '{"max-bytes": 67108864, "rotate-bytes": 262144, "keep": "oldest"}'
        calls 1000 1000
        within 20 written 1000 || fail "not on the disk: $(spooled)"
        dd if=/dev/zero of="$SPOOL_DIR/filler" bs=64k 2>/dev/null || true
        calls 8000 1000
        within 20 sh -c 'ktracectl spool list --json=short | jq -e ".[0].state == \"waiting\""' ||
                fail "not reported: $(spooled)"
        ktracectl stop box
        ktracectl destroy box
        # There is room for an end frame, but not for the data before it.
        truncate -s -8192 "$SPOOL_DIR/filler"
        ended
        same failed "$(entry code)" code
        entry reason | grep -q 'No space left' || fail "$(spooled)"
        expect 0 ktracectl spool fetch box -o all.kts
        ktracectl report all.kts >all.txt 2>cut || true
        grep -q 'no end frame' cut || fail "not reported as cut: $(cat cut)"
}

# A disk with errors: an image without blocks, on a file system that has no room for them. Writes go to memory and
# succeed. The kernel reports the error when they are synced.
bad_disk() {
        mkdir "$T/small"
        mount -t tmpfs -o size=1m tmpfs "$T/small"
        truncate -s 32M "$T/small/image"
        mkfs.ext4 -q -m 0 -O ^has_journal -E lazy_itable_init=1,nodiscard "$T/small/image" || skip "no ext4 can be made"
        spool_limits '{"spool-keep-free-kb": 0}'
        spool_daemon
        mount -o loop,errors=continue "$T/small/image" "$SPOOL_DIR" 2>err || skip "no loop device: $(cat err)"
        trap small_disk_end EXIT # leave_case unmounts the small one
}

case_spool_disk_errors() { # data that the disk refuses after the write is reported as lost
        spool_begin
        bad_disk
        spool_recorder box '{"rotate-bytes": 1048576, "sync": "rotate"}' --lifetime linger
        calls 60000 1000
        within 20 no_instance || fail "the session goes on: $(spooled)"
        ended
        same failed "$(entry code)" code
        entry reason | grep -qE 'No space left|Input/output' || fail "$(spooled)"
}

# One for the spool.
hung_disk() {
        spool_limits '{"spool-keep-free-kb": 0}'
        spool_daemon
        disk_to_freeze "$SPOOL_DIR"
        trap hung_disk_end EXIT
}
hung_disk_end() {
        fsfreeze -u "$SPOOL_DIR" 2>/dev/null || true
        small_disk_end
}

case_spool_disk_hangs() { # [deep] a disk that hangs delays only its own session, which counts the lost events
        spool_begin
        hung_disk
        BUFFER=64 spool_recorder box '{"max-bytes": 8388608, "rotate-bytes": 262144}'
        calls 500 1000
        sleep 0.3
        fsfreeze -f "$SPOOL_DIR"
        for _ in 1 2 3; do
                calls 8000 1000
                sleep 0.2
        done
        soon ktracectl list
        soon ktracectl status
        soon ktracectl spool list
        soon ktracectl status box
        grep -qE 'Events: .* recorded, [1-9][0-9,]* lost' out || fail "no loss reported: $(cat out)"
        # Other users, also while a call of one user waits for that disk.
        echo '{"spool": {"rotate-bytes": 262144}}' >spec.json
        background ktracectl create waits --spec spec.json --scope system -e sched:sched_process_exec
        expect 0 ktracectl record -q -a -e raw_syscalls:sys_enter -f 'id == 1002' -o other.kts \
                -- "$TARGET" calls 3000 1002
        same 3000 "$(has other.kts 1002)" "calls in a recording elsewhere"
        soon ktracectl list
        wait "$BACKGROUND" && fail "made on a disk that hangs"
        grep -q 'its disk does not answer' background.err || fail "$(cat background.err)"
        within 20 no_name waits || fail "it is there: $(ktracectl list)"
        # The daemon does not kill a worker that hangs before the end of the session.
        soon ktracectl stop box
        soon ktracectl start box
        sleep 7
        fsfreeze -u "$SPOOL_DIR"
        within 20 written 1000 || fail "the recording does not continue: $(spooled)"
        within 20 steady
        calls 5 1001
        ktracectl stop box
        ktracectl destroy box
        ended
        ktracectl spool fetch box -o all.kts
        same 5 "$(has all.kts 1001)" "of those after"
        lost=$(spooled | jq '.[] | select(.name == "box").lost')
        [ "$lost" -gt 0 ] || fail "no loss reported: $(spooled)"
        same 24500 "$(($(has all.kts 1000) + lost))" "recorded and lost"
}
# written N: whether N events are on the disk.
written() {
        ktracectl spool fetch box -o part.kts
        [ "$(has part.kts 1000)" -ge "$1" ]
}
# steady: whether no more events are written, because the rings are empty.
steady() {
        written 0
        local n
        n=$(has part.kts 1000)
        sleep 0.5
        ! written $((n + 1))
}

case_spool_disk_hangs_at_the_end() { # [deep] the daemon stops while a disk hangs, and the next one starts
        service_manager && skip "systemd starts the next daemon after the end of the first"
        spool_begin
        hung_disk
        spool_recorder box '{"rotate-bytes": 262144}' --lifetime linger
        calls 500 1000
        sleep 0.3
        fsfreeze -f "$SPOOL_DIR"
        calls 500 1000
        pid=$(daemon_pid)
        kill "$pid"
        within 20 another_daemon "$pid" || fail "no other one"
        kill -0 "$pid" || fail "the first has ended: its disk did not hang"
        soon ktracectl list
        expect 0 ktracectl record -q -a -e raw_syscalls:sys_enter -f 'id == 1001' -o other.kts \
                -- "$TARGET" calls 30 1001
        same 30 "$(has other.kts 1001)" "calls"
        fsfreeze -u "$SPOOL_DIR"
        within 20 sh -c "! kill -0 $pid 2>/dev/null" || fail "the session has not ended"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
        ended
        expect 0 ktracectl spool fetch box -o all.kts
        if [ "$(entry state)" = ended ]; then # the disk has answered in time for the first daemon
                within 20 all_accounted || fail "recorded and lost: $(spooled)"
                return
        fi
        # Data that the disk had not taken is lost, which is reported.
        same crashed "$(entry state)" "state"
        [ "$(has all.kts 1000)" -ge 500 ] || fail "$(has all.kts 1000) calls"
        ktracectl report all.kts >all.txt 2>cut || true
        grep -q 'no end frame' cut || fail "not reported as cut: $(cat cut)"
}
# all_accounted: whether all 1000 calls are recorded or counted as lost. The worker may still be writing.
all_accounted() {
        rm -f all.kts
        ktracectl spool fetch box -o all.kts
        [ "$(($(has all.kts 1000) + $(entry lost)))" = 1000 ]
}
another_daemon() { timeout 1 ktracectl status && [ "$(daemon_pid)" != "$1" ]; }
