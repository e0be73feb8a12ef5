r"""Secrets known by their names, and by where they stand in texts: URLs, headers, keys.

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

_STRONG_NAMES = re.compile(
    r"token(?!i[sz])|passw(?:or)?d|passphrase|passcode|secret|credential"
    r"|authorization|cookie|(?:api|access|private|signing|encryption|master|ssh)_?key"
    r"|conn(?:ection)?_?str(?:ing)?|session_?id",
    re.IGNORECASE,
)
"""Wherever they stand in a name, it is one of a secret."""

_NAME_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_WEAK_WORDS = frozenset(
    {
        "auth", "cred", "creds", "dsn", "jwt", "key", "keys", "pass", "passwd", "pat",
        "private", "pwd", "sas", "sig", "signature",
    }
)  # fmt: skip
"""Only as words of their own: `PASSIVE`, `KEYBOARD`, `AUTHOR` are no secrets."""

_ENDS = re.compile(
    r"(?:(?<!by)(?<!com)pass|pwd|creds"
    r"|(?<!mon)(?<!tur)(?<!don)(?<!hot)(?<!pub)(?<!public)key)$"
)
"""Of a name that is written in one, such as `dbpass`."""

_OPEN_FIRST = frozenset(
    {"cache", "foreign", "hot", "partition", "primary", "pub", "public", "sort"}
)
"""What a key may be that is none to keep: what stands before it."""

_OPEN_LAST = frozenset(
    {
        "address", "algorithm", "alg", "audience", "bits", "cidr", "class", "count",
        "dir", "enabled", "endpoint", "file", "format", "host", "hostname", "interval",
        "ip", "issuer", "length", "method", "mode", "network", "path",
        "policy", "port", "prefix", "provider", "realm", "registry", "scheme", "size",
        "subnet", "timeout", "ttl", "type", "uri", "url", "version",
    }
)  # fmt: skip
"""What is said about a secret, and is none: `AUTH_URL`, `KEY_FILE`."""

_FOLDERS = frozenset({"PWD", "OLDPWD"})


_LONGEST_NAME = 200
"""Characters of a name that are looked at."""

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
_FLAG_NAMES = re.compile(
    # Begun with what to search for, it takes a tenth of the time.
    r"-(?<![\w-]-)-?(?P<name>[A-Za-z][A-Za-z0-9_.-]{0,80})[ \t]{1,4}(?P<quote>[\"']?)"
)
_FLAG_TEXT = re.compile(
    r"(?<=[\"'])[^\"'\r\n]{1,65536}|(?<![\"'])(?![-$])[^\s\"'&;#<>|]{1,65536}"
)
"""Not another flag, and not a variable of the shell."""

_NAMED = (
    ("=", _ASSIGNS, _ASSIGNED),
    ('"', _JSON_NAMES, _JSON_TEXT),
    ("-", _FLAG_NAMES, _FLAG_TEXT),
)
"""What gives a name, the value that follows it, and what the first cannot lack."""

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


def is_secret_name(name: str) -> bool:
    """Return whether what is called so holds a secret."""
    return _is_secret(name[:_LONGEST_NAME])


@lru_cache(maxsize=4096)
def _is_secret(name: str) -> bool:
    if _STRONG_NAMES.search(name.replace("-", "_").replace(".", "_")) is not None:
        return True
    if name in _FOLDERS:
        return False
    words = [word.lower() for word in _NAME_WORDS.findall(name)]
    if not words or words[-1] in _OPEN_LAST:
        return False
    return any(
        (word in _WEAK_WORDS or _ENDS.search(word) is not None)
        and not (
            word in {"key", "keys"} and number and words[number - 1] in _OPEN_FIRST
        )
        for number, word in enumerate(words)
    )


def mask_credentials(text: str) -> str:
    """Return a text in which what its place shows to be secret is masked."""
    return _of_short(text) if len(text) <= _SHORT else _masked(text)


@lru_cache(maxsize=1024)
def _of_short(text: str) -> str:
    return _masked(text)


def _masked(text: str) -> str:
    if "://" in text and "@" in text:
        text = _USER_INFO.sub(_masked_user_info, text)
    text = _without_named(text)
    if ":" in text:
        text = _HEADER.sub(_masked_header, text)
    lowered = text.lower()
    if "bearer" in lowered or "basic" in lowered:
        text = _SCHEME.sub(_masked_header, text)
    if "PRIVATE KEY-----" in text:
        text = _PRIVATE_KEY.sub(rf"\1 {MASKED} \2", text)
    return text


def find_credentials(text: str) -> Iterator[str]:
    """Yield what of a text its place shows to be secret, also as it was before quoting.

    With that, the same values are masked elsewhere, too.
    """
    for match in _USER_INFO.finditer(text):
        user, colon, password = match[1].partition(":")
        secret = password if colon else user
        yield from dict.fromkeys((secret, unquote(secret)))
    for _, names, values in _NAMED:
        for start, end in _values(text, names, values):
            yield from dict.fromkeys((text[start:end], unquote(text[start:end])))
    for expression in (_HEADER, _SCHEME):
        for match in expression.finditer(text):
            yield match["value"]
            yield from _of_header(match["value"])


def find_credentials_in_args(words: tuple[str, ...]) -> Iterator[str]:
    """Yield what is secret in a command: in its words, and after a flag's word."""
    for word in words:
        yield from find_credentials(word)
    for flag, value in pairwise(words):
        match = _FLAG.fullmatch(flag)
        if match is not None and is_secret_name(match[1]) and value[:1] != "-":
            yield value


def find_credentials_in_header(value: str) -> Iterator[str]:
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
            decoded = base64.b64decode(token, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return
        yield decoded
        yield decoded.partition(":")[2]


def _masked_user_info(match: re.Match[str]) -> str:
    user, colon, _ = match[1].partition(":")
    if colon:
        return f"://{user}:{MASKED}@"
    before = match.string[max(match.start() - 5, 0) : match.start()].lower()
    # A user alone is a token over HTTP, and a name anywhere else (ssh://git@host).
    return f"://{MASKED}@" if before.endswith(("http", "https")) else match[0]


def _without_named(text: str) -> str:
    for sign, names, values in _NAMED:
        if sign not in text:
            continue
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
    match = names.search(text)
    while match is not None:
        at = match.end()
        if is_secret_name(unquote(match["name"])) and (value := values.match(text, at)):
            at = value.end()
            yield value.span()
        match = names.search(text, at)


def _masked_header(match: re.Match[str]) -> str:
    return f"{match['name']}{match['sign']}{MASKED}"
