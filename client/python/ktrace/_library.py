# SPDX-License-Identifier: LGPL-2.1-or-later
"""libktrace.so.0 through ctypes: the declarations of ktrace.h, and its errors as exceptions."""

from __future__ import annotations

import ctypes
import errno
import json
import os
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

FOREVER = 2**64 - 1
VARLINK = 1
ALL_USERS = 1


class Error(OSError):
    """What ktraced or libktrace refuses, or what has failed.

    name: ktraced's name for it without prefix, such as "AccessDenied" (org.ktrace1(5)); "Failed" for what has no
    name there, and "Ended" when a stream ends early. errno: as in libktrace(3).
    It is an OSError, but none of its subclasses: a missing file is not a FileNotFoundError, but has errno ENOENT.
    str() is one line: what failed, and what to do.
    """

    def __init__(self, number: int, name: str, text: str) -> None:
        super().__init__(number, text)
        self.name = name

    def __str__(self) -> str:
        return str(self.strerror) if self.filename is None else f"{self.filename}: {self.strerror}"


class CError(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 64), ("text", ctypes.c_char * 512)]


_ERROR = POINTER(CError)
_OBJECT = POINTER(c_void_p)
_TEXT = POINTER(c_void_p)  # char **, to free

# The result and the parameters of each function that this module calls.
_DECLARATIONS: dict[str, tuple[Any, list[Any]]] = {
    "open": (c_int, [c_uint, _OBJECT, _ERROR]),
    "close": (None, [c_void_p]),
    "set_timeout": (None, [c_void_p, c_uint64]),
    "get_fd": (c_int, [c_void_p]),
    "process": (c_int, [c_void_p]),
    "watch": (c_int, [c_void_p, c_uint, _ERROR]),
    "take_notice": (c_int, [c_void_p, _TEXT]),
    "call": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, _TEXT, _ERROR]),
    "check": (c_int, [c_void_p, c_char_p, _TEXT, _ERROR]),
    "create": (c_int, [c_void_p, c_char_p, _OBJECT, _ERROR]),
    "find": (c_int, [c_void_p, c_char_p, _OBJECT, _ERROR]),
    "session_free": (None, [c_void_p]),
    "session_get_id": (c_char_p, [c_void_p]),
    "session_start": (c_int, [c_void_p, _ERROR]),
    "session_stop": (c_int, [c_void_p, _ERROR]),
    "session_destroy": (c_int, [c_void_p, _ERROR]),
    "session_mark": (c_int, [c_void_p, c_char_p, _ERROR]),
    "session_configure": (c_int, [c_void_p, c_char_p, _ERROR]),
    "session_describe": (c_int, [c_void_p, _TEXT, _ERROR]),
    "session_get_statistics": (c_int, [c_void_p, _TEXT, _ERROR]),
    "session_get_histogram": (c_int, [c_void_p, c_char_p, _TEXT, _ERROR]),
    "session_read": (c_int, [c_void_p, _OBJECT, _ERROR]),
    "session_snapshot": (c_int, [c_void_p, _OBJECT, _ERROR]),
    "session_take_notice": (c_int, [c_void_p, _TEXT]),
    "reader_open": (c_int, [c_char_p, _OBJECT, _ERROR]),
    "reader_open_fd": (c_int, [c_int, _OBJECT, _ERROR]),
    "reader_free": (None, [c_void_p]),
    "reader_get_fd": (c_int, [c_void_p]),
    "reader_get_timeout": (c_uint64, [c_void_p]),
    "reader_next": (c_int, [c_void_p, c_uint64, _OBJECT, _ERROR]),
    "reader_get_end": (c_int, [c_void_p, _TEXT]),
    "reader_get_receipt": (c_int, [c_void_p, _TEXT]),
    "reader_get_realtime": (c_int, [c_void_p, c_uint64, POINTER(c_int64)]),
    "reader_read_table": (c_int, [c_void_p, c_char_p, c_size_t, _OBJECT, _ERROR]),
    "record_get_kind": (c_int, [c_void_p]),
    "record_get_time": (c_uint64, [c_void_p]),
    "record_get_cpu": (c_uint, [c_void_p]),
    "record_get_lost": (c_int64, [c_void_p]),
    "record_get_tid": (c_int, [c_void_p]),
    "record_get_task": (c_char_p, [c_void_p]),
    "record_get_system": (c_void_p, [c_void_p]),  # addresses: the same for all records of an event
    "record_get_event": (c_void_p, [c_void_p]),
    "record_get_text": (c_int, [c_void_p, POINTER(c_char_p)]),
    "record_get_field": (c_void_p, [c_void_p, c_size_t]),
    "record_get_number": (c_int, [c_void_p, c_void_p, POINTER(c_uint64)]),
    "record_get_bytes": (c_int, [c_void_p, c_void_p, POINTER(c_void_p), POINTER(c_size_t)]),
    "record_get_string": (c_int, [c_void_p, c_void_p, POINTER(c_void_p), POINTER(c_size_t)]),
    "field_get_name": (c_char_p, [c_void_p]),
    "field_get_kind": (c_int, [c_void_p]),
    "field_get_element_size": (c_size_t, [c_void_p]),
    "field_is_signed": (c_bool, [c_void_p]),
    "table_free": (None, [c_void_p]),
    "table_count_rows": (c_size_t, [c_void_p]),
    "table_count_columns": (c_size_t, [c_void_p]),
    "table_get_lost": (c_uint64, [c_void_p]),
    "table_get_damaged": (c_uint64, [c_void_p]),
    "table_get_name": (c_char_p, [c_void_p, c_size_t]),
    "table_get_kind": (c_int, [c_void_p, c_size_t]),
    "table_get_field": (c_void_p, [c_void_p, c_size_t]),
    "table_get_numbers": (c_void_p, [c_void_p, c_size_t]),
    "table_get_codes": (c_void_p, [c_void_p, c_size_t]),
    "table_count_values": (c_size_t, [c_void_p, c_size_t]),
    "table_get_value": (c_void_p, [c_void_p, c_size_t, c_size_t, POINTER(c_size_t)]),
}


