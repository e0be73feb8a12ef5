from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import CONFIG_SEEN, CONFIG_SOURCE
from probetui.k8s.status import PodPhase, PodStatus
from probetui.kubelet.pod_workers.pod_config import (
    MergedUpdates,
    PodConfig,
    PodOperation,
    SourcedPod,
    SourceUpdate,
)
from tests.builders import START, a_container, a_pod, at

SET, ADD, UPDATE, DELETE, REMOVE, RECONCILE = PodOperation
NEW_IMAGE = a_container(image="busybox:1.37")
DUPLICATE = (
    "Error validating pod web_default(second) from file "
    'due to duplicate pod name "web", ignoring'
)


def merge(
    config: PodConfig,
    *pods: Pod,
    operation: PodOperation = SET,
    source: str = "file",
    status: PodStatus | None = None,
) -> MergedUpdates:
    sourced = tuple(SourcedPod(pod, status or PodStatus()) for pod in pods)
    return config.merge(SourceUpdate(operation, source, sourced), at(0))


def holding(*pods: Pod) -> PodConfig:
    config = PodConfig()
    merge(config, *pods)
    return config


def changes(merged: MergedUpdates) -> list[tuple[PodOperation, list[str]]]:
    """The operations with the names of their pods."""
    return [
        (update.operation, [sourced.pod.name for sourced in update.pods])
        for update in merged.updates
    ]


class TestSet:
    def test_new_pods_are_added_and_say_whence_and_when(self) -> None:
        merged = merge(PodConfig(), a_pod(annotations={"a": "b"}))

        assert changes(merged) == [(ADD, ["web"])]
        assert merged.updates[0].pods[0].pod.annotations == {
            "a": "b",
            CONFIG_SOURCE: "file",
            CONFIG_SEEN: "2025-01-01T12:00:00.000000000Z",
        }

    def test_the_same_again_changes_nothing(self) -> None:
        assert changes(merge(holding(a_pod()), a_pod())) == []

    @pytest.mark.parametrize(
        "changed",
        [
            pytest.param(a_pod(NEW_IMAGE), id="spec"),
            pytest.param(a_pod(labels={"a": "b"}), id="labels"),
            pytest.param(a_pod(annotations={"a": "b"}), id="annotations"),
            pytest.param(a_pod(deletion_grace_period_seconds=1), id="grace-period"),
        ],
    )
    def test_a_change_updates_the_pod(self, changed: Pod) -> None:
        assert changes(merge(holding(a_pod()), changed)) == [(UPDATE, ["web"])]

    def test_an_update_keeps_the_time_of_the_first_update(self) -> None:
        config = holding(a_pod())
        later = SourceUpdate(SET, "file", (SourcedPod(a_pod(NEW_IMAGE)),))

        (update,) = config.merge(later, at(100)).updates

        seen = update.pods[0].pod.annotations[CONFIG_SEEN]
        assert seen == "2025-01-01T12:00:00.000000000Z"

    @pytest.mark.parametrize(
        "changed",
        [
            pytest.param(
                a_pod(annotations={CONFIG_SOURCE: "x"}), id="local-annotation"
            ),
            pytest.param(replace(a_pod(), name="renamed"), id="name"),
        ],
    )
    def test_what_is_never_compared_does_not_count(self, changed: Pod) -> None:
        """Quirk: a pod with the same UID keeps its name."""
        assert changes(merge(holding(a_pod()), changed)) == []

    def test_a_deletion_is_distinguished_from_an_update(self) -> None:
        deleted = a_pod(deletion_requested_at=START)

        assert changes(merge(holding(a_pod()), deleted)) == [(DELETE, ["web"])]

    def test_another_status_is_reconciled(self) -> None:
        running = PodStatus(PodPhase.RUNNING)

        merged = merge(holding(a_pod()), a_pod(), status=running)

        assert changes(merged) == [(RECONCILE, ["web"])]
        assert merged.updates[0].pods[0].status is running

    def test_what_is_not_there_any_more_is_removed_first(self) -> None:
        config = holding(a_pod(), a_pod(name="old"))

        merged = merge(config, a_pod(NEW_IMAGE), a_pod(name="new"))

        assert changes(merged) == [
            (REMOVE, ["old"]),
            (ADD, ["new"]),
            (UPDATE, ["web"]),
        ]

    def test_an_edited_pod_without_a_uid_of_its_own_is_another_pod(self) -> None:
        merged = merge(holding(a_pod()), a_pod(NEW_IMAGE, uid="other-uid"))

        assert changes(merged) == [(REMOVE, ["web"]), (ADD, ["web"])]


class TestFirstSet:
    def test_an_empty_add_marks_the_source_as_updated(self) -> None:
        config = PodConfig()

        first, second = merge(config), merge(config)

        assert (changes(first), changes(second)) == ([(ADD, [])], [])
        assert config.is_seen("file")

    def test_pods_say_so_themselves(self) -> None:
        assert changes(merge(PodConfig(), a_pod())) == [(ADD, ["web"])]

    def test_it_is_behind_the_removes_and_before_the_reconciles(self) -> None:
        config = PodConfig()
        merge(config, a_pod(), a_pod(name="old"), operation=ADD)

        merged = merge(config, a_pod(), status=PodStatus(PodPhase.RUNNING))

        assert changes(merged) == [
            (REMOVE, ["old"]),
            (ADD, []),
            (RECONCILE, ["web"]),
        ]

    def test_a_source_with_only_some_of_its_pods_is_not_complete(self) -> None:
        config = PodConfig()

        merge(config, a_pod(), operation=ADD)

        assert not config.is_seen("file")


class TestOtherOperations:
    @pytest.mark.parametrize("operation", [ADD, UPDATE, DELETE])
    def test_these_put_pods_in_and_leave_the_others(
        self, operation: PodOperation
    ) -> None:
        config = holding(a_pod())

        added = merge(config, a_pod(name="new"), operation=operation)
        again = merge(config, a_pod(), a_pod(name="new"))

        assert (changes(added), changes(again)) == ([(ADD, ["new"])], [])

    def test_remove_drops_known_pods(self) -> None:
        config = holding(a_pod())

        merged = merge(config, a_pod(), a_pod(name="other"), operation=REMOVE)

        assert changes(merged) == [(REMOVE, ["web"])]

    def test_reconcile_only_ever_comes_out(self) -> None:
        assert merge(holding(a_pod()), a_pod(), operation=RECONCILE) == MergedUpdates(
            ()
        )


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param(
            [a_pod(), a_pod(uid="second")],
            [DUPLICATE],
            id="twice-in-a-namespace",
        ),
        pytest.param([a_pod(), a_pod(uid="second", namespace="b")], [], id="in-two"),
    ],
)
def test_the_second_pod_of_a_name_is_refused(
    pods: Sequence[Pod], expected: list[Any]
) -> None:
    merged = merge(PodConfig(), *pods)

    assert [pod.message for pod in merged.refused] == expected


def test_sources_do_not_know_each_other() -> None:
    config = holding(a_pod())

    merged = merge(config, a_pod(name="other"), source="api")

    assert changes(merged) == [(ADD, ["other"])]
    assert merged.updates[0].source == "api"
