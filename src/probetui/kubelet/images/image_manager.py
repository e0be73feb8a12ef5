"""Image pulls: pull policies, and back-off after failed pulls.

Source: images/image_manager.go, v1.32.10, EnsureImageExists, pullImage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from probetui.k8s.pod import Container, Pod, PullPolicy
from probetui.k8s.volume import Secret
from probetui.kubelet.effects import GetImageStatus, PulledImage, PullImage
from probetui.kubelet.images.keyring import Keyring, KeyringError
from probetui.kubelet.runtime.backoff import Backoff
from probetui.kubelet.runtime.go_format import aggregate_errors, go_duration
from probetui.kubelet.runtime.routines import Routine, StepResult
from probetui.kubelet.runtime.turn import TurnBuilder
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

ERR_IMAGE_PULL = "ErrImagePull"
IMAGE_PULL_BACK_OFF = "ImagePullBackOff"
IMAGE_INSPECT_ERROR = "ImageInspectError"
ERR_IMAGE_NEVER_PULL = "ErrImageNeverPull"
INVALID_IMAGE_NAME = "InvalidImageName"

BY_FIRST_WORD = {
    "RegistryUnavailable": "the registry is unavailable",
    "SignatureValidationFailed": "the signature validation failed",
}
"""Errors that the CRI identifies by the first word of their text."""

DOMAIN = re.compile(r"(?:[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)*|\[[0-9a-fA-F:]+\])(?::\d+)?")
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
PATH = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
DIGEST = re.compile(
    r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
)


class EnsuredImage(Struct, frozen=True):
    """The image's ID, or the reason and message of the failure."""

    image_id: str
    reason: str = ""
    message: str = ""


class InvalidImageNameError(ValueError):
    """An image's name is malformed."""


class ImageManager:
    """Pull policy and pull back-off; owned by the engine.

    Args:
        turn: collects the events.
        backoff: windows by pod UID and image.
        rules: those of the kubelet's version.
    """

    def __init__(
        self, turn: TurnBuilder, backoff: Backoff, rules: KubeletRules = PORTED_RULES
    ) -> None:
        self._turn = turn
        self._rules = rules
        self._backoff = backoff
        self._last_errors: dict[str, tuple[str, str]] = {}

    def ensure_image(
        self,
        pod: Pod,
        container: Container,
        now: datetime,
        pull_secrets: Sequence[Secret] = (),
    ) -> Routine[EnsuredImage]:
        """Ensure that a container's image is present, as its pull policy requires.

        Quirk, kept: since 1.32 the event about an image that cannot be inspected names
        no image.
        """
        image = container.image
        try:
            reference = with_default_tag(image)
        except InvalidImageNameError as error:
            why = f'{self._rules.image_name_text} "{image}": {error}'
            message = f'Failed to apply default image tag "{image}": {why}'
            self._turn.warning(pod, "InspectFailed", message, now, container.name)
            return EnsuredImage("", INVALID_IMAGE_NAME, message)
        if container.image_pull_policy is not PullPolicy.ALWAYS:
            status = yield GetImageStatus(reference)
            now = status.at
            if status.error is not None:
                named = image if self._rules.names_inspected_image else ""
                message = f'Failed to inspect image "{named}": {status.error}'
                self._turn.warning(pod, "InspectFailed", message, now, container.name)
                return EnsuredImage("", IMAGE_INSPECT_ERROR, message)
            if isinstance(status.value, str):
                message = self._rules.image_present_text.format(image=image)
                self._turn.normal(pod, "Pulled", message, now, container.name)
                return EnsuredImage(status.value)
            if container.image_pull_policy is PullPolicy.NEVER:
                message = (
                    f'Container image "{image}" is not present '
                    "with pull policy of Never"
                )
                self._turn.warning(
                    pod, ERR_IMAGE_NEVER_PULL, message, now, container.name
                )
                return EnsuredImage("", ERR_IMAGE_NEVER_PULL, message)
        return (yield from self._pull(pod, container, reference, now, pull_secrets))

    def _pull(
        self,
        pod: Pod,
        container: Container,
        reference: str,
        now: datetime,
        pull_secrets: Sequence[Secret],
    ) -> Routine[EnsuredImage]:
        image = container.image
        key = pull_key(pod, container)
        if self._backoff.is_in_backoff_since_update(key, now):
            message = f'Back-off pulling image "{image}"'
            self._turn.normal(pod, "BackOff", message, now, container.name)
            if self._rules.tells_pull_error and key in self._last_errors:
                name, text = self._last_errors[key]
                message = f"{message}: {name}: {text}"
            return EnsuredImage("", IMAGE_PULL_BACK_OFF, message)
        self._last_errors.pop(key, None)
        self._turn.normal(
            pod, "Pulling", f'Pulling image "{image}"', now, container.name
        )
        pulled = yield from self._pull_with(pod, reference, now, pull_secrets)
        if pulled.error is not None or not isinstance(pulled.value, PulledImage):
            error = pulled.error or "the runtime gave no image"
            message = f'Failed to pull image "{image}": {error}'
            self._turn.warning(pod, "Failed", message, pulled.at, container.name)
            self._backoff.next(key, pulled.at, pulled.at)
            reason, text = _judge_pull_error(image, error)
            self._last_errors[key] = (reason, text)
            return EnsuredImage("", reason, text)
        pull_time = pulled.at - now
        message = self._rules.pulled_text.format(
            image=image,
            exact=go_duration(pull_time),
            time=go_duration(_milliseconds(pull_time)),
            size=pulled.value.size_bytes,
        )
        self._turn.normal(pod, "Pulled", message, pulled.at, container.name)
        self._backoff.gc(pulled.at)
        return EnsuredImage(pulled.value.image_id)

    def _pull_with(
        self, pod: Pod, reference: str, now: datetime, pull_secrets: Sequence[Secret]
    ) -> Routine[StepResult]:
        """Try to pull an image with each credential until one succeeds.

        Source: kuberuntime_image.go, v1.32.10, PullImage.
        """
        try:
            candidates = Keyring(pull_secrets).lookup(repository_of(reference))
        except KeyringError as error:
            return StepResult(now, error=str(error))
        first, *others = candidates or (None,)
        pulled = yield PullImage(pod, reference, self._rules, first)
        errors = [pulled.error or ""]
        for credentials in others:
            if pulled.error is None:
                break
            pulled = yield PullImage(pod, reference, self._rules, credentials)
            errors.append(pulled.error or "")
        if pulled.error is None:
            return pulled
        return replace(pulled, error=aggregate_errors(errors))


