# SPDX-License-Identifier: LGPL-2.1-or-later
# Probes: what is told of functions, what a definition records, and that nothing of them is left.

case_probes_resolve() { # signature and what can be taken, by the kernel's types; mistakes with near names
        expect 0 ktracectl probes resolve tcp_sendmsg
        grep -qF 'int tcp_sendmsg(struct sock *sk, struct msghdr *msg, size_t size)' out || fail "$(cat out)"
        grep -qE '^  sk\.__sk_common\.skc_dport +(__be16|unsigned short)$' out || fail "no dport"
        grep -qE '^  \$retval +int$' out || fail "no \$retval"
        expect 1 ktracectl probes resolve tcp_sendmsgs
        grep -q 'did you mean.*tcp_sendmsg' err || fail "$(cat err)"
        expect 1 ktracectl probes resolve no_function_is_called_like_this
        grep -q 'inlined' err || fail "$(cat err)"
        expect 2 ktracectl probes resolve 'tcp sendmsg'
}

case_probes_denied() { # who may not define probes learns nothing of functions, existing or not
        expect 3 user ktracectl probes resolve tcp_sendmsg
        cp err first
        expect 3 user ktracectl probes resolve no_function_is_called_like_this
        same "$(cat first)" "$(cat err)" "the words"
}
