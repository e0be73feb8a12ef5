"""Which names of variables, headers, parameters and flags stand for secrets."""

from __future__ import annotations

import re
from functools import lru_cache

_STRONG = re.compile(
    r"token(?!i[sz])|passw(?:or)?d|passphrase|passcode|secret|credential"
    r"|authorization|cookie|(?:api|access|private|signing|encryption|master|ssh)_?key"
    r"|conn(?:ection)?_?str(?:ing)?|session_?id",
    re.IGNORECASE,
)
"""Wherever they stand in a name, it is one of a secret."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_WEAK = frozenset(
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


_LONGEST = 200
"""Characters of a name that are looked at."""


def is_secret_name(name: str) -> bool:
    """Tell whether what is called so holds a secret."""
    return _is_secret(name[:_LONGEST])


@lru_cache(maxsize=4096)
def _is_secret(name: str) -> bool:
    if _STRONG.search(name.replace("-", "_").replace(".", "_")) is not None:
        return True
    if name in _FOLDERS:
        return False
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or words[-1] in _OPEN_LAST:
        return False
    return any(
        (word in _WEAK or _ENDS.search(word) is not None)
        and not (
            word in {"key", "keys"} and number and words[number - 1] in _OPEN_FIRST
        )
        for number, word in enumerate(words)
    )