class Functions:
    """The functions of ktrace.h as attributes, without their prefix."""

    def __init__(self) -> None:
        library = ctypes.CDLL("libktrace.so.0")
        for name, (result, parameters) in _DECLARATIONS.items():
            function = getattr(library, f"ktrace_{name}")
            function.restype = result
            function.argtypes = parameters
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:  # for type checkers: all are set above
        raise AttributeError(name)


lib = Functions()
_free = ctypes.CDLL(None).free
_free.argtypes = [c_void_p]


def encode(text: str, errors: str = "strict") -> bytes:
    """A text for C, where it would end at a NUL."""
    data = text.encode(errors=errors)
    if b"\0" in data:
        raise ValueError("embedded null character")
    return data


def check(result: int, error: CError | None = None) -> int:
    """Returns a result that is no error, and raises the others."""
    if result >= 0:
        return result
    name = error.name.decode() if error else ""
    text = error.text.decode(errors="replace") if error else ""
    raise Error(-result, name.rpartition(".")[2] or "Failed", text or os.strerror(-result))


def ask(function: Any, *arguments: Any) -> int:
    """Calls a function whose last parameter is an error."""
    error = CError()
    return check(function(*arguments, byref(error)), error)


def make(function: Any, *arguments: Any) -> c_void_p:
    """Calls a function that returns an object and an error."""
    made = c_void_p()
    ask(function, *arguments, byref(made))
    return made


def take_json(text: c_void_p) -> Any:
    """Frees a text of JSON and returns what it says, or None."""
    if not text.value:
        return None
    try:
        return json.loads(ctypes.string_at(text.value).decode(errors="replace"))
    finally:
        _free(text)


def fetch_json(function: Any, *arguments: Any) -> Any:
    """Calls a function that returns a text of JSON and an error."""
    text = c_void_p()
    ask(function, *arguments, byref(text))
    return take_json(text)


def find_json(function: Any, *arguments: Any) -> Any:
    """Calls a function that returns a text of JSON, or -ENODATA: then None."""
    text = c_void_p()
    result = function(*arguments, byref(text))
    if result == -errno.ENODATA:
        return None
    check(result)
    return take_json(text)
