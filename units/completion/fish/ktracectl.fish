# SPDX-License-Identifier: LGPL-2.1-or-later
# fish completion for ktracectl(1)

function __ktracectl_ask
    ktracectl --json=off --no-legend --no-pager $argv 2>/dev/null
end

# Sessions by their names, or by their ids where they have none.
function __ktracectl_sessions
    __ktracectl_ask list | while read -l id name state rest
        test $name = - && printf '%s\t%s\n' $id $state || printf '%s\t%s\n' $name $state
    end
end

function __ktracectl_recordings
    __ktracectl_ask spool list | while read -l id name kind state rest
        printf '%s\t%s, %s\n' $id $kind $state
        test $name = - || printf '%s\t%s, %s\n' $name $kind $state
    end
end

function __ktracectl_events
    __ktracectl_ask events
end

function __ktracectl_saved
    __ktracectl_ask saved list | string replace -r ' .*' ''
end

function __ktracectl_probes
    __ktracectl_ask probes list | string replace -r ' .*' ''
end

# Containers of -M.
function __ktracectl_containers
    machinectl list --no-legend --no-pager 2>/dev/null | string match -r '^\S+'
    podman ps --format '{{.Names}}' 2>/dev/null
    docker ps --format '{{.Names}}' 2>/dev/null
end

# The words after a key in a file of ssh's configuration, a line for each.
function __ktracectl_ssh_words --argument-names key file
    string match -rgi "^\s*$key(?:\s*=\s*|\s+)([^#]*)" <$file | string match -ra '"[^"]*"|[^\s"]+' | string trim -c '"'
end

# The files of ssh's configuration: the user's, the machine's, and those that they include. What these include is left
# out. fish expands no pattern in a variable. sh expands the one of an Include, and runs nothing in it.
function __ktracectl_ssh_files
    for main in ~/.ssh/config /etc/ssh/ssh_config
        test -f $main || continue
        set -l dir (string replace -r '/[^/]*$' '' -- $main)
        printf '%s\n' $main
        for pattern in (__ktracectl_ssh_words include $main)
            if string match -q '~/*' -- $pattern
                set pattern ~/(string sub -s 3 -- $pattern)
            else if not string match -q '/*' -- $pattern
                set pattern $dir/$pattern
            end
            command sh -c 'IFS=; for file in $1; do [ ! -f "$file" ] || printf "%s\n" "$file"; done' sh $pattern
        end
    end
end

# Hosts of -H: what ssh's configuration names, and known hosts that are not hashed.
function __ktracectl_hosts
    begin
        for file in (__ktracectl_ssh_files)
            __ktracectl_ssh_words host $file | string match -rv '[*?!]'
        end
        string match -rg '^([^|@#\s\[]\S*)' <~/.ssh/known_hosts | string split ','
    end 2>/dev/null | string match -r '^[A-Za-z0-9._:@%+-]+$'
end

# One host or a list of them, or @FILE.
function __ktracectl_host_words
    set -l word (commandline -ct | string replace -r '^(--host=|-H)' '')
    if string match -q '@*' -- $word
        __fish_complete_path (string sub -s 2 -- $word) | string replace -r '^' @
    else
        set -l before (string match -r '^.*,' -- $word)
        __ktracectl_hosts | string replace -r '^' "$before"
    end
end

function __ktracectl_units
    begin
        systemctl list-units --plain --no-legend
        systemctl --user list-units --plain --no-legend
    end 2>/dev/null | string match -rg '^(\S+\.(?:service|scope|slice))\s'
end

# One of the words is on the command line: a verb, or the second word of one.
function __ktracectl_seen
    __fish_seen_subcommand_from $argv
end

