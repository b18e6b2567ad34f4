#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The library shows what its header declares, all of it is in the man page, and the header compiles alone in C and in
C++: exports.py SOURCE LIBRARY. TAP."""
import pathlib
import re
import shutil
import subprocess
import sys

source, library = pathlib.Path(sys.argv[1]), sys.argv[2]
header = source / "interfaces/ktrace.h"
declared = set(re.findall(r"^[a-z].*?\b(ktrace_\w+)\(", header.read_text(), re.M))
page = (source / "man/libktrace.3").read_text()
shown = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
visible = {line.split()[-1].split("@")[0] for line in shown.splitlines() if " A " not in line}
number = 0


def check(what, wrong):
    global number
    number += 1
    print(f"{'not ' if wrong else ''}ok {number} - {what}")
    for line in wrong:
        print(f"# {line}")


def compiles(compiler, *options):
    if not shutil.which(compiler):
        return None
    run = subprocess.run([compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-pedantic", *options, str(header)],
                         capture_output=True, text=True)
    return run.stderr.splitlines() if run.returncode else []


check("the library shows exactly what ktrace.h declares", sorted(declared ^ visible) or ([] if declared else ["none"]))
check("libktrace(3) names each function", sorted(name for name in declared if name not in page))
for compiler, options in (("cc", ["-x", "c", "-std=c99"]), ("c++", ["-x", "c++", "-std=c++11"])):
    wrong = compiles(compiler, *options)
    if wrong is None:
        number += 1
        print(f"ok {number} - ktrace.h compiles alone # SKIP there is no {compiler}")
    else:
        check(f"ktrace.h compiles alone with {compiler}", wrong)
print(f"1..{number}")
