"""Expanded values beyond the limits of a program's arguments are an error."""

from __future__ import annotations

import pytest

from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
    - name: app
      image: x
      %s
      livenessProbe: {exec: {command: ["true"]}}
      env:
%s
"""
DOUBLING = "\n".join(
    f'        - {{name: A{number}, value: "$(A{number - 1})$(A{number - 1})"}}'
    if number
    else "        - {name: A0, value: xxxxxxxxxxxxxxxx}"
    for number in range(40)
)
HALF = f"        - {{name: HALF, value: {'x' * (600 << 10)}}}"


def problems(field: str, env: str) -> list[str]:
    source = SourceFile("pod.yaml", POD % (field, env))
    return [str(error) for error in load_manifests([source]).errors]


def test_variables_that_double_come_to_an_error_with_their_line() -> None:
    (problem,) = problems("tty: false", DOUBLING)

    assert problem == (
        "pod.yaml:26:23: spec.containers[0].env[15].value: the variables up to here "
        "are larger than 1 MiB"
    )


@pytest.mark.parametrize(
    ("field", "where"),
    [
        pytest.param('args: [a, "$(HALF)$(HALF)"]', "args[1]: expands to", id="a word"),
        pytest.param(
            'command: ["$(HALF)", "$(HALF)"]',
            "command[1]: the arguments up to here are larger",
            id="all",
        ),
        pytest.param(
            'readinessProbe: {exec: {command: ["$(HALF)$(HALF)"]}}',
            "readinessProbe.exec.command[0]: expands to",
            id="of a probe",
        ),
    ],
)
def test_a_command_that_comes_to_too_much_is_an_error(field: str, where: str) -> None:
    (problem,) = problems(field, HALF)

    assert f"spec.containers[0].{where} " in problem
    assert "more than 1 MiB" in problem or "than 1 MiB" in problem