set -l verbs \
    'record|record events into a file' \
    'report|print a recorded trace' \
    'calls|show system calls as strace does' \
    'summary|print the numbers of a recording' \
    'view|show a recording in the browser' \
    'top|show live who makes calls, moves data and waits' \
    'convert|write a recorded trace in another format' \
    'events|list the events that you may use' \
    'list|list your sessions' \
    'status|show the state of ktraced, or of a session' \
    'show|show a session' \
    'create|make a session that stays' \
    'start|start recording' \
    'stop|stop recording' \
    'destroy|end a session' \
    'watch|print what happens to your sessions' \
    'stream|read the stream of a session' \
    'snapshot|read what a flight recorder contains' \
    'last|show what the machine did in the last seconds' \
    'blackbox|keep what all processes did last' \
    'spool|list, fetch and remove recordings on the disk of the machine' \
    'fleet|recordings that ktrace-ship has sent from other machines' \
    'mark|write a line of text among the events of a session' \
    'hist|show a histogram, or count events' \
    'metrics|print the metrics of ktrace-metrics' \
    'set|turn an event of a session on or off, or change its buffer' \
    'clear|drop the contents of the buffer of a session' \
    'probes|define probes, and list them' \
    'saved|sessions that are kept in files' \
    'policy|check the rules, explain what they grant, or reload them' \
    'bootconfig|print the words for the kernel to trace its boot' \
    'verify|check that nothing is left in the kernel' \
    'serve|the far side of -H'

