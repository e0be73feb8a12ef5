"""`kubectl probetui`: found, run and completed by the real kubectl."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.engines import KUBECTL

pytestmark = pytest.mark.kubectl

SCRIPTS = sysconfig.get_path("scripts")
SAMPLES = Path(__file__).parents[2] / "sample_pods"
PATIENCE_SECONDS = 60


def kubectl(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run kubectl where our scripts are on the PATH, with a home of its own."""
    path = f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [KUBECTL, *arguments],
        env={**os.environ, "PATH": path, "HOME": str(home), "KUBECONFIG": ""},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def test_kubectl_lists_the_plugin(tmp_path: Path) -> None:
    listed = kubectl("plugin", "list", home=tmp_path)

    assert f"{SCRIPTS}/kubectl-probetui" in listed.stdout.splitlines()
    assert "warning" not in (listed.stdout + listed.stderr).lower()


def test_kubectl_hands_a_command_and_its_status_on(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    text = (SAMPLES / "exec-liveness.yaml").read_text()
    bad.write_text(text.replace("livenessProbe", "livenesProbe"))

    good = kubectl(
        *("probetui", "check", "-f", str(SAMPLES / "exec-liveness.yaml")), home=tmp_path
    )
    wrong = kubectl("probetui", "check", "-f", str(bad), home=tmp_path)

    assert good.returncode == 0, good.stderr
    assert wrong.returncode == 1, wrong.stderr
    assert "livenesProbe" in wrong.stdout + wrong.stderr


@pytest.mark.parametrize(
    ("typed", "offered", "directive"),
    [
        pytest.param(
            ("ch",),
            ["check\tValidate manifests, and check probes for bad practice."],
            ":4",
            id="a command",
        ),
        pytest.param(
            ("--contain",),
            ["--container\tPrint only facts about these containers. Repeatable."],
            ":4",
            id="an option of watch",
        ),
        pytest.param(
            ("check", "-o", "t"), ["text", "tap"], ":4", id="a value of an option"
        ),
        pytest.param(("check", "-f", ""), [], ":0", id="a file"),
        pytest.param(("demo", "start"), ["startup", "startup-window"], ":4", id="name"),
        pytest.param(("check", "-o", "neither"), [], ":4", id="nothing"),
    ],
)
def test_kubectl_completes_a_word(
    typed: tuple[str, ...], offered: list[str], directive: str, tmp_path: Path
) -> None:
    completion = kubectl("__complete", "probetui", *typed, home=tmp_path)

    assert completion.returncode == 0, completion.stderr
    assert completion.stdout.splitlines() == [*offered, directive]
