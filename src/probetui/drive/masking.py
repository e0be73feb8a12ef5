"""How values that are secret are kept out of texts, in whatever form they come."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

from probetui.drive.credentials import (
    MASKED,
    credentials_in,
    credentials_in_header,
    credentials_in_words,
    without_credentials,
)
from probetui.drive.secret_names import is_secret_name
from probetui.k8s.config import ConfigObject, Secret
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ExecAction, HTTPGetAction, ProbeType
from probetui.kubelet.go_text import go_quote, to_bytes

__all__ = ["MASKED", "Mask", "secrets_of", "secrets_of_objects"]

_SHORTEST = 6
"""Shorter values are masked where they stand in a manifest, but not searched for in
other texts: replacing every `1` would destroy more than it hides."""

_LONGEST_ENCODED = 8192
"""Characters of a value that is looked for in its encoded forms, too."""


class Mask:
    """Replaces secret values wherever they occur.

    Values that are known are found as they are, in Base64 (also as part of something
    longer, such as `user:password`), quoted for a URL, and escaped as in JSON or in
    Go's strings. What is secret by its place (a password in a URL, `?api_key=`, the
    header `Authorization`) is masked in any text.

    Args:
        secrets: the values that are known.
        hides: values are masked by the name or place that they have, too.
    """

    def __init__(self, secrets: Iterable[str] = (), *, hides: bool = True) -> None:
        self._hides = hides
        self._secrets: set[str] = set()
        self._forms: tuple[str, ...] = ()
        self._pattern: re.Pattern[str] | None = None
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Mask these values as well from now on."""
        fresh = {each for each in secrets if len(each) >= _SHORTEST} - self._secrets
        if not fresh:
            return
        self._secrets |= fresh
        forms = {form for secret in fresh for form in _forms_of(secret)}
        # Longest first, so that a secret which contains another goes as a whole.
        self._forms = tuple(
            sorted(forms | set(self._forms), key=lambda form: (-len(form), form))
        )
        self._pattern = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to mask."""
        return not self._forms and not self._hides

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        # Most texts have none, and to look for all at once takes far longer.
        if any(form in text for form in self._forms):
            if self._pattern is None:
                self._pattern = re.compile("|".join(map(re.escape, self._forms)))
            text = self._pattern.sub(MASKED, text)
        return without_credentials(text) if self._hides else text

    def value(self, name: str, value: str) -> str:
        """Return the value of a variable or header without what is secret."""
        if self._hides and value and is_secret_name(name):
            return MASKED
        return self.text(value)


def _forms_of(secret: str) -> Iterator[str]:
    """Yield a value as it may be written; what is too short for a search is not."""
    yield secret
    if len(secret) > _LONGEST_ENCODED:
        return
    data = to_bytes(secret)
    yield from _base64_forms(data)
    yield from (
        quote(data, safe=""),
        quote(data),
        quote_plus(data),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        go_quote(secret)[1:-1],
    )


def _base64_forms(data: bytes) -> Iterator[str]:
    """Yield what of a value's Base64 is the same whatever stands around it.

    Where it begins at the second or third of three bytes, its first characters hold
    bits of what comes before, as its last ones may of what comes after.
    """
    for offset in range(3):
        whole = base64.b64encode(bytes(offset) + data)
        bits_before, bits = 8 * offset, 8 * (offset + len(data))
        form = whole[-(-bits_before // 6) : bits // 6]
        if len(form) >= _SHORTEST:
            text = form.decode("ascii")
            yield text
            yield text.translate(_URL_SAFE)


_URL_SAFE = str.maketrans("+/", "-_")


def secrets_of(pods: Iterable[Pod]) -> Iterator[str]:
    """Yield the values of variables and headers that are secret by their name."""
    for pod in pods:
        for container in pod.all_containers():
            yield from _secrets_of_container(container)


def secrets_of_objects(objects: Iterable[ConfigObject]) -> Iterator[str]:
    """Yield what Secrets hold as text, whatever it is called.

    What has several lines is also yielded line by line: a program seldom prints more
    than one of them.
    """
    for each in objects:
        if isinstance(each, Secret):
            for value in each.data.values():
                text = value.decode("utf-8", "surrogateescape")
                yield text
                yield from text.splitlines()


def _secrets_of_container(container: Container) -> Iterator[str]:
    for variable in container.env:
        if is_secret_name(variable.name):
            yield variable.value
        yield from credentials_in(variable.value)
    yield from credentials_in_words(container.command)
    yield from credentials_in_words(container.args)
    yield from credentials_in(container.image)
    probes = (container.probe(each) for each in ProbeType)
    handlers = (
        *(each.handler for each in probes if each is not None),
        container.post_start,
        container.pre_stop,
    )
    for handler in handlers:
        if isinstance(handler, ExecAction):
            yield from credentials_in_words(handler.command)
        if isinstance(handler, HTTPGetAction):
            yield from credentials_in(handler.path)
            for header in handler.http_headers:
                if is_secret_name(header.name):
                    yield from credentials_in_header(header.value)
