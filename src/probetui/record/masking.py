"""Mask: keeps secret values out of texts, in whatever form they are written."""

from __future__ import annotations

import base64
import json
import operator
import re
from collections.abc import Iterable, Iterator
from typing import TypeVar
from urllib.parse import quote, quote_plus

from msgspec.structs import replace

from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import (
    ExecAction,
    HTTPGetAction,
    HTTPHeader,
    LifecycleHandler,
    Probe,
    ProbeHandler,
)
from probetui.k8s.volume import ConfigObject, Secret
from probetui.kubelet.images.keyring import find_passwords, is_pull_secret
from probetui.kubelet.runtime.go_format import go_quote, to_bytes
from probetui.record.credentials import (
    MASKED,
    find_credentials,
    find_credentials_in_args,
    find_credentials_in_header,
    is_secret_name,
    mask_credentials,
)

__all__ = ["MASKED", "Mask", "find_object_secrets", "find_pod_secrets"]

_SHORTEST = 6
"""Shorter values are masked where they stand in a manifest, but not searched for in
other texts: replacing every `1` would destroy more than it hides."""

_LONGEST_ENCODED = 8192
"""Characters of a value that is looked for in its encoded forms, too."""


Handler = TypeVar("Handler", ProbeHandler | None, LifecycleHandler | None)


class Mask:
    """Replaces secret values wherever they occur.

    Values that are known are found as they are, in Base64 (also as part of something
    longer, such as `user:password`), quoted for a URL, and escaped as in JSON or in
    Go's strings. What is secret by its place (a password in a URL, `?api_key=`, the
    header `Authorization`) is masked in any text.

    Args:
        secrets: the known values.
        hides: mask values by their name or place, too.
    """

    def __init__(self, secrets: Iterable[str] = (), *, hides: bool = True) -> None:
        self._hides = hides
        self._secrets: set[str] = set()
        self._forms: tuple[str, ...] = ()
        self._pattern: re.Pattern[str] | None = None
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Mask these values, too, from now on."""
        fresh = {
            secret for secret in secrets if len(secret) >= _SHORTEST
        } - self._secrets
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
    def known(self) -> int:
        """How many values are known; it never falls."""
        return len(self._secrets)

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
        return mask_credentials(text) if self._hides else text

    def value(self, name: str, value: str) -> str:
        """Return the value of a variable or header without what is secret."""
        if self._hides and value and is_secret_name(name):
            return MASKED
        return self.text(value)

    def pod(self, pod: Pod) -> Pod:
        """Return the pod without secrets in its annotations and containers."""
        return replace(
            pod,
            annotations={
                key: self.text(value) for key, value in pod.annotations.items()
            },
            init_containers=tuple(map(self._container, pod.init_containers)),
            containers=tuple(map(self._container, pod.containers)),
        )

    def probe(self, probe: Probe) -> Probe:
        """Return the probe without secrets in its handler."""
        return replace(probe, handler=self._handler(probe.handler))

    def headers(self, headers: tuple[HTTPHeader, ...]) -> tuple[HTTPHeader, ...]:
        """Return headers without the values that are secret; the same if none is."""
        values = [self.value(header.name, header.value) for header in headers]
        if all(map(operator.eq, values, (header.value for header in headers))):
            return headers
        return tuple(
            replace(header, value=value)
            for header, value in zip(headers, values, strict=True)
        )

    def _container(self, container: Container) -> Container:
        startup, liveness = container.startup_probe, container.liveness_probe
        readiness = container.readiness_probe
        return replace(
            container,
            command=tuple(map(self.text, container.command)),
            args=tuple(map(self.text, container.args)),
            env=tuple(
                replace(variable, value=self.value(variable.name, variable.value))
                for variable in container.env
            ),
            post_start=self._handler(container.post_start),
            pre_stop=self._handler(container.pre_stop),
            startup_probe=startup and self.probe(startup),
            liveness_probe=liveness and self.probe(liveness),
            readiness_probe=readiness and self.probe(readiness),
        )

    def _handler(self, handler: Handler) -> Handler:
        match handler:
            case ExecAction():
                return replace(handler, command=tuple(map(self.text, handler.command)))
            case HTTPGetAction():
                path, headers = self.text(handler.path), handler.http_headers
                return replace(handler, path=path, http_headers=self.headers(headers))
            case _:
                return handler


def _forms_of(secret: str) -> Iterator[str]:
    """Yield the forms in which a value may be written."""
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
    for offset, first in enumerate((0, 2, 3)):
        whole = base64.b64encode(bytes(offset) + data)
        text = whole[first : 8 * (offset + len(data)) // 6].decode()
        yield text
        yield text.translate(_URL_SAFE)


_URL_SAFE = str.maketrans("+/", "-_")


def find_pod_secrets(pods: Iterable[Pod]) -> Iterator[str]:
    """Yield the values of variables and headers that are secret by their name."""
    for pod in pods:
        for container in pod.all_containers():
            yield from _secrets_of_container(container)


def find_object_secrets(objects: Iterable[ConfigObject]) -> Iterator[str]:
    """Yield what Secrets hold as text, whatever it is called.

    What has several lines is also yielded line by line: a program seldom prints more
    than one of them. Of an image pull Secret each password is yielded, too.
    """
    for config_object in objects:
        if isinstance(config_object, Secret):
            for value in config_object.data.values():
                text = value.decode(errors="surrogateescape")
                yield text
                yield from text.splitlines()
            if is_pull_secret(config_object):
                yield from find_passwords(config_object)


def _secrets_of_container(container: Container) -> Iterator[str]:
    for variable in container.env:
        if is_secret_name(variable.name):
            yield variable.value
        yield from find_credentials(variable.value)
    yield from find_credentials_in_args(container.command)
    yield from find_credentials_in_args(container.args)
    yield from find_credentials(container.image)
    for handler in container.handlers():
        if isinstance(handler, ExecAction):
            yield from find_credentials_in_args(handler.command)
        if isinstance(handler, HTTPGetAction):
            yield from find_credentials(handler.path)
            for header in handler.http_headers:
                if is_secret_name(header.name):
                    yield from find_credentials_in_header(header.value)
