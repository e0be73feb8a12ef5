from __future__ import annotations

import pytest

from probetui.errors import GoError
from probetui.k8s.pod import ContainerPort
from probetui.kubelet.prober.container_port import resolve_port
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
        pytest.param("65536", "invalid port number: 65536", id="too large"),
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
