"""The command that opens a shell in a container."""

from __future__ import annotations

import sys

import pytest

from probetui.analysis.reproduce import LOCAL_REACH, CommandLineReach
from probetui.cli.session.screen import shell_commands
from probetui.k8s.runtime import ContainerID

BEST = ("sh", "-c", "command -v bash >/dev/null && exec bash || exec sh")
FAR = CommandLineReach(("-H", "tcp://far:2375"), ("-r", "unix:///run/some.sock"))


@pytest.mark.parametrize(
    ("reach", "container_id", "command"),
    [
        pytest.param(
            LOCAL_REACH, "docker://abc", "docker exec -it abc", id="docker at hand"
        ),
        pytest.param(
            FAR, "docker://abc", "docker -H tcp://far:2375 exec -it abc", id="docker"
        ),
        pytest.param(
            LOCAL_REACH,
            "containerd://abc",
            "crictl exec -it abc",
            id="containerd at hand",
        ),
        pytest.param(
            FAR,
            "cri-o://abc",
            "crictl -r unix:///run/some.sock exec -it abc",
            id="another endpoint",
        ),
        pytest.param(
            LOCAL_REACH,
            "process://abc",
            f"{sys.executable} -m probetui exec process://abc",
            id="process",
        ),
    ],
)
def test_the_runtimes_client_opens_the_best_available_shell(
    reach: CommandLineReach, container_id: str, command: str
) -> None:
    assert shell_commands(reach)(ContainerID(container_id)) == (
        *command.split(" "),
        *BEST,
    )


@pytest.mark.parametrize("container_id", ["", "container000"])
def test_other_runtimes_have_no_shell_command(container_id: str) -> None:
    assert shell_commands(LOCAL_REACH)(ContainerID(container_id)) == ()
