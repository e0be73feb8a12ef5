"""The explanation of every kind of probe."""

from __future__ import annotations

from msgspec.structs import replace

from probetui.presentation.probe.explain import meaning_lines
from probetui.presentation.text.spans import text_of
from tests.ticks import LIVENESS
from tests.tui.snapshots import DEMO, SHOP


def test_every_kind_of_probe_that_a_pod_has_is_explained_once() -> None:
    demo = [text_of(line) for line in meaning_lines(DEMO)]
    shop = [text_of(line) for line in meaning_lines(SHOP)]

    assert [line for line in demo if line[:4] == "what"] == ["what liveness means here"]
    assert len([line for line in shop if line[:4] == "what"]) == 3


def test_the_explanation_uses_the_settings_of_the_probe() -> None:
    once = replace(LIVENESS, failure_threshold=1)
    container = replace(DEMO.containers[0], liveness_probe=once)
    pod = replace(DEMO, containers=(container,))

    assert text_of(list(meaning_lines(DEMO))[2]) == (
        "  The container is killed after 3 failures in a row;"
    )
    assert text_of(list(meaning_lines(pod))[2]) == (
        "  The container is killed after 1 failure;"
    )
