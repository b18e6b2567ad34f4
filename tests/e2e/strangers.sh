# SPDX-License-Identifier: LGPL-2.1-or-later
# Another user sees nothing of a session.
MANAGER="org.ktrace1 /org/ktrace1 org.ktrace1.Manager"

case_stranger_sees_no_session() { # other users get "no such session" from list, show, destroy and GetSession
        user ktracectl create mine -e raw_syscalls:sys_enter --scope own
        id=$(session_id mine)
        same '[]' "$(stranger ktracectl list --json=short)" "sessions seen"
        for verb in show stop destroy status; do
                expect 1 stranger ktracectl "$verb" "$id"
                mv err known
                expect 1 stranger ktracectl "$verb" 0123456789abcdef
                same "$(sed "s/$id/ID/" known)" "$(sed 's/0123456789abcdef/ID/' err)" \
                        "answers about a session and about none"
        done
        ! stranger busctl call $MANAGER GetSession s "$id" 2>err || fail "GetSession answered"
        n_instances 1
        user ktracectl destroy mine
}

# no_of_polkit FILE COMMAND...: writes the error to FILE. Fails while polkit is too busy to answer.
no_of_polkit() {
        local file=$1
        shift
        expect 3 "$@"
        mv err "$file"
        ! grep -q 'does not reply' "$file"
}

case_stranger_no_administrator() { # a user whom polkit refuses gets the same error for existing and missing sessions
        user ktracectl create mine -e raw_syscalls:sys_enter --scope own
        id=$(session_id mine)
        expect 3 stranger ktracectl --no-ask-password list --all-users
        ! grep -q "$id" out || fail "listed: $(cat out)"
        for verb in show stop destroy status; do
                within 60 no_of_polkit known stranger ktracectl --no-ask-password "$verb" "$id" --administrator ||
                        fail "$(cat known)"
                within 60 no_of_polkit none stranger ktracectl --no-ask-password "$verb" 0123456789abcdef \
                        --administrator || fail "$(cat none)"
                same "$(cat known)" "$(cat none)" "answers about a session and about none"
        done
        n_instances 1
        # The user's own session does not require polkit.
        user ktracectl --no-ask-password destroy mine --administrator
}

case_stranger_introspects_nothing() { # busctl tree, introspect and get-property show no other user's session
        user ktracectl create mine -e raw_syscalls:sys_enter --scope own
        id=$(session_id mine)
        path=/org/ktrace1/session/$id
        ! prints "$id" stranger busctl tree --list org.ktrace1 || fail "the tree shows it"
        prints "$id" user busctl tree --list org.ktrace1 || fail "the owner's tree does not show it"
        ! stranger busctl introspect org.ktrace1 "$path" org.ktrace1.Session >seen 2>/dev/null ||
                ! grep -q Start seen || fail "introspect shows it"
        for call in "org.ktrace1.Session Describe" "org.ktrace1.Session Stop" "org.ktrace1.Session Destroy" \
                "org.freedesktop.DBus.Properties GetAll s org.ktrace1.Session"; do
                # shellcheck disable=SC2086 # words are wanted
                ! stranger busctl call org.ktrace1 "$path" $call >seen 2>&1 || fail "$call answered: $(cat seen)"
        done
        ! stranger gdbus introspect --system --dest org.ktrace1 --object-path "$path" 2>/dev/null | matches Start ||
                fail "gdbus shows it"
        ! busctl get-property org.ktrace1 /org/ktrace1 org.freedesktop.DBus.ObjectManager x 2>/dev/null ||
                fail "ObjectManager"
        user ktracectl destroy mine
}

case_stranger_hears_nothing() { # [asan] other users receive no signal of a session
        user ktracectl list >/dev/null
        background stranger gdbus monitor --system --dest org.ktrace1
        within 20 grep -q 'is owned by' background.out ||
                fail "the monitor did not run: $(cat background.out background.err)"
        user ktracectl create heard -e raw_syscalls:sys_enter --scope own
        user ktracectl destroy heard
        sleep 0.5
        ! grep -qE 'StateChanged|Ended|/session/' background.out || fail "heard: $(cat background.out)"
}

case_stranger_may_not_take() { # a user can neither trace another user's process nor read another user's stream
        background user setpriv --no-new-privs sleep 60
        refused 3 "$BACKGROUND" stranger ktracectl record -e raw_syscalls:sys_enter -o /dev/null -p "$BACKGROUND"
        user ktracectl create mine -e raw_syscalls:sys_enter --scope own
        expect 1 stranger ktracectl stream "$(session_id mine)"
        user ktracectl destroy mine
}

case_root_sees_all() { # root can use every user's sessions
        user ktracectl create seen -e raw_syscalls:sys_enter --scope own
        id=$(session_id seen)
        ktracectl list --json=short | jq -e ".[] | select(.id == \"$id\")" >/dev/null || fail "root does not see it"
        ktracectl destroy "$id"
        within 20 no_instance || fail "root's destroy did nothing"
}
