# SPDX-License-Identifier: LGPL-2.1-or-later
# Files that root's ktracectl writes into a directory of another user, who attacks: $T is the user's, $OWN is root's.
EXECS='-e sched:sched_process_exec'

outputs_begin() {
        trap outputs_end EXIT
        OWN=$T.door
        install -d -m 755 "$OWN"
        echo secret >"$OWN/secret"
        chmod 600 "$OWN/secret"
}
outputs_end() {
        ktracectl spool list --json=short | jq -r '.[] | select(.name == "outputs") | .id' |
                xargs -r ktracectl spool remove || true
        leave_case
}
# The target of the attacks is unchanged, and the directory has no new file.
unharmed() {
        same secret "$(cat "$OWN/secret")" "root's file"
        same secret "$(ls -A "$OWN")" "root's directory"
}
# no_output COMMAND...: the command is refused and does not follow the file at its output name.
no_output() {
        refused 1 "${SAID:-symbolic link}" "$@"
        unharmed
}

# recorder: makes a flight recorder of root, a recording on disk that has ended, and a file to convert.
recorder() {
        expect 0 ktracectl record -q $EXECS -o "$T/t.dat" -- true
        echo '{"spool": {"rotate-bytes": 262144}}' >spec.json
        ktracectl create outputs --spec spec.json --scope system $EXECS
        ktracectl start outputs
        true
        ktracectl destroy outputs
        within 20 sh -c "ktracectl spool list --json=short | jq -e 'all(.state == \"ended\")'" ||
                fail "the session has not ended"
        id=$(ktracectl spool list --json=short | jq -r '.[] | select(.name == "outputs") | .id')
        ktracectl create box --mode flight --scope system -b 256 $EXECS
        ktracectl start box
        ktracectl create events --scope system -b 256 $EXECS
}
# each_output PATH: tries every command that writes a file, with this path.
each_output() {
        no_output ktracectl record -q $EXECS -o "$1" --to kts -- true
        no_output ktracectl record -q $EXECS -o "$1" --to dat -- true
        no_output ktracectl record -q --flight $EXECS -o "$1" --to kts -- true
        no_output ktracectl stream events -o "$1" --to kts
        no_output ktracectl snapshot box -o "$1" --to kts
        no_output ktracectl convert t.dat --to text -o "$1"
        no_output ktracectl spool fetch "$id" -o "$1" --to kts
        no_output ktracectl spool fetch "$id" -o "$1" --to json
}

# The recorder runs already.
two_run() { ktracectl list --json=short | jq -e 'map(select(.state == "running")) | length == 2'; }

case_outputs_links() { # output files of root do not follow a user's symbolic links
        outputs_begin
        recorder
        user ln -s "$OWN/secret" link.kts
        user ln -s "$OWN/planted" nowhere.kts
        user ln -s "$OWN" dir.kts
        each_output link.kts
        each_output nowhere.kts
        each_output "$T/dir.kts/planted"
        user mkdir in
        for name in $(ktracectl spool list --json=short | jq -r ".[] | select(.id == \"$id\") | .files[].name"); do
                user ln -s "$OWN/secret" "in/$id-$name"
        done
        no_output ktracectl spool fetch "$id" -o in
        no_output ktracectl spool fetch "$id" -o dir.kts
        # The names of numbered snapshots are chosen later.
        user ln -s "$OWN/planted" f.1.kts
        recording ktracectl record --flight --snapshot-on SIGUSR1 -a $EXECS -o f.kts
        within 30 two_run || fail "the recording did not start: $(cat background.err)"
        kill -USR1 "$RECORDING"
        within 20 grep -q 'f.kts: ' background.err || fail "no first snapshot: $(cat background.err)"
        kill -USR1 "$RECORDING"
        within 20 grep -q 'f.1.kts: .*symbolic link' background.err || fail "not refused: $(cat background.err)"
        kill -INT "$RECORDING"
        wait "$RECORDING" || true
        unharmed
        ktracectl destroy box events
}

case_outputs_special() { # root does not write to a FIFO of a user, but does in an own directory
        outputs_begin
        recorder
        user mkfifo -m 666 pipe.kts
        background user sh -c 'exec cat pipe.kts >"$HOME/stolen"'
        SAID='FIFO' each_output pipe.kts
        kill "$BACKGROUND"
        [ ! -s stolen ] || fail "root's recording was read"
        mkfifo -m 600 "$OWN/pipe"
        cat "$OWN/pipe" >read.txt &
        reader=$!
        expect 0 ktracectl convert t.dat --to text -o "$OWN/pipe"
        wait "$reader"
        cat "$OWN/pipe" >recorded.txt &
        reader=$!
        expect 0 ktracectl record -q $EXECS -o "$OWN/pipe" -- /bin/true
        wait "$reader"
        rm "$OWN/pipe"
        grep -q sched_process_exec read.txt || fail "nothing of convert"
        grep -q sched_process_exec recorded.txt || fail "nothing of record"
        expect 0 ktracectl record -q $EXECS -o /dev/null -- true
        expect 0 ktracectl record -q $EXECS -o /dev/stdout -- true
        grep -q sched_process_exec out || fail "nothing on /dev/stdout"
        unharmed
        ktracectl destroy box events
}

