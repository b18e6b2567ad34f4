# SPDX-License-Identifier: LGPL-2.1-or-later
"""make-page.py OUTPUT HTML CSS JS...: joins the files of the page and writes them as a C file.

The page allows only the style and the script with these hashes, so nothing from a trace can run."""
import base64
import hashlib
import json
import sys

output, html_path, css_path, *js_paths = sys.argv[1:]


def read(path):
    with open(path, encoding='ascii') as file:
        return file.read()


def policy_hash(text):
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def literal(text):
    # JSON's escapes are also those of C, for the ASCII that the files have.
    return '\n'.join('        ' + json.dumps(line).replace('??', '?\\?') for line in text.splitlines(True))


style = '\n' + read(css_path)
script = "\n(() => {\n'use strict';\n" + '\n'.join(read(path) for path in js_paths) + '})();\n'
page = (read(html_path).replace('@STYLE_HASH@', policy_hash(style)).replace('@SCRIPT_HASH@', policy_hash(script))
        .replace('@STYLE@', style).replace('@SCRIPT@', script))
head, tail = page.split('@DATA@\n')
with open(output, 'w', encoding='ascii') as file:
    file.write('#include "page/page-text.h"\n\n')
    file.write('const char page_text_head[] =\n%s;\n\nconst char page_text_tail[] =\n%s;\n' %
               (literal(head), literal(tail)))
