# SPDX-License-Identifier: LGPL-2.1-or-later
# trace-cmd 3.3 and newer also print the column of latency flags, such as "d..2.". Older ones, and ktracectl, do not. A
# flag is never a digit where the column begins, a time always is.
s/^(.{16}-[0-9]+ +\[[0-9]{3}\]) [.a-zA-Z][^ ]{4}( *[0-9])/\1\2/
