"""Names of pods and containers as people type them."""

from __future__ import annotations

import pytest

from probetui.errors import UsageError
from probetui.k8s.pod_names import find_pods
from tests.builders import a_container, a_pod

SHOP = a_pod(a_container("app"), a_container("log"), name="web", namespace="shop")
TEST = a_pod(a_container("app"), name="web", namespace="test")
APP = a_pod(a_container("app"), name="app", namespace="web")
PODS = [SHOP, TEST, APP]


@pytest.mark.parametrize(
    ("text", "pods", "container"),
    [
        pytest.param("web", [SHOP, TEST], "", id="pod"),
        pytest.param("web/log", [SHOP], "log", id="container"),
        pytest.param("web/app", [SHOP, TEST], "app", id="container before namespace"),
        pytest.param("shop/web", [SHOP], "", id="namespace"),
        pytest.param("shop/web/app", [SHOP], "app", id="all three"),
        pytest.param("shop:web", [SHOP], "", id="colon"),
        pytest.param("web/app/app", [APP], "app", id="three alike"),
        pytest.param("pod/web", [SHOP, TEST], "", id="as kubectl prints it"),
        pytest.param("pods/web/app", [SHOP, TEST], "app", id="with a container"),
    ],
)
def test_a_name_means_pods_and_perhaps_one_container(
    text: str, pods: list[object], container: str
) -> None:
    assert find_pods(text, PODS) == (pods, container)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("wed", r'no pod is called "wed" .*\(nearest: web\)', id="no pod"),
        pytest.param("web/x", r'"web" has no container "x" \(has: app', id="container"),
        pytest.param("prod/web/app", 'no pod is called "web"', id="other namespace"),
        pytest.param("a//b", "is not POD, POD/CONTAINER", id="empty part"),
        pytest.param("a/b/c/d", "is not POD, POD/CONTAINER", id="too many parts"),
    ],
)
def test_an_error_about_an_unknown_name_lists_the_pods(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_pods(text, PODS)
