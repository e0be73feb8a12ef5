"""Kubeconfig files: merged, chosen, refused."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from probetui.cluster.errors import ClusterError
from probetui.cluster.kubeconfig import load_access
from probetui.errors import UsageError


def _write(path: Path, **parts: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **parts}))
    return path


def _context(name: str, cluster: str, user: str, **more: str) -> dict[str, Any]:
    return {"name": name, "context": {"cluster": cluster, "user": user, **more}}


def _cluster(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "cluster": {"server": f"https://{name}.test", **fields}}


def _user(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "user": fields}


def test_files_of_kubeconfig_are_merged_and_the_first_one_wins(tmp_path: Path) -> None:
    first = _write(
        tmp_path / "a",
        **{"current-context": "one"},
        clusters=[_cluster("left")],
        contexts=[_context("one", "right", "me", namespace="shop")],
    )
    second = _write(
        tmp_path / "b",
        **{"current-context": "two"},
        clusters=[_cluster("right"), _cluster("left", server="https://late.test")],
        contexts=[_context("one", "left", "me"), _context("two", "left", "me")],
        users=[_user("me", token="secret")],
    )
    environ = {"KUBECONFIG": f"{first}:{tmp_path / 'absent'}:{second}"}

    access = load_access(environ=environ)
    other = load_access(context="two", environ=environ)

    assert (access.context, access.namespace) == ("one", "shop")
    assert access.cluster.server == "https://right.test"
    assert access.user.token == "secret"
    assert (other.cluster.server, other.namespace) == ("https://left.test", "default")


def test_relative_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    folder = tmp_path / "deep"
    config = _write(
        folder / "config",
        **{"current-context": "c"},
        clusters=[_cluster("k", **{"certificate-authority": "ca.pem"})],
        contexts=[_context("c", "k", "u")],
        users=[
            _user(
                "u",
                tokenFile="token",
                exec={"apiVersion": "v1", "command": "./login", "args": ["--now"]},
            )
        ],
    )
    (folder / "ca.pem").write_text("CA")

    access = load_access(str(config), environ={})

    assert access.cluster.ca_data == "CA"
    assert access.user.token_file == folder / "token"
    assert access.user.exec_credential is not None
    assert access.user.exec_credential.command == str(folder / "login")
    assert access.user.exec_credential.args == ("--now",)


def test_data_is_preferred_to_a_file(tmp_path: Path) -> None:
    data = base64.b64encode(b"PEM").decode()
    config = _write(
        tmp_path / "config",
        **{"current-context": "c"},
        clusters=[
            _cluster(
                "k",
                **{"certificate-authority": "/absent", "tls-server-name": "kubernetes"},
                **{"certificate-authority-data": data},
            )
        ],
        contexts=[_context("c", "k", "")],
    )

    cluster = load_access(str(config), environ={}).cluster

    assert (cluster.ca_data, cluster.tls_server_name) == ("PEM", "kubernetes")


def test_a_pod_uses_its_service_account_where_no_file_is(tmp_path: Path) -> None:
    account = tmp_path / "account"
    account.mkdir()
    for name, text in (("token", "t"), ("ca.crt", "CA"), ("namespace", "jobs\n")):
        (account / name).write_text(text)
    environ = {
        "HOME": str(tmp_path),
        "KUBERNETES_SERVICE_HOST": "fd00::1",
        "KUBERNETES_SERVICE_PORT": "443",
    }

    access = load_access(environ=environ, service_account=account)

    assert access.cluster.server == "https://[fd00::1]:443"
    assert (access.namespace, access.user.token_file) == ("jobs", account / "token")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        pytest.param({"contexts": {}}, "no cluster is configured", id="empty"),
        pytest.param(
            {"contexts": [_context("a", "k", "u")]}, "no current context", id="current"
        ),
        pytest.param(
            {"current-context": "b", "contexts": [_context("a", "k", "u")]},
            'no context "b"; there are a',
            id="context",
        ),
        pytest.param(
            {"current-context": "a", "contexts": [_context("a", "k", "u")]},
            'no cluster "k"',
            id="cluster",
        ),
        pytest.param(
            {
                "current-context": "a",
                "contexts": [_context("a", "k", "u")],
                "clusters": [_cluster("k")],
            },
            'no user "u"',
            id="user",
        ),
        pytest.param(
            {
                "current-context": "a",
                "contexts": [_context("a", "k", "")],
                "clusters": [_cluster("k", server="ftp://x")],
            },
            "must be a URL",
            id="server",
        ),
        pytest.param(
            {
                "current-context": "a",
                "contexts": [_context("a", "k", "u")],
                "clusters": [_cluster("k")],
                "users": [_user("u", **{"client-key": "/absent"})],
            },
            "client-key",
            id="key",
        ),
        pytest.param(
            {
                "current-context": "a",
                "contexts": [_context("a", "k", "u")],
                "clusters": [_cluster("k")],
                "users": [_user("u", exec={"command": 3, "apiVersion": "v1"})],
            },
            "exec",
            id="exec",
        ),
        pytest.param({"contexts": ["\x1b[31m"]}, "has no name", id="shape"),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path, parts: dict[str, Any], message: str
) -> None:
    config = _write(tmp_path / "config", **parts)

    with pytest.raises((UsageError, ClusterError), match=message) as caught:
        load_access(str(config), environ={})

    assert str(caught.value).isprintable()


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config")

    with pytest.raises(UsageError, match="FIFO"):
        load_access(str(tmp_path / "config"), environ={})
