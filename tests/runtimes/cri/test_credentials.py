"""Credentials for registries, from Docker's configuration."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.images import registry_credentials
from probetui.untrusted_files import SETTINGS_BYTES

HELPER = """\
#!/bin/sh
read -r registry
echo "{\\"Username\\": \\"helper\\", \\"Secret\\": \\"of $registry\\"}"
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where Docker's configuration is; there is none yet."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return tmp_path / "config.json"


def write(config: Path, **content: Any) -> None:
    config.write_text(json.dumps(content))


def an_auth(user: str, password: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


@pytest.mark.usefixtures("config")
def test_without_a_configuration_there_are_none() -> None:
    assert registry_credentials("registry.test/app:1") is None


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        pytest.param(
            "registry.test:5000/shop/app:1",
            cri.AuthConfig(username="me", password="secret"),
            id="registry",
        ),
        pytest.param(
            "busybox", cri.AuthConfig(username="hub", password="word"), id="the usual"
        ),
        pytest.param("other.test/app", None, id="another registry"),
        pytest.param(
            "token.test/app", cri.AuthConfig(identity_token="t"), id="a token"
        ),
    ],
)
def test_a_registry_gets_its_own(
    config: Path, image: str, expected: cri.AuthConfig | None
) -> None:
    write(
        config,
        auths={
            "registry.test:5000": an_auth("me", "secret"),
            "https://index.docker.io/v1/": an_auth("hub", "word"),
            "token.test": {"auth": "", "identitytoken": "t"},
        },
    )

    assert registry_credentials(image) == expected


def test_a_credential_helper_is_run(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = tmp_path / "docker-credential-test"
    helper.write_text(HELPER)
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    write(config, credHelpers={"registry.test": "test"})

    found = registry_credentials("registry.test/app")

    assert found == cri.AuthConfig(username="helper", password="of registry.test")


@pytest.mark.parametrize("kind", ["large", "FIFO"])
def test_a_configuration_that_cannot_be_read_whole_is_reported(
    config: Path, kind: str
) -> None:
    if kind == "large":
        config.touch()
        os.truncate(config, SETTINGS_BYTES + 1)  # noqa: TID251  # a file of this test
    else:
        os.mkfifo(config)

    with pytest.raises(ContainerRuntimeError, match=str(config)):
        registry_credentials("registry.test/app")


def test_a_missing_credential_helper_is_reported(config: Path) -> None:
    write(config, credHelpers={"registry.test": "none-such"})

    with pytest.raises(ContainerRuntimeError, match="no credentials for registry"):
        registry_credentials("registry.test/app")
