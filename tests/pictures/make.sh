#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# make.sh BUILD-DIR: makes the pictures of README.md, in man/pictures. An ordinary user runs a small script with three
# jobs that wait for one lock: calls.svg shows what a terminal prints about it, page.png the page of its recording.
# Needs what the native tests need, Chromium and node.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
pictures=$here/../../man/pictures
[ -n "${NATIVE:-}" ] || exec "$here/../native/stage.sh" "$1" "$0" "$1"
browser=$(command -v chromium-headless-shell || command -v chromium)

user() { setpriv --reuid=61000 --regid=61000 --clear-groups "$@"; }

# terminal COMMAND...: runs the commands, and prints them with their output.
terminal() {
        for command; do
                echo "\$ $command"
                user bash -c "$command" 2>&1
                echo
        done
}

# draw: makes an SVG of the text on standard input. Each line is a text element; a command is bold.
draw() {
        expand | sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/>/\&gt;/g' -e '$d' | awk '
                {
                        line[NR] = $0
                        text = $0
                        gsub(/&[a-z]*;/, ".", text)
                        if (length(text) > columns)
                                columns = length(text)
                }
                END {
                        # A character is 0.6 of its size wide; some fonts are a little wider.
                        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-size=\"14\"\n" \
                                "font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" fill=\"#1c2128\">\n" \
                                "<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#f6f7f9\"/>\n",
                                columns * 8.7 + 32, NR * 20 + 24
                        for (i = 1; i <= NR; i++)
                                printf "<text x=\"16\" y=\"%d\" style=\"white-space:pre\"%s>%s</text>\n", i * 20 + 10,
                                        line[i] ~ /^\$ / ? " font-weight=\"bold\"" : "", line[i]
                        print "</svg>"
                }'
}

mkdir "$NATIVE/work/backup"
cd "$NATIVE/work/backup"
cat >backup.sh <<'END'
#!/bin/sh
for name in mail web home; do
        flock --no-fork backup.lock gzip -c $name.log >$name.log.gz &
done
wait
END
chmod +x backup.sh
for name in mail web home; do
        seq 400000 >$name.log
done
chown -R 61000:61000 .

mkdir -p "$pictures"
terminal 'cat backup.sh' 'ktracectl calls -T -e flock -- ./backup.sh' \
        "ktracectl summary -- ./backup.sh | grep -A 4 'System calls'" | draw >"$pictures/calls.svg"
user ktracectl record -q -e 'syscalls:*' -e 'sched:sched_process_e*' -o backup.kts -- ./backup.sh
ktracectl convert backup.kts --to html -o backup.html
node "$here/page.js" "$browser" backup.html flock "$pictures/page.png"
