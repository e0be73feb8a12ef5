"""What readiness decides about a pod's endpoints."""

from __future__ import annotations

import pytest

from probetui.k8s.service import Service
from probetui.presentation.probe.endpoints import endpoints_text
from tests.builders import a_container, a_pod

WEB = Service("web", "default", (("app", "web"),))
ALL = Service("all", "default", (("app", "web"),), publishes_not_ready=True)
API = Service("api", "default", (("app", "web"), ("tier", "api")))
ELSEWHERE = Service("web", "elsewhere", (("app", "web"),))
LABELS = {"app": "web", "tier": "api"}
UNNAMED = "the Services that select the pod"


@pytest.mark.parametrize(
    ("services", "lost", "found"),
    [
        pytest.param((), f"out of the endpoints of {UNNAMED}", UNNAMED, id="none"),
        pytest.param(
            (ELSEWHERE,), f"out of the endpoints of {UNNAMED}", UNNAMED, id="elsewhere"
        ),
        pytest.param(
            (WEB,), "out of the endpoints of Service web", "Service web", id="one"
        ),
        pytest.param(
            (WEB, API),
            "out of the endpoints of Services web and api",
            "Services web and api",
            id="two",
        ),
        pytest.param(
            (ALL,),
            "in those of Service all all the same",
            "Service all",
            id="publishes addresses that are not ready",
        ),
        pytest.param(
            (WEB, ALL),
            "out of the endpoints of Service web, in those of Service all all the same",
            "Services web and all",
            id="both",
        ),
        pytest.param(
            (WEB,) * 5,
            "out of the endpoints of Services web, web, web and 2 more",
            "Services web, web, web and 2 more",
            id="many",
        ),
    ],
)
def test_a_pod_is_an_endpoint_of_what_selects_it_while_it_is_ready(
    services: tuple[Service, ...], lost: str, found: str
) -> None:
    pod = a_pod(labels=LABELS)

    assert endpoints_text(pod, services, is_ready=False) == lost
    assert endpoints_text(pod, services, is_ready=True) == (
        f"in the endpoints of {found}"
    )


@pytest.mark.parametrize(
    "choices",
    [
        pytest.param({"containers": (a_container(), a_container("b"))}, id="another"),
        pytest.param({"readiness_gates": ("x.io/gate",)}, id="a readiness gate"),
    ],
)
def test_one_ready_container_is_not_always_enough(choices: dict[str, object]) -> None:
    containers = choices.pop("containers", (a_container(),))
    pod = a_pod(*containers, labels=LABELS, **choices)  # type: ignore[misc,arg-type]

    assert endpoints_text(pod, (WEB,), is_ready=True) == (
        "in the endpoints of Service web once the whole pod is ready"
    )


def test_without_a_manifest_the_services_have_no_names() -> None:
    assert endpoints_text(None, (WEB,), is_ready=False).endswith(UNNAMED)
