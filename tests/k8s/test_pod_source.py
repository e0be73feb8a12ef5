from __future__ import annotations

import pytest

from probetui.k8s.pod_source import CONFIG_SOURCE, is_static_pod
from tests.builders import a_pod


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        pytest.param({}, False, id="not-said"),
        pytest.param({CONFIG_SOURCE: "api"}, False, id="api"),
        pytest.param({CONFIG_SOURCE: "file"}, True, id="file"),
    ],
)
def test_a_pod_is_static_if_it_says_that_it_is_not_from_the_api_server(
    annotations: dict[str, str],
    expected: bool,  # noqa: FBT001  # a column of the table
) -> None:
    assert is_static_pod(a_pod(annotations=annotations)) is expected
