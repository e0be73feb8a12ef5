"""The keyring of a pod: the registry credentials in its image pull Secrets.

Difference: a kubelet also has credentials of the node, and tries those after the pod's
own. Here the container engine has them, and they are used if no Secret has credentials
for an image.

Source: pkg/credentialprovider/keyring.go, config.go, secrets/secrets.go, v1.32.10;
kubelet_pods.go, getPullSecretsForPod.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

import msgspec
from msgspec import Struct

from probetui.k8s.pod import Pod
from probetui.k8s.volume import Secret
from probetui.kubelet.effects import RegistryCredentials
from probetui.kubelet.object_store import ConfigRefusal, ObjectStore

_DEFAULT_REGISTRY = "index.docker.io"
_HUB_NAMES = frozenset({"docker.io", _DEFAULT_REGISTRY})
_API_PATHS = ("/v1/", "/v2/")
_SCHEMES = ("https://", "http://")
_PARTS = re.compile(r"(?:[^/?#@]*@)?(?P<host>[^/?#]*)(?P<path>[^?#]*)")
_HOST_PORT = re.compile(
    r"(?:\[(?P<inner>[^\[\]]*)\]|(?P<plain>[^:\[\]]*)):(?P<port>[^:]*)"
)
_NO_BASE64 = re.compile(r"[^A-Za-z0-9+/]")
_WILDCARDS = frozenset("*?[")
_LINE_ENDS = str.maketrans("", "", "\r\n")


class KeyringError(Exception):
    """A Secret's credentials do not have the form of its type."""


class _Login(Struct):
    """The credentials for one registry, as `docker login` writes them."""

    username: str | None = None
    password: str | None = None
    auth: str | None = None


class _DockerConfig(Struct):
    auths: dict[str, _Login | None] | None = None


_Logins = dict[str, _Login | None]


def _decode_config(text: str) -> _Logins:
    return msgspec.json.decode(text, type=_DockerConfig).auths or {}


def _decode_cfg(text: str) -> _Logins:
    return msgspec.json.decode(text, type=_Logins | None) or {}


class _Format(NamedTuple):
    key: str
    decode: Callable[[str], _Logins]


_FORMATS: Mapping[str, _Format] = {
    "kubernetes.io/dockerconfigjson": _Format(".dockerconfigjson", _decode_config),
    "kubernetes.io/dockercfg": _Format(".dockercfg", _decode_cfg),
}
"""The format of credentials, by the type of a Secret."""


def _read_logins(secret: Secret) -> _Logins:
    """Return the entries of a pull Secret.

    Raises:
        KeyringError: they are no Docker configuration, or nested too deeply.
    """
    form = _FORMATS[secret.type]
    # As in Go, bytes that are no UTF-8 are replaced.
    text = secret.data.get(form.key, b"").decode(errors="replace")
    try:
        return form.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise KeyringError(
            f"{form.key} of secret {secret.namespace}/{secret.name} is no Docker "
            "configuration"
        ) from error


def find_pull_secrets(
    pod: Pod, objects: ObjectStore
) -> tuple[tuple[Secret, ...], tuple[str, ...]]:
    """Return the pull Secrets of a pod, and the names of missing ones."""
    secrets: list[Secret] = []
    missing: list[str] = []
    for name in filter(None, pod.image_pull_secrets):
        secret = objects.secret(pod.namespace, name)
        if isinstance(secret, ConfigRefusal):
            missing.append(name)
        else:
            secrets.append(secret)
    return tuple(secrets), tuple(missing)


def is_pull_secret(secret: Secret) -> bool:
    """Return whether a Secret's type is for registry credentials."""
    return secret.type in _FORMATS


def mask_pull_secret(secret: Secret, masked: str) -> Secret:
    """Return a pull Secret with users and passwords masked, and its registries.

    Malformed data stays malformed, with the same error.
    """
    data = dict.fromkeys(secret.data, masked.encode())
    form = _FORMATS[secret.type]
    try:
        entries = _read_logins(secret)
    except KeyringError:
        return msgspec.structs.replace(secret, data=data)
    hidden = {place: _mask_entry(entry, masked) for place, entry in entries.items()}
    whole = hidden if form.decode is _decode_cfg else {"auths": hidden}
    data[form.key] = msgspec.json.encode(whole)
    return msgspec.structs.replace(secret, data=data)


def find_passwords(secret: Secret) -> Iterable[str]:
    """Yield the passwords in a pull Secret, plain and as encoded in it."""
    try:
        entries = _read_logins(secret)
    except KeyringError:
        return
    for entry in filter(None, entries.values()):
        yield from filter(None, (entry.auth, entry.password))
        try:
            yield _read_entry(entry).password
        except KeyringError:
            continue