# Verbs (all: each of them), option, letter, values (-: the option takes none), description.
set -l options \
    'all|--json||pretty short off|print listings as JSON' \
    'all|--no-pager||-|do not pipe listings into a pager' \
    'all|--no-ask-password||-|never ask for a password' \
    'all|--no-legend||-|print no headings and no counts' \
    'all|--varlink||-|call ktraced over its own socket, without the bus' \
    'all|--host|H|(__ktracectl_host_words)|trace on other machines, over ssh' \
    'all|--machine|M|(__ktracectl_containers)|trace the processes of a container' \
    'all|--quiet|q|-|print only errors and results' \
    'all|--help|h|-|print help' \
    'all|--version||-|print the version' \
    'record create hist|--event|e|(__ktracectl_events)|this event or glob' \
    'record create hist|--filter|f||only where this holds, for the event before it' \
    'record create|--probe||(__ktracectl_probes)|record this probe' \
    'record create|--off||-|do not record the event before it yet' \
    'record create|--trigger|||what happens at an event' \
    'record create|--where|||only where this holds, for all events' \
    'record create hist|--scope||command own pids: unit: cgroup: system|the processes to trace' \
    'record create hist calls|--all|a|-|the whole system' \
    'record create hist calls|--pid|p|(__fish_complete_pids)|these processes' \
    'record create hist calls|--unit|u|(__ktracectl_units)|the processes of this unit' \
    'record create hist calls|--buffer|b||buffer for each CPU, in kB' \
    'record create|--clock||mono local global boot tai mono_raw counter uptime perf x86-tsc|trace clock' \
    'record create|--mode||stream flight|how the buffer is read' \
    'record create|--lifetime||client linger linger: unit:|when the session ends by itself' \
    'record create|--cpus|||record on these CPUs only' \
    'record create|--stacktrace||-|the stack of the kernel with each event' \
    'record create|--tracer||function function_graph|record functions of the kernel' \
    'record create|--function|||a function for the tracer' \
    'record create|--instance|||read this instance of tracefs' \
    'record create|--share||-|share an instance with other sessions, if possible' \
    'record create|--locked||-|once started, only an administrator can stop it' \
    'record create|--ship||-|let ktrace-ship send it to another machine' \
    'record create|--spool||-|record onto the disk' \
    'record create convert|--compression||zstd none|compression of the data in streams and of a .dat' \
    'record create hist|--unredacted||-|nothing is cut, where the policy allows it' \
    'record create|--spec||file|session spec' \
    'record stream snapshot convert spool fleet last|--output|o|file|write to this file' \
    'record stream snapshot spool fleet|--to||dat text json kts text-wall dat-wall calls|format' \
    'convert last|--to||dat text json kts text-wall dat-wall csv ctf chrome folded speedscope perfetto html calls summary|format' \
    'calls|--output|o|file|write to this file' \
    'metrics|--output|o|file|replace this file, for node_exporter' \
    'calls|--trace|e||only these calls' \
    'calls|--summary-only|c|-|counts, no list' \
    'calls|--summary|C|-|the list and counts' \
    'calls|--summary-sort-by|S|time calls errors name nothing|order of the counts' \
    'calls|--syscall-times|T|-|the time in each call' \
    'last|--since|||this long before now' \
    'last|--pid|p|(__fish_complete_pids)|these processes only' \
    'last|--unit|u|(__ktracectl_units)|this unit only' \
    'blackbox|--preset||light sched calls|which events' \
    'blackbox|--seconds|||how far back' \
    'blackbox|--memory|||for all CPUs together' \
    'blackbox|--persistent|||memory that outlives a crash' \
    'blackbox|--dry-run||-|only print the cost' \
    'record|--flight||-|keep the newest events' \
    'record|--snapshot-on||SIGUSR1 exit|when a snapshot is written' \
    'record|--allow-setuid||-|the command may gain privileges, which ends the trace' \
    'report summary convert stream snapshot|--cpu|||these CPUs only' \
    'report summary convert|--from|||from this time on' \
    'report summary convert|--until|||before this time' \
    'report summary convert|--last|||this long before the end' \
    'report summary convert|--event|||these events only' \
    'report summary convert|--pid|||these threads only' \
    'report convert|--jobs|||print with so many threads' \
    'top|--all|a|-|the whole system' \
    'top|--pid|p|(__fish_complete_pids)|these processes' \
    'top|--unit|u|(__ktracectl_units)|the processes of this unit' \
    'top|--buffer|B||buffer for each CPU, in kB' \
    'top|--batch|b|-|print tables one after the other' \
    'top|--delay|d||seconds between refreshes' \
    'top|--iterations|n||number of refreshes' \
    'top|--by||threads calls devices|table' \
    'top|--sort|||key of a column' \
    'top|--color||auto always never|colours' \
    'summary|--all|a|-|with a command: the whole system' \
    'summary|--by||call thread|rows of system calls' \
    'view|--ui||html perfetto|what shows it' \
    'view|--no-browser||-|only print the address' \
    'convert|--perfetto-compat||-|perfetto for viewers older than v50' \
    'report|--names||auto always never|names of calls, flags, errors and signals' \
    'report|--stats||-|how many print formats were compiled' \
    'report|--wall||-|times of day' \
    'report convert|--raw||-|texts as they were recorded' \
    'report|--receipt||-|who asked for the trace, and which rule allowed it' \
    'events probes|--verbose|v|-|with details' \
    'list spool|--all-users||-|also those of other users, where polkit allows it' \
    'watch|--all-users|a|-|also those of other users, where polkit allows it' \
    'watch|--kind||state ended lost-events snapshot-taken notify guard-fired interference limit-hit notify-failed spool-waits|only these kinds' \
    'show status stop destroy|--administrator||-|also a session of another user, where polkit allows it' \
    'stream|--notify||-|notifications of the session instead of its events' \
    'metrics|--from|||IP address and port, or the path of a socket' \
    'metrics|--openmetrics||-|OpenMetrics instead of Prometheus text' \
    'hist|--key|||count by this field' \
    'hist|--value|||add up this field' \
    'hist|--sort|||order of the rows' \
    'hist|--size|||number of rows' \
    'hist|--latency|||the time between two events' \
    'hist|--by|||a picture for each value of this field' \
    'hist|--bars||-|a bar for each row' \
    'hist|--clear||-|begin again' \
    'hist|--pause||-|stop counting' \
    'hist|--continue||-|count again' \
    'fleet|--config||file|how to reach the broker' \
    'fleet|--replicas|||copies in a cluster' \
    'fleet|--max-bytes|||bytes of the machine' \
    'fleet|--max-age|||older data is removed' \
    'spool|--file|||this file only' \
    'probes|--on||file|at this function, or in this program' \
    'probes|--return||-|when it returns' \
    'probes|--event||(__ktracectl_events)|at this event' \
    'probes|--from||(__ktracectl_events)|from this event' \
    'probes|--to||(__ktracectl_events)|to this event' \
    'probes|--key|||the same field in both' \
    'probes|--raw|||in the syntax of the kernel' \
    'probes|--about|||one line of description' \
    'probes|--usdt||file|the markers of a program, a library or a process' \
    'policy|--user||(__fish_complete_users)|explain for this user' \
    'saved bootconfig blackbox|--config-dir||dir|directory of the configuration' \
    'saved bootconfig blackbox|--lib-dir||dir|directory of the shipped files' \
    'bootconfig|--kernel||file|for another kernel' \
    'bootconfig|--top||-|into the top buffer' \
    'bootconfig|--bootconfig||-|a bootconfig file' \
    'bootconfig|--persistent|||memory that is kept over a crash' \
    'bootconfig|--dump-on-oops||-|a crash dumps the top buffer' \
    'verify|--tracefs||dir|mount point of tracefs'