def repository_of(image: str) -> str:
    """Return the full name of an image's repository, with its registry.

    Source: pkg/util/parsers, v1.32.10, ParseImageName; distribution/reference.
    """
    name = image.partition("@")[0]
    head, colon, tag = name.rpartition(":")
    if colon and "/" not in tag:
        name = head
    domain, slash, path = name.partition("/")
    if not slash or not _is_domain(domain):
        domain, path = "docker.io", name
    if domain == "index.docker.io":
        domain = "docker.io"
    if domain == "docker.io" and "/" not in path:
        path = f"library/{path}"
    return f"{domain}/{path}"


def with_default_tag(image: str) -> str:
    """Return the image with `:latest` if it has neither a tag nor a digest.

    Raises:
        InvalidImageNameError: it is not an image's name; the text is that of Go.

    Source: pkg/util/parsers, v1.32.10, ParseImageName; distribution/reference.
    """
    name, at, digest = image.partition("@")
    head, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        head, colon, tag = name, "", ""
    domain, slash, path = head.partition("/")
    if not slash or not _is_domain(domain):
        domain, path = "docker.io", head
    shown = "invalid reference format"
    # Go checks the case before the form, and adds which name it was.
    repository = path.partition(":")[0]
    if repository != repository.lower():
        if domain == "docker.io" and "/" not in repository:
            repository = f"library/{repository}"
        raise InvalidImageNameError(
            f"{shown}: repository name ({repository}) must be lowercase"
        )
    is_sound = (
        PATH.fullmatch(path)
        and (not colon or TAG.fullmatch(tag))
        and (not at or DIGEST.fullmatch(digest))
    )
    if not is_sound:
        raise InvalidImageNameError(shown)
    return image if colon or at else f"{image}:latest"


def _is_domain(text: str) -> bool:
    has_mark = "." in text or ":" in text or text == "localhost"
    return (has_mark or text != text.lower()) and bool(DOMAIN.fullmatch(text))


def pull_key(pod: Pod, container: Container) -> str:
    """Return the back-off key for pulls of a container's image."""
    return f"{pod.uid}_{container.image}"


def _judge_pull_error(image: str, error: str) -> tuple[str, str]:
    """Return the reason and message of a failed pull."""
    for word, why in BY_FIRST_WORD.items():
        if error.startswith(word):
            rest = error.removeprefix(word)
            return word, f"image pull failed for {image} because {why}{rest}"
    return ERR_IMAGE_PULL, error


def _milliseconds(length: timedelta) -> timedelta:
    return timedelta(milliseconds=length // timedelta(milliseconds=1))
