# SPDX-License-Identifier: LGPL-2.1-or-later
"""Readers, their records, and tables."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import struct
import sys
from ctypes import byref, c_char_p, c_int64, c_size_t, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterator, Tuple, Union

from ._library import FOREVER, Error, ask, check, encode, find_json, lib, make

if TYPE_CHECKING:
    import pandas  # type: ignore[import]

Value = Union[int, str, bytes, Tuple[int, ...]]

_EVENT, _LOST = 1, 2
_SIGNED, _STRING, _ARRAY = 2, 4, 5
_KINDS = {1: "event", 2: "lost", 3: "late"}
# How the stream of a session ends when nothing has failed: ktrace-stream(5).
_ORDINARY_ENDS = ("stopped", "destroyed", "snapshot", "client-gone")
# So many records are given to an asynchronous loop before other tasks run.
_TURN = 256


def _convert_array(data: bytes, size: int, is_signed: bool) -> Value:
    """Arrays of bytes stay as they are."""
    code = {2: "h", 4: "i", 8: "q"}.get(size)
    if code is None:
        return data
    order = "<" if sys.byteorder == "little" else ">"
    return struct.unpack(f"{order}{len(data) // size}{code if is_signed else code.upper()}", data)


def _escape(text: str) -> str:
    """Control characters and bytes that are not UTF-8 as \\xNN."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else "".join(f"\\x{byte:02x}" for byte in one.encode(errors="surrogateescape"))
        for one in text
    )


class Record:
    """An event, or a gap in the trace.

    kind: "event"; "lost": events of this CPU were lost before its next one; "late": the next events of this CPU are
    older than others before. time: nanoseconds of the session's clock (other units if the clock has them). realtime:
    nanoseconds since 1970, or None. lost: of "lost", the number of events, -1 if it is not known; otherwise 0.
    tid: the thread; 0: the idle task, or a task that this user may not see. fields: of the event; they are also
    attributes: record.prev_comm. Strings that are not UTF-8 have surrogates, as os.fsdecode() makes them; arrays of
    numbers are tuples, others bytes. A record that does not fit the format of its event has no fields.

    The traced programs choose task and strings, also with characters that a terminal interprets. str(record) escapes
    them.
    """

    __slots__ = ("cpu", "event", "fields", "kind", "lost", "realtime", "system", "task", "text", "tid", "time")

    cpu: int
    event: str
    fields: dict[str, Value]
    kind: str
    lost: int
    realtime: int | None
    system: str
    task: str
    text: str
    tid: int
    time: int

    def __getattr__(self, name: str) -> Value:
        try:
            return self.fields[name]
        except KeyError:
            what = f"{self.system}:{self.event}" if self.kind == "event" else f'a record of kind "{self.kind}"'
            raise AttributeError(f"{what} has no field {name}") from None

    def __str__(self) -> str:
        if self.kind != "event":
            return f"[{self.cpu:03}] {self.time}: {self.kind} {self.lost if self.kind == 'lost' else ''}".rstrip()
        text = "\n".join(map(_escape, self.text.split("\n")))  # stacks have lines
        return f"{_escape(self.task)}-{self.tid} [{self.cpu:03}] {self.time}: {self.event}: {text}"

    def __repr__(self) -> str:
        return f"<ktrace.Record {self}>"


