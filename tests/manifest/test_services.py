"""Services of the files: which pods they select."""

from __future__ import annotations

import pytest

from probetui.k8s.service import Service
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile

HEAD = "apiVersion: v1\nkind: Service\n"
WEB = "metadata: {name: web}\nspec: {selector: {app: web}"


def services(text: str, **choices: str) -> tuple[Service, ...]:
    return load_manifests([SourceFile("pod.yaml", text)], **choices).services  # type: ignore[arg-type]


def test_a_service_selects_pods_by_their_labels() -> None:
    assert services(f"{HEAD}{WEB}}}") == (Service("web", "default", (("app", "web"),)),)


def test_it_may_publish_addresses_that_are_not_ready() -> None:
    (found,) = services(f"{HEAD}{WEB}, publishNotReadyAddresses: true}}")

    assert found.publishes_not_ready


def test_its_namespace_is_that_of_its_pods() -> None:
    text = (
        f"{HEAD}metadata: {{name: web, namespace: shop}}\nspec: {{selector: {{a: b}}}}"
    )

    (written,) = services(text)
    (asked,) = services(text, namespace="other")
    (apart,) = services(text, namespace_suffix="-1")

    assert (written.namespace, asked.namespace) == ("shop", "other")
    assert apart.namespace == "shop-1"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{HEAD}metadata: {{name: web}}\nspec: {{}}", id="no selector"),
        pytest.param(f"{HEAD}metadata: {{name: web}}\nspec: 1", id="no spec"),
        pytest.param(f"{HEAD}metadata: 1\nspec: {{selector: {{a: b}}}}", id="no name"),
        pytest.param(
            f"{HEAD}metadata: {{name: A_b}}\nspec: {{selector: {{a: b}}}}",
            id="a name that is none",
        ),
        pytest.param(f"{HEAD}{WEB}, type: ExternalName}}", id="outside the cluster"),
        pytest.param(
            f"apiVersion: serving.knative.dev/v1\nkind: Service\n{WEB}}}",
            id="another kind",
        ),
    ],
)
def test_other_objects_select_no_pods(text: str) -> None:
    assert services(text) == ()
