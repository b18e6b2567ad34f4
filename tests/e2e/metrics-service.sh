# SPDX-License-Identifier: LGPL-2.1-or-later
# The functions of the cases that start ktrace-metrics themselves, in addition to vocabulary.sh. The service runs as its
# own user. METRICS is its program.

# set_of NAME METRIC...: writes the set NAME with these metrics (JSON) into the configuration.
set_of() {
        local name=$1
        shift
        mkdir -p "$CONFIG_DIR/metrics.d"
        printf '%s\n' "$@" | jq -s '{description: "a test", metrics: .}' >"$CONFIG_DIR/metrics.d/$name.json"
}
# settings SETS [JSON]: switches the sets on (a list of JSON), with more keys.
settings() {
        N_SETS=$(echo "$1" | jq length)
        jq -n --argjson sets "$1" --argjson more "${2:-{\}}" '{sets: $sets, interval: "1s"} + $more' \
                >"$CONFIG_DIR/ktrace-metrics.json"
}
# serve: starts the service and waits for its first numbers. Its pid is in $SERVICE, its port in $PORT.
serve() {
        choose_sockets
        start_service
}
# choose_sockets: where the service of this case will listen.
choose_sockets() {
        trap metrics_end EXIT
        DOOR=$T.metrics
        install -d -o "$METRICS_UID" "$DOOR"
        PORT=$(free_port)
}
start_service() {
        background as "$METRICS_UID" "$METRICS" --config-dir="$CONFIG_DIR" --lib-dir="$LIB_DIR" \
                --listen="$DOOR/metrics" --listen="127.0.0.1:$PORT"
        SERVICE=$BACKGROUND
        within 30 counts_all || fail "no numbers: $(cat background.err); $(grep '^ktrace_' scraped)"
}
# counts_all: whether all sets are read.
counts_all() {
        scrape && [ "$(grep -c '^ktrace_metrics_up{.*} 1$' scraped)" = "$N_SETS" ]
}
SERVICE=
metrics_end() {
        local probe
        kill -KILL "$SERVICE" || true # or it would replace the sessions
        wait "$SERVICE" || true
        rm -rf "$CONFIG_DIR/ktrace-metrics.json" "$CONFIG_DIR/metrics.d" "$CONFIG_DIR/probes.d" \
                "$CONFIG_DIR/policy.d/10-test.json" "$DOOR"
        ktracectl policy reload || true
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        within 20 no_instance || true # they are removed after the answer
        for probe in $(ktracectl --json probes list | jq -r '.[] | select(.uid != null) | .event' || true); do
                within 10 ktracectl probes remove "$probe" || true
        done
        leave_case
}
# scrape [OPTION...]: the numbers are in ./scraped.
scrape() { ktracectl metrics --from="$DOOR/metrics" >scraped; }
# number PATTERN: the value of the one line of ./scraped that begins with the text.
number() { awk -v head="$1 " 'index($0, head) == 1 { print substr($0, length(head) + 1) }' scraped; }
# shows HEAD VALUE: whether the service serves this value now.
shows() { scrape && [ "$(number "$1")" = "$2" ]; }
# becomes HEAD VALUE: waits for it. In the guest, a reading of two sets can take ten seconds.
becomes() { within 60 shows "$1" "$2" || fail "$1: $(number "$1"), not $2: $(grep -v '^#' scraped | head -n 40)"; }
# have PROGRAM...: skips the case where they are not installed.
have() {
        local program
        for program in "$@"; do command -v "$program" >/dev/null || skip "$program is not installed"; done
}
