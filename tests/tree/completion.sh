#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# completion.sh SOURCE-DIR: what bash and fish offer for words with a second verb in them, beside a ktracectl that has
# two recordings and a saved session. No name that they could offer is run.
set -u
# With a mount namespace it has an /etc/ssh of its own.
if [ -z "${OWN_SSH:-}" ] && [ -d /etc/ssh ] && unshare -rm true 2>/dev/null; then
        OWN_SSH=1 exec unshare -rm "$0" "$@"
fi
folder=$(mktemp -d)
home=$(mktemp -d)
trap 'rm -rf "$folder" "$home"' EXIT
cat >"$folder/ktracectl" <<'END'
#!/bin/sh
if [ -n "${EVIL:-}" ]; then # each list has a name that a shell could run
        # shellcheck disable=SC2016
        printf 'evil$(touch${IFS}%s/pwned)' "$FOLDER"
        case "$*" in
        *events) echo ;;
        *) echo ' - - - -' ;;
        esac
        exit
fi
case "$*" in
*'spool list') printf '0123456789abcdef web  session ended 0\nfedcba9876543210 -    boot    ended 0\n' ;;
*'saved list') printf 'early flight system /etc/ktrace/sessions.d/early.json -\n' ;;
*'probes list') printf 'file_open ready\n' ;;
*list) printf '1111111111111111 box running 0\n' ;;
esac
END
chmod +x "$folder/ktracectl"
touch "$folder/rules.json"
mkdir "$home/.ssh"
cat >"$home/.ssh/config" <<'END'
Host web1 web2
        User root