# The second word of a verb, where it has one.
set -l seconds \
    'last|summary' \
    'blackbox|enable disable status' \
    'fleet|add fetch follow list' \
    'spool|fetch list remove' \
    'saved|list show check run' \
    'policy|check explain reload' \
    'probes|add list load remove resolve show'

set -l names (string replace -r '\|.*' '' $verbs)
complete -c ktracectl -f
for entry in $verbs
    set -l fields (string split '|' $entry)
    complete -c ktracectl -n "not __ktracectl_seen $names" -a $fields[1] -d $fields[2]
end
for entry in $options
    set -l fields (string split '|' $entry)
    set -l arguments -l (string sub -s 3 -- $fields[2]) -d $fields[5]
    test $fields[1] = all || set -a arguments -n "__ktracectl_seen $fields[1]"
    test -z "$fields[3]" || set -a arguments -s $fields[3]
    switch $fields[4]
        case -
        case file
            set -a arguments -r -F
        case dir
            set -a arguments -x -a '(__fish_complete_directories)'
        case '*'
            set -a arguments -x -a $fields[4]
    end
    complete -c ktracectl $arguments
end
for entry in $seconds
    set -l fields (string split '|' $entry)
    complete -c ktracectl -n "__ktracectl_seen $fields[1]; and not __ktracectl_seen $fields[2]" -a $fields[2]
end
complete -c ktracectl -n '__ktracectl_seen show start stop destroy watch stream snapshot mark hist clear status set;
    and not __ktracectl_seen probes saved spool blackbox' -a '(__ktracectl_sessions)'
complete -c ktracectl -n '__ktracectl_seen set' -a 'on off buffer-kb (__ktracectl_events)'
complete -c ktracectl -n '__ktracectl_seen summary; and not __ktracectl_seen last' -a '(__ktracectl_sessions) (__ktracectl_recordings)'
complete -c ktracectl -n '__ktracectl_seen events' -a '(__ktracectl_events)'
complete -c ktracectl -n '__ktracectl_seen spool; and __ktracectl_seen fetch remove' -a '(__ktracectl_recordings)'
complete -c ktracectl -n '__ktracectl_seen saved; and __ktracectl_seen show run check' -a '(__ktracectl_saved)'
complete -c ktracectl -n '__ktracectl_seen probes; and __ktracectl_seen show remove' -a '(__ktracectl_probes)'
complete -c ktracectl -n '__ktracectl_seen report calls summary view convert bootconfig;
    and not __ktracectl_seen last' -F
complete -c ktracectl -n '__ktracectl_seen policy; and __ktracectl_seen check explain' -F
complete -c ktracectl -n '__ktracectl_seen saved; and __ktracectl_seen check' -F
complete -c ktracectl -n '__ktracectl_seen probes; and __ktracectl_seen load' -F
complete -c ktracectl -n '__ktracectl_seen record hist' -a '(__fish_complete_subcommand)'
