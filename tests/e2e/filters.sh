# SPDX-License-Identifier: LGPL-2.1-or-later
# Filters: only matching events are recorded, mistakes are shown with their place, and a filter that the kernel refuses
# prevents the start.
SYSCALL='-e raw_syscalls:sys_enter'

# caret COLUMN PATTERN OPTIONS...: the filter is refused with status 2 and a matching reason. The next lines show the
# filter and a caret below this column.
caret() {
        local column=$1 pattern=$2 line
        shift 2
        expect 2 ktracectl record -q -a "$@" -o t.kts -- touch ran
        [ ! -e ran ] || fail "the command ran"
        [ "$(wc -l <err)" = 3 ] || fail "not three lines on stderr: $(cat err)"
        head -n 1 err | matches -E -- "$pattern" || fail "no '$pattern': $(cat err)"
        line=$(tail -n 1 err)
        same "$(printf '%*s^' $((column + 1)) '')" "$line" "the caret"
}

calls() { # FILTER...: options with which 100 of getppid() are all that is recorded of a process
        expect 0 ktracectl record -q "$@" -o t.kts -- "$TARGET" calls 100 110
        same 100 "$(count t.kts '.event == "sys_enter" and .fields.id == 110')" "calls with $*"
        same 0 "$(count t.kts '.fields.id != 110')" "others with $*"
}

case_filter() { # only events that match the filter are recorded
        calls $SYSCALL -f 'id == 110'
        calls $SYSCALL -f "id > 109 && id < 111 && comm == '$(basename "$TARGET")'"
        calls $SYSCALL -f '!(id != 110 || CPU > 1000)'
        # The same event twice: records that match either filter.
        calls $SYSCALL -f 'id == 110' $SYSCALL -f 'id == 9999'
}

case_filter_comforts() { # a filter can use pid, units such as 64k or 10ms, and octal or hexadecimal numbers
        calls $SYSCALL -f 'id==0x6e&&!pid==1'
        calls $SYSCALL -f 'id == 0156 && id < 64k && id < 10ms'
}

case_filter_where() { # --where applies to all events, in addition to their own filters
        calls $SYSCALL -f 'id == 110 || id == 39' -e raw_syscalls:sys_exit --where 'id == 110 && pid != 1'
        same 100 "$(count t.kts '.event == "sys_exit"')" "exits"
        ktracectl create filtered --scope own $SYSCALL --where 'id == 1'
        prints 'id == 1' ktracectl show filtered || fail "show: $(ktracectl show filtered)"
        ktracectl destroy filtered
}

case_filter_mistakes() { # [asan] a mistake in a filter is reported with its column and a caret
        local typed='prev_pid == 1 && nxt_pid == 1'
        caret 18 "sched:sched_switch: -f \"$typed\" column 18: no field \"nxt_pid\"; did you mean next_pid\\?" \
                -e sched:sched_switch -f 'prev_pid == 1 && nxt_pid == 1'
        caret 13 '-f "prev_pid == .* column 13: prev_pid wants a number' -e sched:sched_switch -f 'prev_pid == "sh"'
        caret 11 '-f "prev_comm < .* column 11: < does not fit' -e sched:sched_switch -f 'prev_comm < "sh"'
        caret 4 '--where "id = 3" column 4: filters have no single =' $SYSCALL --where 'id = 3'
        caret 1 '-f "\(id == 3" column 1: this \( has no \)' $SYSCALL -f '(id == 3'
        caret 17 '-f "common_flags == 256" column 17: 256 is out of the range' $SYSCALL -f 'common_flags == 256'
        # One of the two events does not have the field.
        caret 1 'raw_syscalls:sys_enter: --where .* column 1: no field "filename"' \
                $SYSCALL -e sched:sched_process_exec --where 'filename ~ "*"'
}

case_filter_limits() { # a filter of 2 KB is accepted; 10,000 parentheses are refused at once
        local long='id == 110' deep
        while [ ${#long} -lt 2000 ]; do
                long="$long || id == 1000000000000000000"
        done
        calls $SYSCALL -f "$long"
        deep=$(printf '%10000s' '' | tr ' ' '(')
        refused 2 '10000 bytes' ktracectl record $SYSCALL -f "$deep" -o t.kts -- touch ran
        caret 33 'more than 32 nested parentheses' $SYSCALL -f "${deep:0:2000}"
}

case_filter_function() { # a filter can name a function; older kernels refuse it
        if ! at_least 6 3; then
                caret 1 'requires Linux 6.3' -e kmem:kmalloc -f 'call_site.function == schedule'
                expect 2 ktracectl create bad --scope system -e kmem:kmalloc -f 'call_site.function == schedule'
                grep -q 'requires Linux 6.3' err || fail "$(cat err)"
                within 20 no_instance || fail "an instance is left"
                return
        fi
        expect 0 ktracectl record -q -a -e kmem:kmalloc -f 'call_site.function == schedule' -o t.kts -- true
        expect 0 ktracectl record -q -a -e kmem:kmalloc -f "call_site.function == 0x$(symbol schedule)" -o t.kts -- true
}
at_least() { [ "$(printf '%s\n' "$1.$2" "$(uname -r)" | sort -V | head -n 1)" = "$1.$2" ]; }
symbol() { awk -v name="$1" '$3 == name { print $1; exit }' /proc/kallsyms; }

case_filter_the_kernel_refuses() { # if the kernel refuses a filter that passed our check, nothing is recorded
        at_least 6 3 || skip "this kernel has no filters for functions"
        # Only the kernel knows whether a function exists.
        refused 1 'kernel refuses the filter of kmem:kmalloc' \
                ktracectl record -q -a -e kmem:kmalloc -f 'call_site.function == no_such_function_1' -o t.kts \
                -- touch ran
        [ ! -e ran ] || fail "the command ran"
        within 30 no_instance || fail "an instance is left"
        ktracectl create open --scope system $SYSCALL -e kmem:kmalloc -f 'call_site.function == no_such_function_1'
        expect 1 ktracectl start open
        same 0 "$(cat "$TRACEFS"/instances/ktrace-*/events/kmem/kmalloc/enable)" "the event with the bad filter"
        same 0 "$(cat "$TRACEFS"/instances/ktrace-*/events/raw_syscalls/sys_enter/enable)" "the other event"
        same none "$(cat "$TRACEFS"/instances/ktrace-*/events/kmem/kmalloc/filter)" "the filter"
        ktracectl destroy open
}