class Keyring:
    """Credentials by registry, or by a path in one.

    Args:
        secrets: the pull Secrets of a pod; others have no credentials.

    Raises:
        KeyringError: one of them is malformed.
    """

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self._credentials: defaultdict[str, list[RegistryCredentials]]
        self._credentials = defaultdict(list)
        for secret in secrets:
            for place, credentials in _read_secret(secret):
                if (key := _registry_key(place)) is not None:
                    self._credentials[key].append(credentials)

    def lookup(self, repository: str) -> tuple[RegistryCredentials, ...]:
        """Return the credentials for a repository, the most specific ones first.

        Args:
            repository: an image's name with its registry, without tag and digest.
        """
        matching = [
            credentials
            for key in sorted(self._credentials, reverse=True)
            if _matches(key, repository)
            for credentials in self._credentials[key]
        ]
        if not matching and _is_of_default_registry(repository):
            matching = self._credentials.get(_DEFAULT_REGISTRY, [])
        return tuple(matching)


def _read_secret(secret: Secret) -> Iterable[tuple[str, RegistryCredentials]]:
    form = _FORMATS.get(secret.type)
    if form is None or not secret.data.get(form.key):
        return []
    entries = _read_logins(secret)
    return [(place, _read_entry(entry)) for place, entry in entries.items()]


def _read_entry(entry: _Login | None) -> RegistryCredentials:
    """Return the credentials of an entry; `auth` takes precedence."""
    entry = entry or _Login()
    if not entry.auth:
        return RegistryCredentials(entry.username or "", entry.password or "")
    decoded = _decode_auth(entry.auth)
    username, colon, password = decoded.partition(":")
    if not colon:
        raise KeyringError(
            "unable to parse auth field, must be formatted as base64(username:password)"
        )
    return RegistryCredentials(username, password)


def _decode_auth(text: str) -> str:
    is_padded = text.strip().endswith("=")
    plain = text.translate(_LINE_ENDS)
    padding = "" if is_padded else "=" * (-len(plain) % 4)
    try:
        return base64.b64decode(plain + padding, validate=True).decode()
    except (binascii.Error, ValueError) as error:
        # Of a padding of two, Go misses the second sign behind the text.
        is_half_padded = -len(plain) % 4 == 1
        bad = _NO_BASE64.search(plain.removesuffix("=") if is_half_padded else plain)
        at = len(plain) if bad is None else bad.start()
        raise KeyringError(f"illegal base64 data at input byte {at}") from error


def _mask_entry(entry: _Login | None, masked: str) -> Mapping[str, str]:
    try:
        _read_entry(entry)
    except KeyringError:
        letters = re.sub(r"[A-Za-z0-9+/]", "A", (entry and entry.auth) or "")
        return {"auth": letters}
    return {"username": masked, "password": masked}


def _registry_key(place: str) -> str | None:
    """Return the host and path of a registry that credentials are for."""
    for scheme in _SCHEMES:
        if place.startswith(scheme):
            place = place.removeprefix(scheme)
            break
    match = _PARTS.match(place)
    if match is None:
        return None
    path = match["path"]
    if path.startswith(_API_PATHS):
        path = path[len("/v1") :]
    return match["host"] if path in {"", "/"} else match["host"] + path


def _matches(key: str, repository: str) -> bool:
    """Return whether credentials match a repository; hosts may have wildcards."""
    registry, image = _PARTS.match(key), _PARTS.match(repository)
    if registry is None or image is None:
        return False
    wanted_host, wanted_port = _split_port(registry["host"])
    host, port = _split_port(image["host"])
    globs, parts = wanted_host.split("."), host.split(".")
    return (
        wanted_port == port
        and len(globs) == len(parts)
        and image["path"].startswith(registry["path"])
        and all(map(_matches_part, parts, globs))
    )


def _matches_part(part: str, glob: str) -> bool:
    # Most hosts have no wildcard, and each pattern costs a regular expression.
    return part == glob or (bool(_WILDCARDS & {*glob}) and fnmatchcase(part, glob))


def _split_port(host: str) -> tuple[str, str]:
    match = _HOST_PORT.fullmatch(host)
    if match is None:
        return host, ""
    return match["inner"] or match["plain"] or "", match["port"]


def _is_of_default_registry(repository: str) -> bool:
    host, slash, _ = repository.partition("/")
    if not host:
        return False
    return not slash or host in _HUB_NAMES or not {".", ":"} & {*host}
