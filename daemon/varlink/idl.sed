# SPDX-License-Identifier: LGPL-2.1-or-later
# A Varlink interface, as a string in C.
1i #include "idl.h"\nconst char varlink_idl[] =
s/["\\]/\\&/g
s/.*/"&\\n"/
$a ;
