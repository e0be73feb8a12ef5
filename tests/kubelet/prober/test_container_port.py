from __future__ import annotations

import pytest

from probetui.errors import GoError
from probetui.k8s.pod import ContainerPort
from probetui.kubelet.prober.container_port import resolve_port
from probetui.kubelet_rules import rules_of
from tests.builders import a_container

CONTAINER = a_container(
    ports=(
        ContainerPort(8080, "http"),
        ContainerPort(9999),
        ContainerPort(0, "zero"),
        ContainerPort(1, "http"),
        ContainerPort(9090, "8081"),
    )
)


@pytest.mark.parametrize(
    ("port", "number"),
    [
        pytest.param(80, 80, id="a number is taken as it is"),
        pytest.param(1, 1, id="the smallest"),
        pytest.param(65535, 65535, id="the largest"),
        pytest.param("http", 8080, id="the first port of a name counts"),
        pytest.param("8081", 9090, id="a name that is a number beats the number"),
        pytest.param("+080", 80, id="a sign and zeros do no harm"),
        pytest.param("", 9999, id="no name is the first port without one"),
    ],
)
def test_a_port_is_a_number_or_a_name(port: int | str, number: int) -> None:
    assert resolve_port(port, CONTAINER) == number


@pytest.mark.parametrize(
    ("port", "problem"),
    [
        pytest.param(0, "invalid port number: 0", id="zero"),
        pytest.param("-1", "invalid port number: -1", id="below zero"),
        pytest.param("65536", "invalid port number: 65536", id="too large"),
        pytest.param(
            "0009223372036854775807",
            "invalid port number: 9223372036854775807",
            id="the largest integer",
        ),
        pytest.param(
            "9223372036854775808",
            'strconv.Atoi: parsing "9223372036854775808": value out of range',
            id="one more",
        ),
        pytest.param(
            "-9223372036854775808",
            "invalid port number: -9223372036854775808",
            id="the smallest integer",
        ),
        pytest.param("zero", "invalid port number: 0", id="a name of a bad port"),
        pytest.param(
            "https",
            'strconv.Atoi: parsing "https": invalid syntax',
            id="neither name nor number",
        ),
        pytest.param(
            "9" * 5000,
            f'strconv.Atoi: parsing "{"9" * 5000}": value out of range',
            id="more digits than Python reads",
        ),
    ],
)
def test_a_bad_port_is_refused_in_go_s_words(port: int | str, problem: str) -> None:
    with pytest.raises(GoError) as refused:
        resolve_port(port, CONTAINER)

    assert str(refused.value) == problem


def test_a_text_is_only_a_name_from_1_37_on() -> None:
    rules = rules_of("1.37")

    assert resolve_port("8081", CONTAINER, rules) == 9090
    with pytest.raises(GoError, match=r'^port "80" not found$'):
        resolve_port("80", CONTAINER, rules)
