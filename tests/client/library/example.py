#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints the program of a man page whose first line is "/* NAME ...": example.py PAGE NAME."""
import re
import sys

page, name = open(sys.argv[1]).read(), sys.argv[2]
for program in re.findall(r"^\.EX\n(.*?)^\.EE$", page, re.S | re.M):
    if program.startswith(f"/* {name} "):
        print(program.replace("\\e", "\\").replace("\\-", "-"), end="")
        break
else:
    sys.exit(f"{sys.argv[1]} has no program {name}")
