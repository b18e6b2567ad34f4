#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# upgrade.sh BUILD-DIR: upgrades to other builds while sessions run, on this machine's kernel, as TAP. The other builds
# are made from a copy of the sources: unoptimized with another version, and with another protocol of the workers. For
# the cases of -H it builds ktracectl of earlier commits, if the history is here. Needs root and tracefs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
UPGRADES=$(mktemp -d)
export UPGRADES
chmod 755 "$UPGRADES"
trap 'rm -rf "$UPGRADES"' EXIT
trap 'exit 130' INT TERM
keep() { # BUILD-DIR NAME
        install -D -t "$UPGRADES/$2" "$1/daemon/manager/ktraced" "$1/daemon/consumer/ktrace-consumer"
}
another() { # NAME
        ninja -C "$UPGRADES/source/build" daemon/manager/ktraced daemon/consumer/ktrace-consumer >"$UPGRADES/log" ||
                { tail -n 20 "$UPGRADES/log"; exit 1; }
        keep "$UPGRADES/source/build" "$1"
}
earlier() { # NAME COMMIT
        git -C "$here/../.." cat-file -e "$2^{commit}" 2>/dev/null || return 0
        mkdir "$UPGRADES/earlier"
        git -C "$here/../.." archive "$2" | tar -C "$UPGRADES/earlier" -x
        meson setup "$UPGRADES/earlier/build" "$UPGRADES/earlier" --prefix=/usr --sysconfdir=/etc --localstatedir=/var \
                --buildtype=plain -Dtests=false >"$UPGRADES/log"
        ninja -C "$UPGRADES/earlier/build" client/ktracectl >"$UPGRADES/log" || { tail -n 20 "$UPGRADES/log"; exit 1; }
        install -D -t "$UPGRADES/$1" "$UPGRADES/earlier/build/client/ktracectl"
        rm -rf "$UPGRADES/earlier"
}
keep "$build" first
mkdir "$UPGRADES/source"
tar -C "$here/../.." --exclude='./build*' --exclude=./.git -c . | tar -C "$UPGRADES/source" -x
sed -i "s/^\( *version : '\)/\1other-/" "$UPGRADES/source/meson.build"
meson setup "$UPGRADES/source/build" "$UPGRADES/source" --prefix=/usr --sysconfdir=/etc --localstatedir=/var \
        --buildtype=plain -Dtests=false >"$UPGRADES/log"
another second
sed -i 's/^\(#define CONTROL_VERSION\) .*/\1 65535/' "$UPGRADES/source/interfaces/control.h"
another other
earlier before-hosts 7509973f^
earlier protocol-1 3060e9b9^ # the first protocol of client/remote/hello.h
earlier protocol-2 20cb217b
KTRACED_JSON='{"setup-timeout-usec": 8000000, "max-prepared-kb": 0}' \
        "$here/stage.sh" "$build" "$here/../e2e/tap.sh" "$here/environment.sh" \
        "$here/../upgrade/cases.sh" "$here/../upgrade/remote.sh"
