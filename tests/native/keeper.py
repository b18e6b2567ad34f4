#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""keeper.py [--losing FILE] [--socket NAME PATH] COMMAND...: runs a daemon as a service manager does: keeps the
descriptors that it sends (sd_notify(3), FDSTORE=1), and when it is killed starts it anew with them at once. When it
fails by itself, as it does while the bus has not yet noticed the end of its predecessor, it is started anew after
0.1 s, five times at most.
SIGTERM ends both, SIGHUP restarts it. What FILE names by then, a name a line, is lost. It listens on the socket at
PATH, and passes it with this name."""
import array
import os
import select
import signal
import socket
import sys
import threading
import time

command = sys.argv[1:]
losing = None
if command[0] == "--losing":
    losing = command[1]
    command = command[2:]
kept = []
if command[0] == "--socket":
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(command[2])
    listener.listen()
    kept.append((command[1], listener.detach()))
    command = command[3:]
pid = 0
is_restart = False
path = b"\0ktrace-keeper-%d" % os.getpid()
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.bind(path)
poll = select.epoll()


def can_be_kept(fd, fields):
    """systemd watches what it keeps, unless it is told not to, and refuses a file that it cannot."""
    if fields.get("FDPOLL") == "0":
        return True
    try:
        poll.register(fd, 0)
        poll.unregister(fd)
    except PermissionError:
        pass
    except OSError as error:
        print("not kept: %s: %s" % (fields.get("FDNAME"), error), file=sys.stderr)
        return False
    return True


def receive():
    while True:
        data, control, _, _ = notify.recvmsg(4096, socket.CMSG_SPACE(64 * 4))
        fields = dict(line.split("=", 1) for line in data.decode().splitlines() if "=" in line)
        fds = array.array("i")
        for level, kind, part in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(part[: len(part) - len(part) % fds.itemsize])
        if "FDSTORE" in fields:
            kept.extend((fields.get("FDNAME", "stored"), fd) for fd in fds if can_be_kept(fd, fields))
        elif "FDSTOREREMOVE" in fields:
            for entry in [e for e in kept if e[0] == fields.get("FDNAME")]:
                kept.remove(entry)
                os.close(entry[1])


def lose():
    if not losing or not os.path.exists(losing):
        return
    with open(losing, encoding="ascii") as file:
        names = file.read().split()
    for entry in [e for e in kept if e[0] in names]:
        kept.remove(entry)
        os.close(entry[1])


def start():
    global pid
    lose()
    entries = list(kept)
    pid = os.fork()
    if pid:
        return
    # Out of the way of those that are passed on.
    high = [os.dup(fd) for _, fd in entries]
    spare = [os.dup2(fd, 200 + i) for i, fd in enumerate(high)]
    for i, fd in enumerate(spare):
        os.dup2(fd, 3 + i, inheritable=True)
    os.closerange(3 + len(entries), 512)
    os.environ["NOTIFY_SOCKET"] = "@" + path[1:].decode()
    if entries:
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(entries)),
                          LISTEN_FDNAMES=":".join(name for name, _ in entries))
    os.execv(command[0], command)


def end(*_):
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)
    os._exit(0)


def restart(*_):
    """As systemctl does (RestartKillSignal=)."""
    global is_restart
    is_restart = True
    os.kill(pid, signal.SIGUSR2)


signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGHUP, restart)
threading.Thread(target=receive, daemon=True).start()
failures = 0
while failures <= 5:
    start()
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        failures += 1
        time.sleep(0.1)
    elif not os.WIFSIGNALED(status) and not is_restart:
        break
    is_restart = False
