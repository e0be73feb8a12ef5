"""Variables and commands that come to more than any program can be started with.

The API server takes them: `$(A)$(A)` in a row of variables doubles with each, so that
some lines come to gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lightkube.models import core_v1

from probetui.k8s.expansion import MOST_BYTES, ExpansionTooLargeError, expand
from probetui.manifest.api_warnings import containers_with_paths
from probetui.manifest.notices import Notice

_RULE = "too-large"
_LIMIT = f"{MOST_BYTES >> 20} MiB"


def too_large(pod: core_v1.Pod) -> Iterator[Notice]:
    """Yield what of a pod expands to too much, as far as the manifest alone tells."""
    if pod.spec is None:
        return
    for path, container in containers_with_paths(pod.spec):
        variables: dict[bytes, bytes] = {}
        size = 0
        for index, variable in enumerate(container.env or ()):
            name = _bytes(variable.name)
            try:
                variables[name] = expand(_bytes(variable.value or ""), variables)
            except ExpansionTooLargeError as error:
                yield Notice(f"{path}.env[{index}].value", str(error), _RULE)
                break
            size += len(name) + len(variables[name])
            if size > MOST_BYTES:
                message = f"the variables are larger than {_LIMIT} up to here"
                yield Notice(f"{path}.env[{index}].value", message, _RULE)
                break
        else:
            yield from _commands(container, path, variables)


def _commands(
    container: core_v1.Container, path: str, variables: Mapping[bytes, bytes]
) -> Iterator[Notice]:
    for field, words in _words(container):
        size = 0
        for index, word in enumerate(words or ()):
            try:
                size += len(expand(_bytes(word), variables))
            except ExpansionTooLargeError as error:
                yield Notice(f"{path}.{field}[{index}]", str(error), _RULE)
                break
            if size > MOST_BYTES:
                message = f"is larger than {_LIMIT} up to here"
                yield Notice(f"{path}.{field}[{index}]", message, _RULE)
                break


def _words(
    container: core_v1.Container,
) -> Iterator[tuple[str, Iterable[str] | None]]:
    """Yield every list of words in which variables are expanded."""
    yield "command", container.command
    yield "args", container.args
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = getattr(container, name)
        if probe is not None and probe.exec is not None:
            yield f"{name}.exec.command", probe.exec.command


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
