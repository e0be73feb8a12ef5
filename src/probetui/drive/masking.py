"""Which values are secret by their name, and how they are kept out of texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from probetui.k8s.config import ConfigObject, Secret
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import HTTPGetAction, ProbeType

MASKED = "***"

_SECRET_NAME = re.compile(
    r"token|key|passw(?:or)?d|passphrase|secret|credential|authorization|cookie",
    re.IGNORECASE,
)

_SHORTEST = 6
"""Shorter values are masked where they stand in a manifest, but not searched for in
other texts: replacing every `1` would destroy more than it hides."""


def is_secret_name(name: str) -> bool:
    """Tell whether a variable or header of that name holds a secret."""
    return _SECRET_NAME.search(name) is not None


class Mask:
    """Replaces known secret values wherever they occur.

    Args:
        secrets: the values; an empty collection masks nothing.
        hides: values are masked by the name that they stand beside, too.
    """

    def __init__(self, secrets: Iterable[str] = (), *, hides: bool = True) -> None:
        self._hides = hides
        self._secrets: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Mask these values as well from now on."""
        self._secrets.update(each for each in secrets if len(each) >= _SHORTEST)
        # Longest first, so that a secret which contains another goes as a whole.
        known = sorted(
            self._secrets,
            key=lambda each: (-len(each), each),
        )
        pattern = "|".join(re.escape(each) for each in known)
        self._pattern = re.compile(pattern) if pattern else None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to mask."""
        return self._pattern is None

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        return self._pattern.sub(MASKED, text) if self._pattern else text

    def value(self, name: str, value: str) -> str:
        """Return the value of a variable or header without what is secret."""
        if self._hides and value and is_secret_name(name):
            return MASKED
        return self.text(value)


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
    probes = (container.probe(each) for each in ProbeType)
    handlers = (
        *(each.handler for each in probes if each is not None),
        container.post_start,
        container.pre_stop,
    )
    for handler in handlers:
        if isinstance(handler, HTTPGetAction):
            for header in handler.http_headers:
                if is_secret_name(header.name):
                    yield header.value
