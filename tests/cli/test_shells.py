"""The command that opens a shell in a container."""

from __future__ import annotations

import sys

import pytest

from probetui.cli.shells import shells
from probetui.k8s.runtime import ContainerID
from probetui.presentation.reach import AT_HAND, Reach

BEST = ("sh", "-c", "command -v bash >/dev/null && exec bash || exec sh")
FAR = Reach(("-H", "tcp://far:2375"), ("-r", "unix:///run/some.sock"))


@pytest.mark.parametrize(
    ("reach", "container_id", "command"),
    [
        pytest.param(
            AT_HAND, "docker://abc", "docker exec -it abc", id="docker at hand"
        ),
        pytest.param(
            FAR, "docker://abc", "docker -H tcp://far:2375 exec -it abc", id="docker"
        ),
        pytest.param(
            AT_HAND, "containerd://abc", "crictl exec -it abc", id="containerd at hand"
        ),
        pytest.param(
            FAR,
            "cri-o://abc",
            "crictl -r unix:///run/some.sock exec -it abc",
            id="another endpoint",
        ),
        pytest.param(
            AT_HAND,
            "process://abc",
            f"{sys.executable} -m probetui exec process://abc",
            id="process",
        ),
    ],
)
def test_the_runtimes_own_program_opens_the_best_shell_there_is(
    reach: Reach, container_id: str, command: str
) -> None:
    assert shells(reach)(ContainerID(container_id)) == (*command.split(" "), *BEST)


@pytest.mark.parametrize("container_id", ["", "container000"])
def test_elsewhere_there_is_no_shell(container_id: str) -> None:
    assert shells(AT_HAND)(ContainerID(container_id)) == ()
