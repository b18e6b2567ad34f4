# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kernel traces from ktraced.

    import ktrace

    with ktrace.session({"scope": "own", "events": ["syscalls:sys_enter_openat"]}) as session:
        for record in session:
            print(record)

A spec describes a session: a dict with the keys of ktrace-session(5), not a text. Who may trace what is decided by
policy: ktrace-policy(5).

Recordings are read with ktrace.Reader("trace.dat"), also into data frames:
ktrace.Reader("trace.dat").to_pandas("sched:sched_switch").

What happens to all sessions of a user comes from ktrace.Connection().watch().

What fails raises ktrace.Error. The module uses libktrace.so.0: libktrace(3).
"""

from ._library import Error
from ._reader import Reader, Record, Table
from ._session import Connection, Session, Watch, create, session

__all__ = ["Connection", "Error", "Reader", "Record", "Session", "Table", "Watch", "create", "session"]
