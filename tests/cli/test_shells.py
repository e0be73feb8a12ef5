"""The command that opens a shell in a container."""

from __future__ import annotations

import pytest

from probetui.cli.session_options import RuntimeOptions
from probetui.cli.shells import shells
from probetui.k8s.runtime import ContainerID

BEST = ("sh", "-c", "command -v bash >/dev/null && exec bash || exec sh")


@pytest.mark.parametrize(
    ("options", "container_id", "command"),
    [
        pytest.param(
            RuntimeOptions(),
            "docker://abc",
            ("docker", "exec", "-it", "abc"),
            id="docker",
        ),
        pytest.param(
            RuntimeOptions(host="tcp://far:2375", context="near"),
            "docker://abc",
            ("docker", "--host", "tcp://far:2375", "exec", "-it", "abc"),
            id="a host before a context",
        ),
        pytest.param(
            RuntimeOptions(context="near"),
            "docker://abc",
            ("docker", "--context", "near", "exec", "-it", "abc"),
            id="context",
        ),
        pytest.param(
            RuntimeOptions(),
            "containerd://abc",
            ("crictl", "exec", "-it", "abc"),
            id="containerd",
        ),
        pytest.param(
            RuntimeOptions(runtime_endpoint="unix:///run/some.sock"),
            "cri-o://abc",
            (
                "crictl",
                "--runtime-endpoint",
                "unix:///run/some.sock",
                *("exec", "-it", "abc"),
            ),
            id="endpoint",
        ),
    ],
)
def test_the_runtimes_own_program_opens_the_best_shell_there_is(
    options: RuntimeOptions, container_id: str, command: tuple[str, ...]
) -> None:
    assert shells(options)(ContainerID(container_id)) == (*command, *BEST)


@pytest.mark.parametrize("container_id", ["process://abc", "", "container000"])
def test_elsewhere_there_is_no_shell(container_id: str) -> None:
    assert shells(RuntimeOptions())(ContainerID(container_id)) == ()
