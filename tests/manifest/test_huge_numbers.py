"""Numbers beyond the range of a field: the errors of the API server, with positions."""

from __future__ import annotations

import pytest

from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile

MANIFEST = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  terminationGracePeriodSeconds: %s
  containers:
    - name: app
      image: x
      livenessProbe:
        tcpSocket: {port: 80}
        periodSeconds: %s
"""
PERIOD = "Probe.spec.containers.livenessProbe.periodSeconds of type int32"
GRACE = "PodSpec.spec.terminationGracePeriodSeconds of type int64"


def problems(grace: str = "30", period: str = "10") -> list[str]:
    source = SourceFile("pod.yaml", MANIFEST % (grace, period))
    return [str(error) for error in load_manifests([source]).errors]


@pytest.mark.parametrize(
    ("period", "expected_error"),
    [
        pytest.param("2147483648", "number 2147483648 into", id="beyond int32"),
        pytest.param("-2147483649", "number -2147483649 into", id="below int32"),
        pytest.param("0x80000000", "number 2147483648 into", id="hexadecimal"),
        pytest.param("0o20000000000", "number 2147483648 into", id="octal"),
        pytest.param("2_147_483_648", "number 2147483648 into", id="underscored"),
        pytest.param(
            "18446744073709551616", "number 18446744073709552000 into", id="64"
        ),
        pytest.param("1.5", "number 1.5 into", id="a fraction"),
        pytest.param("1e10", "number 10000000000 into", id="an exponent"),
        pytest.param("1e21", "number 1e+21 into", id="a large exponent"),
        pytest.param("1e-7", "number 1e-7 into", id="a small exponent"),
    ],
)
def test_a_period_beyond_int32_has_the_error_of_the_api_server(
    period: str, expected_error: str
) -> None:
    (problem,) = problems(period=period)

    assert problem.startswith(
        "pod.yaml:11:9: spec.containers[0].livenessProbe.periodSeconds: is the number "
    )
    assert (
        f"(json: cannot unmarshal {expected_error} Go struct field {PERIOD})" in problem
    )


@pytest.mark.parametrize(
    ("period", "expected_error"),
    [
        pytest.param(".inf", "json: unsupported value: +Inf", id="infinite"),
        pytest.param("-.INF", "json: unsupported value: -Inf", id="minus infinite"),
        pytest.param(".nan", "json: unsupported value: NaN", id="no number"),
    ],
)
def test_a_number_that_json_lacks_is_an_error(period: str, expected_error: str) -> None:
    (problem,) = problems(period=period)

    assert f"({expected_error})" in problem


def test_a_number_that_is_too_large_for_yaml_is_text() -> None:
    (problem,) = problems(period="1e400")

    assert 'is the string "1e400", must be a whole number of seconds' in problem


def test_a_grace_period_beyond_int64_has_the_error_of_the_api_server() -> None:
    (problem,) = problems(grace="9223372036854775808")

    assert f"number 9223372036854775808 into Go struct field {GRACE})" in problem


@pytest.mark.parametrize(
    ("grace", "counts"),
    [
        pytest.param("9223372036854775807", 2**31 - 1, id="the largest int64"),
        pytest.param("-9223372036854775808", -(2**31) + 1, id="the smallest int64"),
        pytest.param("-0", 0, id="minus nothing"),
    ],
)
def test_a_grace_period_that_no_clock_can_count_is_cut(grace: str, counts: int) -> None:
    source = SourceFile("pod.yaml", MANIFEST % (grace, "10"))

    (loaded,) = load_manifests([source]).loaded

    assert loaded.pod.termination_grace_period_seconds == counts
