# SPDX-License-Identifier: LGPL-2.1-or-later
"""The attacker's hands: what the scripts of the cases share. Nothing here is clever; the order in which a
case calls it is the attack."""
import atexit
import ctypes
import json
import os
import subprocess
import time

import dbus

PR_SET_NO_NEW_PRIVS = 38
ENTER = ["raw_syscalls:sys_enter"]

bus = dbus.SystemBus()
manager = dbus.Interface(bus.get_object("org.ktrace1", "/org/ktrace1"), "org.ktrace1.Manager")


class Session:
    """A session with its stream open; a refusal is an exception."""

    def __init__(self, scope, events=ENTER, **keys):
        spec = {"scope": scope, "events": dbus.Array(events), **keys}
        self.id, self.path = manager.CreateSession(dbus.Dictionary(spec, signature="sv"))
        self.verbs = dbus.Interface(bus.get_object("org.ktrace1", self.path), "org.ktrace1.Session")
        self.stream = self.verbs.OpenStream(dbus.Dictionary(signature="sv")).take()

    def start(self):
        self.verbs.Start()

    def listen(self):
        """Hears what the session tells on its own. Returns what gives the hits of its triggers so far."""
        monitor = subprocess.Popen(["ktracectl", "--json", "stream", self.id, "--notify"],
                                   stdout=open("notices", "w"), stderr=open("notices.err", "w"))
        wait_for_text("notices.err", "waiting")
        atexit.register(monitor.kill)
        return lambda: sum(json.loads(line).get("count", 0) for line in open("notices"))

    def stop(self):
        self.verbs.Stop()

    def save(self, path="t.kts"):
        """Whatever the attacker is given, whether or not the session still lives."""
        try:
            self.verbs.Destroy()
        except dbus.DBusException as e:
            print("Destroy:", e)
        with open(path, "wb") as out:
            while data := os.read(self.stream, 65536):
                out.write(data)


def triggers(*list):
    """As the spec takes them."""
    return dbus.Array([dbus.Dictionary({k: v if isinstance(v, (str, int)) else dbus.Array(v, signature="s")
                                        for k, v in t.items()}, signature="sv") for t in list], signature="a{sv}")


class Flight(Session):
    """A flight recorder, of which a snapshot is taken."""

    def __init__(self, scope, events=ENTER, **keys):
        spec = {"scope": scope, "events": dbus.Array(events), "mode": "flight", **keys}
        self.id, self.path = manager.CreateSession(dbus.Dictionary(spec, signature="sv"))
        self.verbs = dbus.Interface(bus.get_object("org.ktrace1", self.path), "org.ktrace1.Session")
        self.stream = os.open(os.devnull, os.O_RDONLY)

    def take(self, path):
        self.stream = self.verbs.Snapshot(dbus.Dictionary(signature="sv")).take()
        with open(path, "wb") as out:
            while data := os.read(self.stream, 65536):
                out.write(data)

    def save(self, path="t.kts"):
        open(path, "wb").close()
        attempt(lambda: self.take(path))
        attempt(self.verbs.Destroy)


class Process:
    """A child that waits for go(), then becomes argv."""

    def __init__(self, argv, no_new_privs=True):
        read, self.write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.write)
            if no_new_privs:
                ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            os.read(read, 1)
            os.execvp(argv[0], argv)
        os.close(read)

    def go(self):
        os.write(self.write, b"x")

    def wait(self):
        return os.waitpid(self.pid, 0)[1]

    def settle(self):
        """It has ended, and its number is still its own."""
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)

    def run(self):
        self.go()
        return self.wait()


def attempt(verb):
    """A step that the daemon may refuse while the attack goes on."""
    try:
        verb()
    except dbus.DBusException as e:
        print("refused:", e)


def patiently(verb):
    """The verb's answer. It is called again while the daemon asks the user to wait."""
    for _ in range(30):
        try:
            return verb()
        except dbus.DBusException as e:
            if "wait a second" not in str(e):
                raise
            pause(1)
    return verb()


def pause(seconds):
    time.sleep(seconds)


def wait_for(path, seconds=60):
    end = time.monotonic() + seconds
    while not os.path.exists(path) and time.monotonic() < end:
        time.sleep(0.02)


def wait_for_text(path, text, seconds=60):
    end = time.monotonic() + seconds
    while text not in open(path).read() and time.monotonic() < end:
        time.sleep(0.02)