class Table:
    """Many records as columns.

    columns: for each name a sequence of one value per record: time, cpu, tid, task, and the fields of the event.
    lost: events that were lost between them. damaged: records that do not fit the format of their event.
    """

    def __init__(self, table: c_void_p, offset: int | None) -> None:
        self.lost: int = lib.table_get_lost(table)
        self.damaged: int = lib.table_get_damaged(table)
        self._n: int = lib.table_count_rows(table)
        self._offset = offset
        # name: (kind, the rows as bytes, the different values)
        self._columns: dict[str, tuple[int, bytes, list[Value]]] = {}
        for i in range(lib.table_count_columns(table)):
            self._add(table, i)

    def _add(self, table: c_void_p, i: int) -> None:
        kind = lib.table_get_kind(table, i)
        field = lib.table_get_field(table, i)
        element = (lib.field_get_element_size(field), lib.field_is_signed(field)) if kind == _ARRAY else (0, False)
        numbers = lib.table_get_numbers(table, i)
        values: list[Value] = []
        if numbers:
            rows = ctypes.string_at(numbers, 8 * self._n)
        else:
            rows = ctypes.string_at(lib.table_get_codes(table, i), 4 * self._n) if self._n else b""
            size = c_size_t()
            for code in range(lib.table_count_values(table, i)):
                address = lib.table_get_value(table, i, code, byref(size))
                data = ctypes.string_at(address, size.value) if size.value else b""
                values.append(_convert_array(data, *element) if kind == _ARRAY else os.fsdecode(data))
        self._columns[lib.table_get_name(table, i).decode()] = (kind, rows, values)

    def __len__(self) -> int:
        return self._n

    @property
    def columns(self) -> dict[str, list[Value]]:
        """The values of each column by its name. Each use makes new lists."""
        result: dict[str, list[Value]] = {}
        for name, (kind, rows, values) in self._columns.items():
            if kind in (_STRING, _ARRAY):
                result[name] = [values[code] for code in memoryview(rows).cast("I")]
            else:
                result[name] = list(memoryview(rows).cast("q" if kind == _SIGNED else "Q"))
        return result

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame with these columns. attrs has `lost` and `damaged`.

        Strings and arrays are categories. If the trace knows the time of day, there is also a column `realtime` of UTC.
        """
        import numpy
        import pandas

        columns: dict[str, Any] = {}
        for name, (kind, rows, values) in self._columns.items():
            if kind in (_STRING, _ARRAY):
                codes = numpy.frombuffer(rows, "u4").astype("i4")
                categories = pandas.Index(values, dtype=object, tupleize_cols=False)
                columns[name] = pandas.Categorical.from_codes(codes, categories=categories)
            else:
                columns[name] = numpy.frombuffer(rows, "i8" if kind == _SIGNED else "u8")
        if self._offset is not None:
            times = columns["time"].astype("i8") + self._offset
            columns["realtime"] = pandas.to_datetime(times, utc=True)
        frame = pandas.DataFrame(columns, copy=False)
        frame.attrs.update(lost=self.lost, damaged=self.damaged)
        return frame


class _Event:
    """What is the same for all records of an event."""

    def __init__(self, record: c_void_p, system: int, event: int) -> None:
        self.system = ctypes.string_at(system).decode()
        self.event = ctypes.string_at(event).decode()
        # Each field's name, kind, handle, and of arrays the elements' size and sign.
        self.fields: list[tuple[str, int, c_void_p, tuple[int, bool]]] = []
        while field := lib.record_get_field(record, len(self.fields)):
            element = (lib.field_get_element_size(field), lib.field_is_signed(field))
            name = lib.field_get_name(field).decode()
            self.fields.append((name, lib.field_get_kind(field), c_void_p(field), element))


class Reader:
    """The records of a recording (.kts, trace.dat), of a session's stream or of a snapshot, in the order of time.

    A context manager, and an iterator: `for record in reader`, `async for record in reader`. Only one thread may use it
    at a time. Iterating raises Error when the data is damaged. At the end of a stream it raises Error, with name
    "Ended", when neither the owner has ended the session nor a snapshot is complete: the daemon has died, a limit was
    reached.
    """

    _reader: c_void_p | None = None

    def __init__(self, source: str | os.PathLike[str] | int) -> None:
        """source: the path of a recording, or a descriptor, which stays open."""
        try:
            if isinstance(source, int):
                self._reader = make(lib.reader_open_fd, source)
            else:
                self._reader = make(lib.reader_open, encode(os.fsdecode(source), "surrogateescape"))
        except Error as error:
            error.filename = source
            raise
        self._begin()

    @classmethod
    def _of(cls, reader: c_void_p) -> Reader:
        self = cls.__new__(cls)
        self._reader = reader
        self._begin()
        return self

    def _begin(self) -> None:
        self._events: dict[int, _Event] = {}
        self._offset: int | None = None

    def close(self) -> None:
        """Also done by the context manager."""
        if self._reader:
            lib.reader_free(self._reader)
            self._reader = None

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Reader:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _get(self) -> c_void_p:
        if not self._reader:
            raise ValueError("the reader is closed")
        return self._reader

    # What is not a record

    @property
    def end(self) -> dict[str, str] | None:
        """At the end: {"code", "reason"}. None: the trace was cut off, or is a trace.dat."""
        end: dict[str, str] | None = find_json(lib.reader_get_end, self._get())
        return end

    @property
    def receipt(self) -> dict[str, Any] | None:
        """What was granted, cut and lost. None: there is none yet, or at all."""
        receipt: dict[str, Any] | None = find_json(lib.reader_get_receipt, self._get())
        return receipt

    # Records

    def next(self, timeout: float | None = None) -> Record | None:
        """The next record, or None at the end. timeout: seconds. TimeoutError: none came in this time."""
        usec = FOREVER if timeout is None else max(0, int(timeout * 1e6))
        record = c_void_p()
        try:
            result = ask(lib.reader_next, self._get(), usec, byref(record))
        except Error as error:
            if error.errno == errno.EAGAIN:
                raise TimeoutError("no record has come") from None
            raise
        if result == 1:
            return self._make(record)
        self._check_end()
        return None

    def _check_end(self) -> None:
        if lib.reader_get_fd(self._get()) < 0:
            return
        end = self.end
        if end is None:
            raise Error(errno.EPIPE, "Ended", "the stream was cut off: ktraced or its stream worker has died")
        if end["code"] not in _ORDINARY_ENDS:
            raise Error(errno.EPIPE, "Ended", f"the session has ended ({end['code']}): {end['reason']}")

    def __iter__(self) -> Iterator[Record]:
        while (record := self.next()) is not None:
            yield record

    def __aiter__(self) -> AsyncIterator[Record]:
        return self._read_async()

    async def _read_async(self) -> AsyncIterator[Record]:
        n = 0
        while True:
            try:
                record = self.next(0)
            except TimeoutError:
                await self._wait()
                continue
            if record is None:
                return
            yield record
            n += 1
            if n % _TURN == 0:
                await asyncio.sleep(0)

    async def _wait(self) -> None:
        """Until data has arrived, or records that wait are due."""
        loop = asyncio.get_running_loop()
        fd = lib.reader_get_fd(self._get())
        left = lib.reader_get_timeout(self._get())
        ready = asyncio.Event()
        loop.add_reader(fd, ready.set)
        try:
            await asyncio.wait_for(ready.wait(), None if left == FOREVER else left / 1e6)
        except asyncio.TimeoutError:
            pass
        finally:
            loop.remove_reader(fd)

    def _find_offset(self) -> int | None:
        if self._offset is None:
            realtime = c_int64()
            if lib.reader_get_realtime(self._get(), 0, byref(realtime)) < 0:
                return None
            self._offset = realtime.value
        return self._offset

    def _make(self, address: c_void_p) -> Record:
        record = Record()
        kind = lib.record_get_kind(address)
        record.kind = _KINDS[kind]
        record.time = lib.record_get_time(address)
        offset = self._find_offset()
        record.realtime = None if offset is None else record.time + offset
        record.cpu = lib.record_get_cpu(address)
        record.lost = lib.record_get_lost(address) if kind == _LOST else 0
        record.system = record.event = record.task = record.text = ""
        record.tid = 0
        record.fields = {}
        if kind == _EVENT:
            self._fill(record, address)
        return record

    def _fill(self, record: Record, address: c_void_p) -> None:
        name = lib.record_get_event(address)
        event = self._events.get(name)
        if event is None:
            event = _Event(address, lib.record_get_system(address), name)
            if event.fields:  # else the name is no address of its own
                self._events[name] = event
        record.system, record.event = event.system, event.event
        record.tid = lib.record_get_tid(address)
        record.task = os.fsdecode(lib.record_get_task(address))
        text = c_char_p()
        if lib.record_get_text(address, byref(text)) < 0:
            return  # the record is damaged
        record.text = os.fsdecode(text.value or b"")
        number, data, size = c_uint64(), c_void_p(), c_size_t()
        for key, kind, field, element in event.fields:
            if kind == _STRING:
                check(lib.record_get_string(address, field, byref(data), byref(size)))
                record.fields[key] = os.fsdecode(ctypes.string_at(data.value or 0, size.value)) if size.value else ""
            elif kind == _ARRAY:
                check(lib.record_get_bytes(address, field, byref(data), byref(size)))
                array = ctypes.string_at(data.value or 0, size.value) if size.value else b""
                record.fields[key] = _convert_array(array, *element)
            else:
                check(lib.record_get_number(address, field, byref(number)))
                value = number.value
                record.fields[key] = value - 2**64 if kind == _SIGNED and value >= 2**63 else value

    # Tables

    def read_table(self, event: str | None = None, max: int | None = None) -> Table | None:
        """The next records of one event, "sched:sched_switch", as columns; None at the end.

        Without event: all records, with the columns time, cpu, tid, task and event. max: so many records at most. Waits
        until a stream has so many, or ends.
        """
        table = c_void_p()
        limit = c_size_t(-1).value if max is None else max
        name = None if event is None else encode(event)
        if ask(lib.reader_read_table, self._get(), name, limit, byref(table)) == 0:
            self._check_end()
            return None
        try:
            return Table(table, self._find_offset())
        finally:
            lib.table_free(table)

    def to_pandas(self, event: str | None = None) -> pandas.DataFrame:
        """The remaining records of one event as a data frame: Table.to_pandas()."""
        import pandas

        table = self.read_table(event)
        return pandas.DataFrame() if table is None else table.to_pandas()
