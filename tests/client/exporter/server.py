# SPDX-License-Identifier: LGPL-2.1-or-later
"""A running metrics-serve (serve.c), for the tests of the outputs."""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, program, *options):
        self.folder = tempfile.TemporaryDirectory()
        self.port = free_port()
        self.path = os.path.join(self.folder.name, "private")
        self.report = os.path.join(self.folder.name, "report")
        command = [program, f"--listen=127.0.0.1:{self.port}", f"--listen={self.path}", f"--report={self.report}"]
        self.process = subprocess.Popen([*command, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("metrics-serve does not start")

    def order(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def counts(self):
        """The counts of the push."""
        return {name: int(number) for name, number in (pair.split("=") for pair in self.order("counts").split())}

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def connect(self, path=None):
        """A connection to the port, or to a UNIX socket."""
        if not path:
            return socket.create_connection(("127.0.0.1", self.port), timeout=15)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(15)
        connection.connect(path)
        return connection

    def end(self):
        """Returns the exit status."""
        self.process.stdin.close()
        status = self.process.wait(timeout=15)
        self.process.stdout.close()
        self.folder.cleanup()
        return status


def wait_until(condition, seconds=10):
    """Returns whether the condition became true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def read_all(connection):
    """What the other side sends until it closes the connection, however it does."""
    data = b""
    try:
        while part := connection.recv(65536):
            data += part
    except ConnectionError:
        pass
    return data
