#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Python module calls each function as ktrace.h declares it, is typed, and has the project's version:
module.py SOURCE LIBRARY VERSION. TAP."""
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
from tap import check, end, skip

source, library, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
module = source / "client/python"
# ktrace/_library.py opens the library by its soname.
ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
sys.path.insert(0, str(module))
SIZES = {"void": None, "bool": 1, "int": 4, "unsigned": 4, "ktrace_record_kind": 4, "ktrace_field_kind": 4,
         "int64_t": 8, "uint64_t": 8, "size_t": 8}


def size_in_c(declaration):
    """Of a parameter or a result, without its name."""
    words = [word for word in re.findall(r"\w+|\*", declaration) if word not in ("const", "struct")]
    if "*" in words:
        return ctypes.sizeof(ctypes.c_void_p)
    return SIZES[words[0]]


def declared():
    """name: the sizes of the result and of the parameters."""
    header = re.sub(r"/\*.*?\*/", "", (source / "interfaces/ktrace.h").read_text(), flags=re.S)
    found = re.findall(r"^([a-z][\w ]*?[ *]+)ktrace_(\w+)\(([^)]*)\);", header, re.M)
    return {name: [size_in_c(result)] + [size_in_c(one) for one in parameters.split(",")]
            for result, name, parameters in found}


def used():
    from ktrace._library import _DECLARATIONS
    return {name: [ctypes.sizeof(kind) if kind else None for kind in [result, *parameters]]
            for name, (result, parameters) in _DECLARATIONS.items()}


header, python = declared(), used()
check("each function has the result and the parameters of ktrace.h",
      [f"{name}: {sizes}, ktrace.h: {header.get(name)}" for name, sizes in python.items() if header.get(name) != sizes])
code = "".join(path.read_text() for path in (module / "ktrace").glob("*.py"))
check("each function that is declared is called", [name for name in python if f"lib.{name}" not in code])
check("the version is that of the project",
      [] if f'version = "{version}"' in (module / "pyproject.toml").read_text() else [version])
if shutil.which("mypy"):
    run = subprocess.run(["mypy", "--strict", "--cache-dir", os.devnull, "ktrace"],
                         cwd=module, capture_output=True, text=True)
    check("mypy finds no error", run.stdout.splitlines() if run.returncode else [])
else:
    skip("mypy finds no error", "there is no mypy")
end()
