# SPDX-License-Identifier: LGPL-2.1-or-later
"""Connections and sessions."""

from __future__ import annotations

import asyncio
import json
import select
import threading
from ctypes import byref, c_void_p
from typing import Any, AsyncIterator, Callable, Iterator, TypeVar

from ._library import ALL_USERS, VARLINK, Error, ask, check, encode, fetch_json, lib, make, take_json
from ._reader import Reader, Record

T = TypeVar("T")
Spec = dict[str, Any]

_LOOK_SECONDS = 1.0  # how soon a watch notices that another thread has read its notices, or has closed the connection


async def _in_thread(function: Callable[[], T]) -> T:
    """Runs a call that may block. Neither the loop nor the end of the program waits for it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(setter: Callable[[Any], None], outcome: Any) -> None:
        if not future.done():  # else it was cancelled
            setter(outcome)

    def run() -> None:
        setter: Callable[[Any], None] = future.set_result
        try:
            outcome: Any = function()
        except BaseException as error:  # it is raised where the result is awaited
            setter, outcome = future.set_exception, error
        try:
            loop.call_soon_threadsafe(settle, setter, outcome)
        except RuntimeError:
            pass  # the loop is closed

    threading.Thread(target=run, daemon=True).start()
    return await future


class Connection:
    """A connection to ktraced, which is started if necessary. A context manager.

    varlink: over ktraced's own socket; otherwise over the system bus. timeout: seconds that a call may wait for its
    answer; after that it raises Error with errno ETIMEDOUT. Threads may share a connection: one call at a time is made.
    """

    _connection: c_void_p | None = None

    def __init__(self, *, varlink: bool = False, timeout: float = 120) -> None:
        self._lock = threading.RLock()
        self._sessions: set[int] = set()  # their addresses; none of them outlives the connection
        self._connection = make(lib.open, VARLINK if varlink else 0)
        lib.set_timeout(self._connection, max(1, int(timeout * 1e6)))

    def close(self) -> None:
        """Ends the sessions that were created over it and have lifetime `client`, which is the default."""
        with self._lock:
            if self._connection:
                while self._sessions:
                    lib.session_free(self._sessions.pop())
                lib.close(self._connection)
                self._connection = None

    def __del__(self) -> None:
        if self._connection:
            self.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _get(self) -> c_void_p:
        if not self._connection:
            raise ValueError("the connection is closed")
        return self._connection

    def call(self, method: str, arguments: Spec | None = None, session: str | None = None) -> Any:
        """Calls a method of org.ktrace1(5) that returns no descriptor, and returns its results by name, or None.

        session: an id, for methods of sessions.
        """
        with self._lock:
            return fetch_json(
                lib.call,
                self._get(),
                None if session is None else encode(session),
                encode(method),
                None if arguments is None else json.dumps(arguments).encode(),
            )

    def check(self, spec: Spec) -> dict[str, Any]:
        """Says what ktraced would do with this spec (ktrace-session(5)), and why not."""
        with self._lock:
            answer: dict[str, Any] = fetch_json(lib.check, self._get(), json.dumps(spec).encode())
            return answer

    def create(self, spec: Spec) -> Session:
        """Makes a session as the spec describes it (ktrace-session(5)). It is started by start()."""
        with self._lock:
            return self._add(make(lib.create, self._get(), json.dumps(spec).encode()))

    def find(self, name: str) -> Session:
        """Finds a session by its id or its name."""
        with self._lock:
            return self._add(make(lib.find, self._get(), encode(name)))

    def watch(self, *, all_users: bool = False) -> Watch:
        """What happens to the caller's sessions, also to those that are created later, by any program.

        `for notice in connection.watch()`, `async for notice in connection.watch()`. It does not end by itself. Use a
        connection that makes no other calls meanwhile: they delay notices, up to a second. all_users: for root, and
        for users that polkit allows to manage sessions.
        """
        return Watch(self, all_users)

    def _add(self, session: c_void_p) -> Session:
        self._sessions.add(session.value or 0)
        return Session(self, session)

    def _remove(self, session: c_void_p) -> None:
        with self._lock:
            if session.value in self._sessions:
                self._sessions.remove(session.value)
                lib.session_free(session)


class Watch:
    """Notices as dicts with "kind", "session", "name" and "uid": the manager's signal Notified in org.ktrace1(5).

    Also {"daemon": "gone" or "back"}: the watch continues with the next daemon; {"failed": REASON} when that one
    refuses it; and {"dropped": N} when N others were too many.
    """

    def __init__(self, connection: Connection, all_users: bool) -> None:
        self.connection = connection
        self._all_users = all_users

    def _begin(self) -> None:
        with self.connection._lock:
            ask(lib.watch, self.connection._get(), ALL_USERS if self._all_users else 0)

    def _take(self) -> dict[str, Any] | None:
        with self.connection._lock:
            ended = lib.process(self.connection._get())
            text = c_void_p()
            check(lib.take_notice(self.connection._get(), byref(text)))
            notice: dict[str, Any] | None = take_json(text)
            if notice is None:
                check(ended)
            return notice

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._begin()
        while True:
            notice = self._take()
            if notice is None:
                select.select([lib.get_fd(self.connection._get())], [], [], _LOOK_SECONDS)
            else:
                yield notice

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        return self._watch_async()

    async def _watch_async(self) -> AsyncIterator[dict[str, Any]]:
        await _in_thread(self._begin)
        while True:
            notice = await _in_thread(self._take)  # another thread may be in a call
            if notice is None:
                await self._wait()
            else:
                yield notice

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        fd = lib.get_fd(self.connection._get())
        ready = asyncio.Event()
        loop.add_reader(fd, ready.set)
        try:
            await asyncio.wait_for(ready.wait(), _LOOK_SECONDS)
        except asyncio.TimeoutError:
            pass
        finally:
            loop.remove_reader(fd)


class Session:
    """A session of ktraced, as its connection sees it. A context manager: at its end the session is destroyed.

    Iterating reads its stream, and starts it if nobody has: `for record in session`, `async for record in session`.
    """

    def __init__(self, connection: Connection, session: c_void_p) -> None:
        self.connection = connection
        self._session: c_void_p | None = session
        self._owns_connection = False
        self._reader: Reader | None = None
        self.id: str = lib.session_get_id(session).decode()

    def _get(self) -> c_void_p:
        self.connection._get()
        if not self._session:
            raise ValueError("the session is closed")
        return self._session

    def _order(self, function: Any, *arguments: Any) -> None:
        with self.connection._lock:
            ask(function, self._get(), *arguments)

    def start(self) -> None:
        """Returns once every event is live on every CPU."""
        self._order(lib.session_start)

    def stop(self) -> None:
        """Returns once no further event can arrive."""
        self._order(lib.session_stop)

    def destroy(self) -> None:
        """Ends the session and removes its tracing: Destroy in org.ktrace1(5)."""
        self._order(lib.session_destroy)

    def mark(self, text: str) -> None:
        """Writes a text into the trace."""
        self._order(lib.session_mark, encode(text))

    def configure(self, changes: Spec) -> None:
        """Changes the session, by a dict as for Configure in org.ktrace1(5)."""
        self._order(lib.session_configure, json.dumps(changes).encode())

    def describe(self) -> dict[str, Any]:
        """What was granted, and the state: Describe in org.ktrace1(5)."""
        with self.connection._lock:
            answer: dict[str, Any] = fetch_json(lib.session_describe, self._get())
            return answer

    def statistics(self) -> dict[str, Any]:
        """Sizes, and the numbers of records and losses: GetStatistics in org.ktrace1(5)."""
        with self.connection._lock:
            answer: dict[str, Any] = fetch_json(lib.session_get_statistics, self._get())
            return answer

    def histogram(self, name: str = "") -> list[dict[str, Any]]:
        """The table, then its rows: GetHistogram in org.ktrace1(5). name: "" if the session has one histogram only."""
        with self.connection._lock:
            answer: list[dict[str, Any]] = fetch_json(lib.session_get_histogram, self._get(), encode(name))
            return answer

    def snapshot(self) -> Reader:
        """Reads what a flight recorder contains, while it goes on."""
        with self.connection._lock:
            return Reader._of(make(lib.session_snapshot, self._get()))

    def notices(self) -> list[dict[str, Any]]:
        """What has happened since the last call.

        {"state"}, {"notice"}, {"ended": {"code", "reason"}}, {"daemon": "gone" or "back"}, and {"dropped": N} when N
        others were too many.
        """
        taken: list[dict[str, Any]] = []
        with self.connection._lock:
            lib.process(self.connection._get())  # an end of the connection is itself a notice
            while True:
                text = c_void_p()
                check(lib.session_take_notice(self._get(), byref(text)))
                notice = take_json(text)
                if notice is None:
                    return taken
                taken.append(notice)

    # The stream

    @property
    def reader(self) -> Reader:
        """The reader of the session's stream, opened by the first use. A session has one at a time."""
        if self._reader is None:
            with self.connection._lock:
                self._reader = Reader._of(make(lib.session_read, self._get()))
        return self._reader

    def _begin(self) -> Reader:
        reader = self.reader
        if self.describe().get("state") == "configured":
            self.start()
        return reader

    def __iter__(self) -> Iterator[Record]:
        return iter(self._begin())

    def __aiter__(self) -> AsyncIterator[Record]:
        return self._read_async()

    async def _read_async(self) -> AsyncIterator[Record]:
        async for record in await _in_thread(self._begin):
            yield record

    # The end

    def close(self) -> None:
        """Forgets the session and does not end it; but a session of lifetime `client` ends with its connection."""
        if self._reader is not None:
            self._reader.close()
        if self._session:
            self.connection._remove(self._session)
            self._session = None
        if self._owns_connection:
            self.connection.close()

    def __del__(self) -> None:
        self.close()

    def _end(self, has_failed: bool) -> None:
        """Destroys the session, unless it has ended or is ending. has_failed: another error is more important."""
        try:
            if self._session and self.connection._connection:
                self.destroy()
        except Error as error:
            if not has_failed and error.name not in ("NoSuchSession", "Busy"):
                raise
        finally:
            self.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._end(kind is not None)

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        # Here, because other tasks may be reading it, and no thread may free it meanwhile.
        if self._reader is not None:
            self._reader.close()
        await _in_thread(lambda: self._end(kind is not None))


def session(spec: Spec, *, varlink: bool = False, timeout: float = 120) -> Session:
    """Creates a session with a connection of its own. It is started by start(), or when it is iterated over."""
    connection = Connection(varlink=varlink, timeout=timeout)
    try:
        made = connection.create(spec)
    except BaseException:
        connection.close()
        raise
    made._owns_connection = True
    return made


async def create(spec: Spec, *, varlink: bool = False, timeout: float = 120) -> Session:
    """session() for asynchronous programs: `async with await ktrace.create(spec) as session`."""
    return await _in_thread(lambda: session(spec, varlink=varlink, timeout=timeout))
