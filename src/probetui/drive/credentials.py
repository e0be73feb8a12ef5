r"""Credentials known by where they stand: in URLs, queries, headers, assignments, keys.

Each expression begins at something rare and is bounded behind it, so that a text of
any length is gone through once.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from urllib.parse import unquote

from probetui.drive.secret_names import is_secret_name

MASKED = "***"

_USER_INFO = re.compile(r"://([^\s/?#\"'<>\\]{1,2048})@")
_ASSIGNS = re.compile(
    r"(?<![\w.%~-])(?P<name>[A-Za-z0-9_.~%-]{1,80})(?:\[\])?=(?P<quote>[\"']?)"
)
_ASSIGNED = re.compile(
    r"(?<=[\"'])[^\"'\r\n]{1,65536}|(?<![\"'])[^\s\"'&;#<>|]{1,65536}"
)
_JSON_NAMES = re.compile(
    r"\\?\"(?P<name>[A-Za-z0-9_.-]{1,80})\\?\"\s{0,4}:\s{0,4}\\?\""
)
_JSON_TEXT = re.compile(r"(?:[^\"\\]|\\[^\"]){1,65536}")
_NAMED = ((_ASSIGNS, _ASSIGNED), (_JSON_NAMES, _JSON_TEXT))
"""What gives a name, and the value that follows it."""

_HEADER = re.compile(
    r"(?P<name>(?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]{0,30}(?:key|token|auth"
    r"|secret)[a-z-]{0,30})(?P<sign>\s{0,4}:\s{0,4})(?P<value>[^\r\n\"']{1,65536})",
    re.IGNORECASE,
)
_SCHEME = re.compile(
    r"\b(?P<name>Bearer|Basic)(?P<sign>[ ]{1,4})"
    r"(?P<value>(?=[A-Za-z0-9._~+/-]{0,40}[0-9=])[A-Za-z0-9._~+/-]{8,65536}=*)",
    re.IGNORECASE,
)
_SCHEMES = frozenset({"apikey", "basic", "bearer", "digest", "negotiate", "token"})
_PRIVATE_KEY = re.compile(
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----).*?(-----END|\Z)", re.DOTALL
)
_FLAG = re.compile(r"--?([A-Za-z][A-Za-z0-9_.-]{0,80})")


_SHORT = 512
"""Characters of a text that is remembered: probes say the same again and again."""


def without_credentials(text: str) -> str:
    """Return a text in which what its place shows to be secret is masked."""
    return _of_short(text) if len(text) <= _SHORT else _masked(text)


@lru_cache(maxsize=1024)
def _of_short(text: str) -> str:
    return _masked(text)


def _masked(text: str) -> str:
    if "://" in text and "@" in text:
        text = _USER_INFO.sub(_masked_user_info, text)
    if "=" in text or '":' in text or '" :' in text:
        text = _without_named(text)
    if ":" in text:
        text = _HEADER.sub(_masked_header, text)
    if "earer" in text or "asic" in text:
        text = _SCHEME.sub(_masked_header, text)
    if "PRIVATE KEY-----" in text:
        text = _PRIVATE_KEY.sub(rf"\1 {MASKED} \2", text)
    return text


def credentials_in(text: str) -> Iterator[str]:
    """Yield what of a text its place shows to be secret, also as it was before quoting.

    What is told of them elsewhere can then be masked, too.
    """
    for found in _USER_INFO.finditer(text):
        user, colon, password = found[1].partition(":")
        secret = password if colon else user
        yield from dict.fromkeys((secret, unquote(secret)))
    for names, values in _NAMED:
        for start, end in _values(text, names, values):
            yield from dict.fromkeys((text[start:end], unquote(text[start:end])))
    for expression in (_HEADER, _SCHEME):
        for found in expression.finditer(text):
            yield found["value"]
            yield from _of_header(found["value"])


def credentials_in_words(words: tuple[str, ...]) -> Iterator[str]:
    """Yield what is secret in a command: in its words, and after a flag's word."""
    for word in words:
        yield from credentials_in(word)
    for flag, value in pairwise(words):
        found = _FLAG.fullmatch(flag)
        if found is not None and is_secret_name(found[1]) and value[:1] != "-":
            yield value


def credentials_in_header(value: str) -> Iterator[str]:
    """Yield a header's secret value, and what is in it: the token, the password."""
    yield value
    yield from _of_header(value)


def _of_header(value: str) -> Iterator[str]:
    scheme, _, token = value.strip().partition(" ")
    if not token or scheme.lower() not in _SCHEMES:
        return
    yield token
    if scheme.lower() == "basic":
        try:
            told = base64.b64decode(token, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return
        yield told
        yield told.partition(":")[2]


def _masked_user_info(found: re.Match[str]) -> str:
    user, colon, _ = found[1].partition(":")
    if colon:
        return f"://{user}:{MASKED}@"
    before = found.string[max(found.start() - 5, 0) : found.start()].lower()
    # A user alone is a token over HTTP, and a name anywhere else (ssh://git@host).
    return f"://{MASKED}@" if before.endswith(("http", "https")) else found[0]


def _without_named(text: str) -> str:
    for names, values in _NAMED:
        kept: list[str] = []
        at = 0
        for start, end in _values(text, names, values):
            kept += (text[at:start], MASKED)
            at = end
        text = "".join((*kept, text[at:]))
    return text


def _values(
    text: str, names: re.Pattern[str], values: re.Pattern[str]
) -> Iterator[tuple[int, int]]:
    """Yield from where to where there is a value with a secret name.

    What has another name may have such a value in it: `--env=DB_PASS=...`.
    """
    found = names.search(text)
    while found is not None:
        at = found.end()
        if is_secret_name(unquote(found["name"])) and (value := values.match(text, at)):
            at = value.end()
            yield value.span()
        found = names.search(text, at)


def _masked_header(found: re.Match[str]) -> str:
    return f"{found['name']}{found['sign']}{MASKED}"
