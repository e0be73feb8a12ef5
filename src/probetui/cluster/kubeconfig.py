"""Kubeconfig files as kubectl reads them: several, merged, with contexts.

Source: k8s.io/client-go tools/clientcmd/loader.go, v0.32.10, Load (the first file that
sets a cluster, user, context or current-context wins; relative paths are relative to
their file); client_config.go, ConfirmUsable and inClusterClientConfig.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct, field

from probetui.cluster.errors import ClusterError
from probetui.errors import UsageError
from probetui.manifest.yaml.parser import YAML_LOADER
from probetui.safe_text import safe_line
from probetui.untrusted_files import read_settings

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ApiServerInfo(Struct, frozen=True):
    """The address of an API server, and how to verify it.

    `ca_data` is the PEM text of the certificate authorities, None for the system's.
    """

    server: str
    ca_data: str | None = None
    insecure: bool = False
    tls_server_name: str | None = None
    proxy_url: str | None = None
    disable_compression: bool = False


class ExecCredential(Struct, frozen=True):
    """A credential plugin; `command` is the path that is run."""

    command: str
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    api_version: str
    install_hint: str
    provides_cluster_info: bool
    is_interactive: bool


class UserCredentials(Struct, frozen=True):
    """The credentials of a user; `cert_data` and `key_data` are PEM texts."""

    token: str | None = None
    token_file: Path | None = None
    username: str | None = None
    password: str | None = None
    cert_data: str | None = None
    key_data: str | None = None
    exec_credential: ExecCredential | None = None
    impersonates: str | None = None
    impersonates_groups: tuple[str, ...] = ()
    impersonates_uid: str | None = None


class ClusterAccess(Struct, frozen=True):
    """A context resolved to its cluster and user."""

    context: str
    namespace: str
    cluster: ApiServerInfo
    user: UserCredentials


class _Item(Struct):
    """A named entry of one of the lists, with the folder of its file."""

    folder: Path
    value: dict[str, Any]


class _Merged(Struct):
    clusters: dict[str, _Item] = field(default_factory=dict)
    users: dict[str, _Item] = field(default_factory=dict)
    contexts: dict[str, _Item] = field(default_factory=dict)
    current: str = ""


def load_access(
    kubeconfig: str | None = None,
    context: str | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    service_account: Path = SERVICE_ACCOUNT,
) -> ClusterAccess:
    """Load the cluster access that the options and the environment select.

    Args:
        kubeconfig: the file of `--kubeconfig`, None for KUBECONFIG (several files,
            merged), `~/.kube/config`, or the service account of this pod.
        context: the value of `--context`, None for the current context.
        environ: the environment; that of this process by default.
        service_account: the folder of the service account.

    Raises:
        UsageError: a file or a name in it is wrong.
        ClusterError: there is no kubeconfig at all.
    """
    environ = os.environ if environ is None else environ
    paths, may_be_missing = _paths(kubeconfig, environ)
    merged = _merge(paths, may_be_missing=may_be_missing)
    name = context or merged.current
    if not name and not merged.contexts:
        inside = _in_cluster(environ, service_account)
        if inside is not None and kubeconfig is None:
            return inside
        tried = ", ".join(map(str, paths))
        raise ClusterError(
            f"no cluster is configured: {tried} has no context; --kubeconfig FILE or "
            "KUBECONFIG names another file"
        )
    return _select(merged, name)


def _paths(
    kubeconfig: str | None, environ: Mapping[str, str]
) -> tuple[list[Path], bool]:
    if kubeconfig is not None:
        return [Path(kubeconfig).expanduser()], False
    listed = [part for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if listed:
        return [Path(part) for part in dict.fromkeys(listed)], True
    home = Path(environ.get("HOME") or Path.home())
    return [home / ".kube" / "config"], True


def _merge(paths: Sequence[Path], *, may_be_missing: bool) -> _Merged:
    merged = _Merged()
    for path in paths:
        document = _read(path, may_be_missing=may_be_missing)
        folder = path.absolute().parent
        for key, members in (
            ("clusters", merged.clusters),
            ("users", merged.users),
            ("contexts", merged.contexts),
        ):
            for name, value in _members(document, key, path):
                members.setdefault(name, _Item(folder, value))
        current = document.get("current-context")
        if not merged.current and isinstance(current, str):
            merged.current = current
    return merged


def _read(path: Path, *, may_be_missing: bool) -> dict[str, Any]:
    try:
        data = read_settings(path)
    except FileNotFoundError as error:
        if may_be_missing:
            return {}
        raise UsageError(f"{path}: {error.strerror}") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    try:
        document = yaml.load(data, YAML_LOADER)  # noqa: S506  # a safe one, in C
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        text = safe_line(str(error).replace("\n", "; "), limit=300)
        raise UsageError(f"{path}: not a kubeconfig: {text}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise UsageError(f"{path}: not a kubeconfig: it is not a mapping")
    return document


def _members(
    document: dict[str, Any], key: str, path: Path
) -> list[tuple[str, dict[str, Any]]]:
    listed = document.get(key) or []
    if not isinstance(listed, list):
        raise UsageError(f"{path}: {key} must be a list")
    members = []
    for member in listed:
        value = member.get(key[:-1]) if isinstance(member, dict) else None
        name = member.get("name") if isinstance(member, dict) else None
        if not isinstance(name, str):
            raise UsageError(f"{path}: a member of {key} has no name")
        members.append((name, value if isinstance(value, dict) else {}))
    return members


def _select(merged: _Merged, name: str) -> ClusterAccess:
    if not name:
        raise UsageError(f"no current context; --context names one of {_all(merged)}")
    context = merged.contexts.get(name)
    if context is None:
        raise UsageError(f'no context "{safe_line(name)}"; there are {_all(merged)}')
    cluster_name = _text(context, "cluster", f"context {name}") or ""
    user_name = _text(context, "user", f"context {name}") or ""
    cluster = merged.clusters.get(cluster_name)
    if cluster is None:
        raise UsageError(
            f'context "{safe_line(name)}": no cluster "{safe_line(cluster_name)}"'
        )
    user = merged.users.get(user_name)
    if user is None and user_name:
        raise UsageError(
            f'context "{safe_line(name)}": no user "{safe_line(user_name)}"'
        )
    return ClusterAccess(
        context=safe_line(name),
        namespace=_text(context, "namespace", f"context {name}") or "default",
        cluster=_cluster(cluster, cluster_name),
        user=UserCredentials() if user is None else _user(user, user_name),
    )


def _all(merged: _Merged) -> str:
    return safe_line(", ".join(sorted(merged.contexts)), limit=500) or "none"


def _cluster(item: _Item, name: str) -> ApiServerInfo:
    where = f"cluster {name}"
    server = (_text(item, "server", where) or "").rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise UsageError(f"{safe_line(where)}: server must be a URL of http or https")
    insecure = item.value.get("insecure-skip-tls-verify") is True
    ca_data = _pem(item, "certificate-authority", where)
    if insecure and ca_data:
        raise UsageError(
            f"{safe_line(where)}: certificate-authority and insecure-skip-tls-verify "
            "exclude each other"
        )
    return ApiServerInfo(
        server=server,
        ca_data=ca_data,
        insecure=insecure,
        tls_server_name=_text(item, "tls-server-name", where),
        proxy_url=_text(item, "proxy-url", where),
    )


def _user(item: _Item, name: str) -> UserCredentials:
    where = f"user {name}"
    if item.value.get("auth-provider"):
        raise UsageError(
            f"{safe_line(where)}: auth-provider was removed from Kubernetes 1.26; use "
            "an exec credential"
        )
    token_file = _text(item, "tokenFile", where)
    cert_data = _pem(item, "client-certificate", where)
    key_data = _pem(item, "client-key", where)
    if (cert_data is None) != (key_data is None):
        raise UsageError(
            f"{safe_line(where)}: client-certificate and client-key belong together"
        )
    groups = item.value.get("as-groups") or []
    return UserCredentials(
        token=_text(item, "token", where),
        token_file=None if token_file is None else item.folder / token_file,
        username=_text(item, "username", where),
        password=_text(item, "password", where),
        cert_data=cert_data,
        key_data=key_data,
        exec_credential=_exec(item, where),
        impersonates=_text(item, "as", where),
        impersonates_groups=tuple(map(str, groups if isinstance(groups, list) else [])),
        impersonates_uid=_text(item, "as-uid", where),
    )


class _EnvVar(Struct):
    name: str
    value: str


class _Exec(Struct, rename="camel"):
    command: str
    api_version: str
    args: list[str] | None = None
    env: list[_EnvVar] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


def _exec(item: _Item, where: str) -> ExecCredential | None:
    settings = item.value.get("exec")
    if settings is None:
        return None
    try:
        read = msgspec.convert(settings, _Exec)
    except msgspec.ValidationError as error:
        raise UsageError(f"{safe_line(where)}: exec: {safe_line(str(error))}") from None
    # As a shell would: a name with a slash is relative to the kubeconfig.
    has_folder = "/" in read.command
    return ExecCredential(
        command=str(item.folder / read.command) if has_folder else read.command,
        args=tuple(read.args or ()),
        env=tuple((pair.name, pair.value) for pair in read.env or ()),
        api_version=read.api_version,
        install_hint=safe_line(read.install_hint),
        provides_cluster_info=read.provide_cluster_info,
        is_interactive=read.interactive_mode == "Always",
    )


def _text(item: _Item, key: str, where: str) -> str | None:
    value = item.value.get(key)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise UsageError(f"{safe_line(where)}: {key} must be a string")
    return value


def _pem(item: _Item, key: str, where: str) -> str | None:
    """Return a certificate or key, inline or from its file."""
    data = _text(item, f"{key}-data", where)
    if data is not None:
        try:
            return base64.b64decode(data, validate=False).decode()
        except (binascii.Error, ValueError) as error:
            raise UsageError(
                f"{safe_line(where)}: {key}-data is not base64-encoded PEM"
            ) from error
    name = _text(item, key, where)
    if name is None:
        return None
    path = item.folder / name
    try:
        return read_settings(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{safe_line(where)}: {key}: {safe_line(str(error))}"
        ) from error


def _in_cluster(
    environ: Mapping[str, str], service_account: Path
) -> ClusterAccess | None:
    """Return the access of the pod that this program runs in, None outside a pod."""
    host = environ.get("KUBERNETES_SERVICE_HOST")
    port = environ.get("KUBERNETES_SERVICE_PORT")
    token_file = service_account / "token"
    if not host or not port or not token_file.is_file():
        return None
    host = f"[{host}]" if ":" in host else host
    try:
        ca_data = read_settings(service_account / "ca.crt").decode()
        namespace = read_settings(service_account / "namespace").decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ClusterError(f"the service account of this pod: {error}") from error
    return ClusterAccess(
        context="in-cluster",
        namespace=namespace or "default",
        cluster=ApiServerInfo(server=f"https://{host}:{port}", ca_data=ca_data),
        user=UserCredentials(token_file=token_file),
    )
