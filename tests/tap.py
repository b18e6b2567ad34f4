# SPDX-License-Identifier: LGPL-2.1-or-later
"""TAP from a program in Python: a line for each check."""
import sys

number = 0
has_failed = False


def check(what, wrong):
    """wrong: a line for each thing that is not as it should be."""
    global number, has_failed
    number += 1
    has_failed = has_failed or bool(wrong)
    print(f"{'not ' if wrong else ''}ok {number} - {what}")
    for line in wrong:
        print(f"# {line}")


def skip(what, why):
    global number
    number += 1
    print(f"ok {number} - {what} # SKIP {why}")


def end():
    """Ends the program, with status 1 if a check has failed."""
    print(f"1..{number}")
    sys.exit(has_failed)
