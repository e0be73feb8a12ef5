"""Secrets, known by the names of their variables and headers."""

from __future__ import annotations

import pytest

from probetui.drive.masking import (
    Mask,
    is_secret_name,
    secrets_of,
    secrets_of_objects,
)
from probetui.k8s.config import ConfigMap, Secret
from probetui.k8s.pod import Container, EnvVar, Pod
from probetui.k8s.probe import HTTPGetAction, HTTPHeader, Probe


@pytest.mark.parametrize(
    "name",
    [
        "API_TOKEN",
        "apiKey",
        "DB_PASSWORD",
        "PGPASSWD",
        "CLIENT_SECRET",
        "Authorization",
        "X-Auth-Token",
        "Cookie",
    ],
)
def test_a_name_that_holds_secrets_is_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["PATH", "PORT", "LOG_LEVEL", "Accept", "Host"])
def test_any_other_name_is_not_secret(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("name", "value", "hides", "shown"),
    [
        pytest.param("TOKEN", "x", True, "***", id="by its name, however short"),
        pytest.param("TOKEN", "x", False, "x", id="by its name, but to be shown"),
        pytest.param("TOKEN", "", True, "", id="nothing to hide"),
        pytest.param("MODE", "x", True, "x", id="not secret"),
        pytest.param("MODE", "a hunter22 b", True, "a *** b", id="a known one in it"),
    ],
)
def test_a_value_is_masked_by_the_name_beside_it(
    name: str,
    value: str,
    hides: bool,  # noqa: FBT001  # a row of the table
    shown: str,
) -> None:
    mask = Mask(["hunter22"], hides=hides)

    assert mask.value(name, value) == shown


def test_secrets_are_found_in_variables_and_in_headers_of_probes_and_hooks() -> None:
    def get(secret: str) -> HTTPGetAction:
        headers = (HTTPHeader("Authorization", secret), HTTPHeader("Accept", "text"))
        return HTTPGetAction(port=80, http_headers=headers)

    pod = Pod(
        uid="1",
        name="demo",
        init_containers=(Container("first", env=(EnvVar("API_KEY", "in init"),)),),
        containers=(
            Container(
                "web",
                env=(EnvVar("DB_PASSWORD", "in env"), EnvVar("MODE", "plain")),
                liveness_probe=Probe(get("in liveness")),
                readiness_probe=Probe(get("in readiness")),
                startup_probe=Probe(get("in startup")),
                post_start=get("in postStart"),
                pre_stop=get("in preStop"),
            ),
        ),
    )

    assert sorted(secrets_of([pod])) == [
        "in env",
        "in init",
        "in liveness",
        "in postStart",
        "in preStop",
        "in readiness",
        "in startup",
    ]


def test_a_secret_is_replaced_wherever_it_occurs() -> None:
    mask = Mask(["hunter22", "hunter22-and-more"])

    masked = mask.text("a hunter22-and-more b hunter22 c")

    assert masked == "a *** b *** c"


def test_a_secret_is_taken_literally() -> None:
    assert Mask(["a.c(d)e"]).text("abc(d)e a.c(d)e") == "abc(d)e ***"


def test_a_short_value_is_not_searched_for() -> None:
    assert Mask(["1", ""]).text("HTTP 1.1") == "HTTP 1.1"
    assert Mask(["1", ""]).is_empty


def test_all_that_secrets_hold_is_secret_line_by_line() -> None:
    secret = Secret("s", data={"plain": b"one value", "pem": b"BEGIN 1\nEND of it"})

    assert sorted(secrets_of_objects([secret, ConfigMap("c", data={"a": "b"})])) == [
        "BEGIN 1",
        "BEGIN 1\nEND of it",
        "END of it",
        "one value",
        "one value",
    ]
