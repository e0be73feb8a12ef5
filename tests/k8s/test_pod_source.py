from __future__ import annotations

import pytest

from probetui.k8s.pod_source import (
    CONFIG_HASH,
    CONFIG_MIRROR,
    CONFIG_SEEN,
    CONFIG_SOURCE,
    api_pod,
    is_static_pod,
)
from tests.builders import a_pod


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        pytest.param({}, False, id="not-said"),
        pytest.param({CONFIG_SOURCE: "api"}, False, id="api"),
        pytest.param({CONFIG_SOURCE: "file"}, True, id="file"),
    ],
)
def test_a_pod_is_static_if_its_source_is_not_the_api_server(
    annotations: dict[str, str],
    expected: bool,  # noqa: FBT001  # a column of the table
) -> None:
    assert is_static_pod(a_pod(annotations=annotations)) is expected


def test_the_mirror_pod_has_the_hash_of_its_static_pod() -> None:
    own = {CONFIG_SOURCE: "http", CONFIG_SEEN: "now", CONFIG_HASH: "abc"}

    mirror = api_pod(a_pod(annotations=own))

    assert mirror.annotations == {**own, CONFIG_MIRROR: "abc"}


def test_an_api_server_does_not_see_what_a_kubelet_notes_of_its_pods() -> None:
    own = {CONFIG_SOURCE: "api", CONFIG_SEEN: "now", "team": "shop"}

    assert api_pod(a_pod(annotations=own)).annotations == {"team": "shop"}
