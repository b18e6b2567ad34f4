#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A function that x.h declares is defined in x.c, in the same folder, and no more than CIRCLE_MAX files call each other
in a circle: modules.py SOURCE. TAP."""
import pathlib
import re
import sys

CIRCLE_MAX = 9  # as many as in the largest circle of dbus-broker

source = pathlib.Path(sys.argv[1])
COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|'
                             r'^#(?:\\\n|[^\n])*', re.S | re.M)
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


def circles(calls):
    """The groups of files that reach each other (Tarjan's strongly connected components)."""
    index, low, stack, found = {}, {}, [], []

    def visit(file):
        index[file] = low[file] = len(index)
        stack.append(file)
        for callee in calls.get(file, ()):
            if callee not in index:
                visit(callee)
            if callee in stack:
                low[file] = min(low[file], low[callee])
        if low[file] == index[file]:
            at = stack.index(file)
            found.append(stack[at:])
            del stack[at:]

    for file in calls:
        if file not in index:
            visit(file)
    return found


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
calls = {}
for folder in folders:
    for path in sorted(folder.rglob("*.c")):
        words = set(re.findall(r"(?<![\w.>])([A-Za-z_]\w*)\s*(?=[(,);}])", COMMENT_OR_TEXT.sub(" ", path.read_text())))
        calls[path] = {defined[word] for word in words & defined.keys()} - {path}
sys.setrecursionlimit(10000)
large = [f"{len(files)} files: " + ", ".join(sorted(file.name for file in files))
         for files in circles(calls) if len(files) > CIRCLE_MAX]
number = 0
for what, faults in (("what x.h declares is defined in x.c", elsewhere), ("what is declared is defined", missing),
                     (f"no circle of calls has more than {CIRCLE_MAX} files", large)):
    number += 1
    print(f"{'not ' if faults else ''}ok {number} - {what}")
    for fault in faults:
        print(f"# {fault}")
print(f"1..{number}")
if len(declared) < 1000:
    print(f"Bail out! Only {len(declared)} declarations were found: the sources have changed their form")
    sys.exit(1)
sys.exit(bool(elsewhere or missing or large))