Host *.example !db
Host="web 3" "web4" # web5
Include conf.d/*.conf ~/more /no/such/file
Include pipe
END
mkdir "$home/.ssh/conf.d" "$home/etc-ssh"
mkfifo "$home/.ssh/pipe" # it is no file, and would be waited for
printf 'Host web6\nInclude more.conf\n' >"$home/.ssh/conf.d/a.conf"
echo 'Host web7' >"$home/.ssh/more.conf" # only an included file includes it
echo 'host web8' >"$home/more"
printf 'Include ssh.d/*\nHost web9\n' >"$home/etc-ssh/ssh_config"
mkdir "$home/etc-ssh/ssh.d"
echo 'Host web10' >"$home/etc-ssh/ssh.d/10.conf"
machine=()
if [ -n "${OWN_SSH:-}" ]; then
        mount --bind "$home/etc-ssh" /etc/ssh
        machine=(web9 web10)
fi
cat >"$home/.ssh/known_hosts" <<'END'
db1,192.0.2.1 ssh-ed25519 AAAA
|1|aGFzaA==|aGFzaA== ssh-ed25519 AAAA
[db2]:2222 ssh-ed25519 AAAA
END
# shellcheck disable=SC2016
printf 'evil$(touch${IFS}%s/pwned) ssh-ed25519 AAAA\n' "$folder" >>"$home/.ssh/known_hosts"
# shellcheck disable=SC2016
printf 'Host evil$(touch${IFS}%s/pwned)\nInclude evil$(touch${IFS}%s/pwned) `touch${IFS}%s/pwned`*\n' "$folder" \
        "$folder" "$folder" >>"$home/.ssh/config"
# shellcheck disable=SC2016
echo 'Host web11' >"$home/.ssh/conf.d/"'$(touch${IFS}$FOLDER${HOME:0:1}pwned).conf'
printf '#!/bin/sh\n[ -z "${EVIL:-}" ] || echo '\''evil$(touch${IFS}%s/pwned).service'\''\n' "$folder" >"$home/systemctl"
chmod +x "$home/systemctl"
export FOLDER=$folder
PATH=$folder:$home:$PATH
cd "$folder" || exit 1
source "$1/units/completion/bash/ktracectl"
unset -f _get_comp_words_by_ref __ltrim_colon_completions 2>/dev/null
COMP_WORDBREAKS=' ' # as fish has it
fish=
! command -v fish >/dev/null || fish=$1/units/completion/fish/ktracectl.fish
n=0
failed=0

# compare SHELL LINE EXPECTED WORDS...: one TAP line; the words are sorted first.
compare() {
        local shell=$1 line=$2 expected=$3 got
        shift 3
        got=$(printf '%s\n' "$@" | LC_ALL=C sort | xargs)
        n=$((n + 1))
        [ "$got" != "$expected" ] || { echo "ok $n - $shell: $line"; return; }
        failed=1
        echo "not ok $n - $shell: $line"
        echo "# offered: $got"
}

# complete_bash LINE: COMPREPLY is what bash offers at its end.
complete_bash() {
        read -ra COMP_WORDS <<<"$1"
        [[ $1 != *' ' ]] || COMP_WORDS+=('')
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        COMP_LINE=$1
        COMP_POINT=${#1}
        HOME=$home _ktracectl
}

# offers LINE WORDS: what is offered at the end of the line, sorted.
offers() {
        complete_bash "$1"
        compare bash "$1" "$2" "${COMPREPLY[@]}"
        if [ -z "$fish" ]; then
                echo "ok $((n += 1)) - fish: $1 # SKIP no fish here"
                return
        fi
        mapfile -t words < <(HOME=$home fish --no-config -c "source $fish; complete -C '$1'" 2>&1 | cut -f1)
        compare fish "$1" "$2" "${words[@]}"
}

# runs_nothing LINE: no name is run when the line is completed.
runs_nothing() {
        EVIL=1 complete_bash "$1"
        [ -z "$fish" ] || HOME=$home EVIL=1 fish --no-config -c "source $fish; complete -C '$1'" >/dev/null 2>&1
        n=$((n + 1))
        [ -e "$folder/pwned" ] || { echo "ok $n - $1: runs no name"; return; }
        failed=1
        echo "not ok $n - $1: a name was run"
        rm "$folder/pwned"
}

offers 'ktracectl spo' 'spool'
offers 'ktracectl status ' 'box'
offers 'ktracectl -H web' "$(printf '%s\n' web1 web2 web4 web6 web8 web11 "${machine[@]}" | LC_ALL=C sort | xargs)"
offers 'ktracectl list --host db' 'db1'
offers 'ktracectl -H db1,web2' 'db1,web2'
offers 'ktracectl list --host db1,web1,db' 'db1,web1,db1'
offers 'ktracectl -H @ru' '@rules.json'
# As in an interactive bash, which keeps what stands before a word break.
COMP_WORDBREAKS=' @:' complete_bash 'ktracectl -H db1,root@web2'
compare bash 'ktracectl -H db1,root@web2 with word breaks' 'web2' "${COMPREPLY[@]}"
mkdir trace-folder
complete_bash 'ktracectl -H a,b record -o '
compare bash 'ktracectl -H a,b record -o' 'trace-folder' "${COMPREPLY[@]}"
rmdir trace-folder
offers 'ktracectl fleet ' 'add fetch follow list'
offers 'ktracectl spool ' 'fetch list remove'
offers 'ktracectl spool fetch ' '0123456789abcdef fedcba9876543210 web'
offers 'ktracectl spool remove web ' '0123456789abcdef fedcba9876543210 web'
offers 'ktracectl spool list ' ''
offers 'ktracectl blackbox ' 'disable enable status'
offers 'ktracectl blackbox status ' ''
offers 'ktracectl last ' 'summary'
offers 'ktracectl saved ' 'check list run show'
offers 'ktracectl --varlink saved run ' 'early'
offers 'ktracectl saved check ' 'early ktracectl rules.json'
offers 'ktracectl policy ' 'check explain reload'
offers 'ktracectl policy explain ' 'ktracectl rules.json'
offers 'ktracectl probes remove ' 'file_open'
offers 'ktracectl create x --lifetime ' 'client linger linger: unit:'
# Not less: fish 4 also offers words that have these letters in this order.
offers 'ktracectl bootconfig --pers' '--persistent'
for line in '-H' 'status' 'destroy' 'set' 'set evil' 'record -e' 'events' 'record --probe' 'probes remove' 'record -u' \
        'spool fetch' 'saved run' 'saved check' 'summary'; do
        runs_nothing "ktracectl $line evil"
done
echo "1..$n"
exit $failed
