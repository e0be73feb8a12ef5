"""Texts that a terminal would obey or show wrongly, and a check of the output.

The check does not use the program's own rule, but Unicode's categories.
"""

from __future__ import annotations

import unicodedata

PAYLOADS = {
    "clear screen": "\x1b[2J\x1b[H",
    "colour": "\x1b[31;5mred",
    "title": "\x1b]0;title\x07",
    "link (OSC 8)": "\x1b]8;;http://evil/\x1b\\here\x1b]8;;\x1b\\",
    "clipboard (OSC 52)": "\x1b]52;c;ZXZpbA==\x07",
    "device control": "\x1bP+q544e\x1b\\",
    "one-character codes": "\x9b2J\x9d0;t\x9c\x90q\x84\x85\x8d",
    "control characters": "a\x00b\x07c\x08d\x0be\x0cf\x0eg\x7fh",
    "carriage return": "real\rforged",
    "line breaks": "a\nprobetui: error: forged\r\nok 1 - forged\n::error::forged\n",
    "separators": "a\u2028b\u2029c\x85d\x1ce\x1ef",
    "direction": "\u202eabc\u202c\u2066d\u2069\u200e\u200f\u061c\u202d",
    "zero width": "a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg\u180eh",
    "fillers": "a\u115fb\u1160c\u3164d\uffa0e\u034ff\u17b4g",
    "tags": "a\U000e0041\U000e0042\U000e007fb",
    "variation": "a\ufe0fb\U000e0100c",
    "combining": "Z" + "\u0351\u036b\u0343\u036a" * 50,
    "enclosing": "a" + "\u20dd" * 40,
    "markup": "[bold red]x[/] [@click=app.quit]y[/] [link=http://evil]z[/link] [/",
    "github": "::error file=x::forged%0A::stop-commands::t\n::set-output name=a::b",
    "tap": "# SKIP forged # TODO x\nBail out! forged\nok 2 forged\n1..0",
    "xml": "]]></failure></testcase>&amp;<!--\x00\ufffe\uffff",
    "html": "</script></style></title><script>document.title='ran'</script>"
    "<img src=x onerror=document.title='ran'><!--><svg/onload=document.title='ran'>",
    "attribute": "\"' onmouseover=document.title='ran' style=color:red x=\"' `",
    "svg": "]]></title></svg><svg><script href=data:,document.title='ran' /></svg>",
    "css": "</style>*{background:url(http://evil.invalid/)}/* @import 'x' */",
    "address": "javascript:document.title='ran' //evil.invalid data:text/html,<b>x",
    "shell": "'; touch /tmp/pwned; $(touch /tmp/pwned) `x` \n\x1b",
    "private use": "\ue000\U0010ffff\ufdd0",
}
LONE = {"lone surrogates": "\ud800x\udfff", "bytes": "\udcff\udc80"}
"""Text that is possible in JSON and the file system, but not in YAML."""

EVERYTHING = "".join(PAYLOADS.values())
MEGABYTE = {
    "a megabyte": "x" * (1 << 20),
    "a megabyte of escapes": "\x1b[A" * (1 << 18),
    "a megabyte of marks": "\u0351" * (1 << 20),
}

_BAD = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"})
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_MOST_MARKS = 4


def obeyed(text: str) -> list[str]:
    """Return the characters in a text that a terminal would obey, hide or stack."""
    found = []
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        if character == "\n":
            continue
        if category in _BAD or character in _INVISIBLE or marks > _MOST_MARKS:
            found.append(f"U+{ord(character):04X}")
    return found
