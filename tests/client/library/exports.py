#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The library shows what its header declares, all of it is in the man page, and the header compiles alone in C and in
C++: exports.py SOURCE LIBRARY. TAP."""
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
from tap import check, end, skip

source, library = pathlib.Path(sys.argv[1]), sys.argv[2]
header = source / "interfaces/ktrace.h"
declared = set(re.findall(r"^[a-z].*?\b(ktrace_\w+)\(", header.read_text(), re.M))
page = (source / "man/libktrace.3").read_text()
shown = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
visible = {line.split()[-1].split("@")[0] for line in shown.splitlines() if " A " not in line}


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
        skip("ktrace.h compiles alone", f"there is no {compiler}")
    else:
        check(f"ktrace.h compiles alone with {compiler}", wrong)
end()