case_outputs_private() { # files that root writes are private, even if a user has prepared or opened the name
        outputs_begin
        recorder
        umask 022
        expect 0 ktracectl record -q $EXECS -o new.kts -- true
        expect 0 ktracectl snapshot box -o snapshot.kts
        expect 0 ktracectl convert t.dat -o converted.txt
        expect 0 ktracectl spool fetch "$id" -o fetched.kts
        expect 0 ktracectl spool fetch "$id" -o fetched.json
        mkdir -m 755 in
        expect 0 ktracectl spool fetch "$id" -o in
        same '' "$(find . -regex '.*\.\(kts\|txt\|json\|dat\)' ! -name spec.json -perm /077)" "what others may read"
        user sh -c 'for file in new.kts t.dat in/*; do ! cat $file || exit 1; done' 2>/dev/null ||
                fail "a user reads it"
        # An older file of root that a user has open and has linked.
        install -m 644 /dev/null old.kts
        ln old.kts second.kts
        exec 7<old.kts
        expect 0 ktracectl record -q $EXECS -o old.kts -- true
        [ -s old.kts ] && [ ! -s second.kts ] && [ -z "$(cat <&7)" ] || fail "the older file was written to"
        same 600 "$(stat -c %a old.kts)" mode
        # A hard link to a file of root, if the kernel allows it, and an own file of the user.
        ln "$OWN/secret" hard.kts
        expect 0 ktracectl record -q $EXECS -o hard.kts -- true
        user install -m 666 /dev/null theirs.kts
        SAID='another user' no_output ktracectl record -q $EXECS -o theirs.kts -- true
        SAID='another user' no_output ktracectl convert t.dat -o theirs.kts
        same 0 "$(stat -c %s theirs.kts)" "the user's file"
        ktracectl destroy box events
}

case_outputs_exchanged() { # exchanging a directory during a recording does not redirect root's output
        outputs_begin
        local to
        for to in kts dat; do
                user mkdir "dir$to"
                recording ktracectl record -a $EXECS -o "$T/dir$to/planted.$to"
                user sh -c "mv dir$to away$to; ln -s $OWN dir$to"
                ends_well
                [ -s "away$to/planted.$to" ] || fail "nothing where the directory is now"
                # A link appears at the name when the file is renamed.
                recording ktracectl record -a $EXECS -o "t$to.$to"
                within 30 recorded 1 || fail "it records nothing"
                user sh -c "rm -f t$to.$to; ln -s $OWN/planted t$to.$to"
                kill -INT "$RECORDING"
                wait "$RECORDING" || true
                unharmed
        done
        # A file that could not be renamed is kept under another name.
        [ -s tdat.dat.kts ] || fail "lost: $(cat background.err)"
}

case_report_of_a_pipe() { # report of a FIFO without a writer can be interrupted by ^C
        mkfifo pipe
        python3 - <<'EOS'
import os, pty, signal, subprocess, time
def is_waiting(pid):
        with open(f"/proc/{pid}/wchan") as wchan, open(f"/proc/{pid}/stat") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0] == "S"
def interrupt(pid, how):
        for _ in range(200):
                if is_waiting(pid): break
                time.sleep(0.02)
        time.sleep(0.2)
        how()
        for _ in range(200):
                done, status = os.waitpid(pid, os.WNOHANG)
                if done: return os.waitstatus_to_exitcode(status)
                time.sleep(0.02)
        raise SystemExit("it still waits")
for arguments in (["report", "pipe"], ["convert", "pipe", "--to", "text"], ["report", "pipe", "pipe"]):
        pid = os.fork()
        if pid == 0:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                os.execvp("ktracectl", ["ktracectl"] + arguments)
        assert interrupt(pid, lambda: os.kill(pid, signal.SIGINT)) == -signal.SIGINT
        pid, terminal = pty.fork()
        if pid == 0: os.execvp("ktracectl", ["ktracectl"] + arguments)
        assert interrupt(pid, lambda: os.write(terminal, b"\x03")) == -signal.SIGINT
        os.close(terminal)
EOS
}

case_outputs_older_stays() { # an older output file is kept until a complete new one replaces it
        outputs_begin
        recorder
        cp t.dat old.kts
        keeps() {
                "$@" >/dev/null 2>keeps.err && fail "not refused: $*"
                cmp -s t.dat old.kts || fail "the older file is gone: $*: $(cat keeps.err)"
        }
        keeps ktracectl record -q $EXECS -o old.kts -- /nonexistent
        # Create accepts this filter, and the kernel refuses it at the start (or create does, before Linux 6.3).
        keeps ktracectl record -q -a -e kmem:kmalloc -f 'call_site.function == no_such_function_1' -o old.kts
        keeps ktracectl stream box -o old.kts # it is a flight recorder
        keeps ktracectl snapshot events -o old.kts
        keeps ktracectl spool fetch "$id" --file nothing -o old.kts
        expect 0 ktracectl spool fetch "$id" -o old.kts
        expect 0 ktracectl report old.kts
        # A reader of the file sees it grow.
        rm old.kts
        recording ktracectl record -a $EXECS -o old.kts
        within 30 test -s old.kts || fail "not seen while it grows: $(cat background.err)"
        kill -INT "$RECORDING"
        wait "$RECORDING" || true
        ktracectl destroy box events
}
