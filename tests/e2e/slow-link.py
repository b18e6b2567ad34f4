#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""slow-link.py PORT TO-PORT RATE DELAY CUT: a link between two ports of this machine.

What goes towards TO-PORT takes DELAY seconds and at most RATE bytes a second. Each connection is cut after CUT seconds.
Prints the bytes that it has sent."""
import asyncio
import sys

port, to_port = int(sys.argv[1]), int(sys.argv[2])
rate, delay, cut = float(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5])
sent = 0


async def pass_on(reader, writer, is_slow):
    global sent
    try:
        while data := await reader.read(4096):
            if is_slow:
                await asyncio.sleep(len(data) / rate)
                sent += len(data)
            loop = asyncio.get_running_loop()
            loop.call_later(delay, write, writer, data)
    except OSError:
        pass


def write(writer, data):
    if not writer.is_closing():
        writer.write(data)


async def serve(reader, writer):
    try:
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", to_port)
    except OSError:
        writer.close()
        return
    tasks = [asyncio.create_task(pass_on(reader, to_writer, True)),
             asyncio.create_task(pass_on(to_reader, writer, False))]
    _, running = await asyncio.wait(tasks, timeout=cut, return_when=asyncio.FIRST_COMPLETED)
    for task in running:
        task.cancel()
    print("cut" if len(running) == 2 else "closed", flush=True)
    print("sent", sent, flush=True)
    writer.transport.abort()
    to_writer.transport.abort()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", port)
    print("listening", flush=True)
    async with server:
        await server.serve_forever()

asyncio.run(main())
