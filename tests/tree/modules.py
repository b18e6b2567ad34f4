#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A function that x.h declares is defined in x.c, in the same folder: modules.py SOURCE. TAP."""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^#(?:\\\n|[^\n])*', re.S | re.M)
FUNCTION = re.compile(r"^(?!static|typedef|DEFINE_CLEANUP|extern)[A-Za-z_][\w\s*]*?\b(\w+)\(", re.M)


def outside_of_braces(text):
    """The text at the level of the file: each body and initialiser is a `{}`."""
    kept, depth = [], 0
    for part in re.split(r"([{}])", COMMENT_OR_TEXT.sub(" ", text)):
        depth -= part == "}"
        if depth == 0:
            kept.append(part)
        depth += part == "{"
        if part == "{" and depth == 1:
            kept.append("{")
    return "".join(kept)


def functions(path):
    """(name, whether it is defined here) of each function that is not static."""
    text = outside_of_braces(path.read_text())
    for found in FUNCTION.finditer(text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        rest = re.match(r"\s*(?:_\w+_\([^)]*\)\s*)?([{;])", text[end:])
        if rest:
            yield found.group(1), rest.group(1) == "{"


folders = [source / "daemon", source / "client", source / "interfaces"]
defined, declared = {}, []
for folder in folders:
    for path in sorted(folder.rglob("*.c")):
        for name, is_definition in functions(path):
            if is_definition:
                defined.setdefault(name, path)
    for path in sorted(folder.rglob("*.h")):
        declared += [(name, path) for name, is_definition in functions(path) if not is_definition]

elsewhere = [f"{name}() of {path.relative_to(source)} is defined in {defined[name].relative_to(source)}"
             for name, path in declared if name in defined and defined[name].with_suffix(".h") != path]
missing = [f"{name}() of {path.relative_to(source)} is not defined" for name, path in declared if name not in defined]
number = 0
for what, faults in (("what x.h declares is defined in x.c", elsewhere), ("what is declared is defined", missing)):
    number += 1
    print(f"{'not ' if faults else ''}ok {number} - {what}")
    for fault in faults:
        print(f"# {fault}")
print(f"1..{number}")
if len(declared) < 1000:
    print(f"Bail out! Only {len(declared)} declarations were found: the sources have changed their form")
    sys.exit(1)
sys.exit(bool(elsewhere or missing))
