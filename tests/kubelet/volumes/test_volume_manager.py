from __future__ import annotations

from typing import Any

import pytest

from probetui.k8s.pod import Pod, VolumeMount
from probetui.k8s.volume import (
    ConfigMap,
    ConfigMapFiles,
    EmptyDir,
    Projected,
    Volume,
    VolumeFile,
)
from probetui.kubelet.effects import MountVolume, UnmountVolume
from probetui.kubelet.object_store import ObjectStore
from probetui.kubelet.volumes.volume_manager import VolumeManager, mounted_names
from probetui.kubelet_rules import PORTED_RULES, rules_of
from tests.builders import START, a_container, a_pod, at
from tests.kubelet.effect_executor import EffectExecutor

DATA = Volume("data", EmptyDir())
CACHE = Volume("cache", EmptyDir("Memory"))
CONFIG = Volume("config", Projected((ConfigMapFiles("config"),)))
FILES = (VolumeFile("a", b"1"),)


def mounting(*names: str, **fields: Any) -> Any:
    mounts = tuple(VolumeMount(name, f"/{name}") for name in names)
    return a_container(volume_mounts=mounts, **fields)


def a_pod_with(*volumes: Volume, **fields: Any) -> Pod:
    names = [volume.name for volume in volumes]
    return a_pod(mounting(*names), volumes=volumes, **fields)


class Bench(EffectExecutor):
    """A volume manager, and calls that wait for it."""

    def __init__(self, version: str = PORTED_RULES.version) -> None:
        super().__init__()
        self.objects = ObjectStore()
        self.sources_ready = True
        self.volumes = VolumeManager(
            self.turn_builder,
            self.runner,
            self.objects,
            can_unmount=lambda: self.sources_ready,
            rules=rules_of(version),
        )

    def have_config(self, **data: str) -> None:
        self.objects.replace((ConfigMap("config", data=data),))

    def mount(self, pod: Pod) -> None:
        """Let a sync wait for the volumes of a pod."""
        self.start(self.volumes.wait_for_mounts(pod, self.now))

    def unmount(self, pod: Pod) -> None:
        """Let the end of a pod wait for its volumes."""
        self.start(self.volumes.wait_for_unmounts(pod, self.now))

    def mount_all(self, pod: Pod) -> None:
        """Mount all volumes of a pod, to the end."""
        self.mount(pod)
        while self.pending_operations():
            self.answer()
        assert self.returned.pop() is True

    def wait(self, seconds: float) -> None:
        super().wait(seconds)
        self.volumes.run_due(self.now)

    def messages(self) -> list[str]:
        return [message for _, _, message in self.events()]


@pytest.fixture
def bench() -> Bench:
    return Bench()


class TestWaitingForMounts:
    def test_a_pod_without_volumes_waits_for_nothing(self, bench: Bench) -> None:
        bench.mount(a_pod())

        assert bench.returned == [True]
        assert bench.pending_operations() == []

    def test_all_volumes_are_mounted_side_by_side(self, bench: Bench) -> None:
        pod = a_pod_with(DATA, CACHE)

        bench.mount(pod)

        assert bench.pending_operations() == [
            MountVolume(pod, DATA, (), START),
            MountVolume(pod, CACHE, (), START),
        ]
        assert bench.returned == []

    def test_the_wait_is_over_when_the_last_one_is_there(self, bench: Bench) -> None:
        bench.mount(a_pod_with(DATA, CACHE))

        bench.answer()
        waits = bench.returned == []
        bench.answer()

        assert waits
        assert bench.returned == [True]

    def test_a_volume_that_nobody_mounts_is_not_made(self, bench: Bench) -> None:
        bench.mount(a_pod(a_container(), volumes=(DATA,)))

        assert bench.pending_operations() == []
        assert bench.returned == [True]

    def test_what_is_mounted_already_is_not_mounted_again(self, bench: Bench) -> None:
        pod = a_pod_with(DATA)
        bench.mount_all(pod)

        bench.mount(pod)

        assert bench.pending_operations() == []
        assert bench.returned == [True]

    def test_a_failure_is_an_event_and_retried_after_growing_pauses(
        self, bench: Bench
    ) -> None:
        bench.mount(a_pod_with(DATA))

        tries = []
        for _ in range(4):
            tries.append((bench.now - START).total_seconds())
            bench.answer(error="no space")
            deadline = bench.volumes.next_deadline()
            assert deadline is not None
            bench.wait((deadline - bench.now).total_seconds())

        assert tries == [0, 0.5, 1.5, 3.5]
        assert bench.events() == [
            ("Warning", "FailedMount", event)
            for event in ['MountVolume.SetUp failed for volume "data" : no space'] * 4
        ]

    def test_a_pause_is_never_longer_than_two_minutes(self, bench: Bench) -> None:
        bench.mount(a_pod_with(DATA))
        pauses = []
        for _ in range(12):
            bench.answer(error="no")
            deadline = bench.volumes.next_deadline()
            assert deadline is not None
            pauses.append((deadline - bench.now).total_seconds())
            bench.wait(pauses[-1])

        assert pauses[-3:] == [122, 122, 122]

    def test_pauses_begin_anew_after_a_success(self, bench: Bench) -> None:
        pod = a_pod_with(CONFIG)
        bench.have_config(a="1")
        bench.mount(pod)
        bench.answer(error="no")
        bench.wait(0.5)
        bench.answer()
        bench.have_config(a="2")

        bench.mount(pod)
        bench.answer(error="no")

        assert bench.volumes.next_deadline() == at(1)

    def test_a_sync_during_a_pause_does_not_try_earlier(self, bench: Bench) -> None:
        pod = a_pod_with(DATA)
        bench.mount(pod)
        bench.answer(error="no")

        bench.volumes.cancel_waits(lambda _uid: True)
        bench.runner.resume_released(bench.now)
        bench.mount(pod)

        assert bench.pending_operations() == []

    def test_the_wait_ends_after_two_minutes_without_a_word(self, bench: Bench) -> None:
        """Quirk: only the attempts make events, not the time-out."""
        bench.mount(a_pod_with(DATA))

        super(Bench, bench).wait(122.9)
        before = list(bench.returned)
        super(Bench, bench).wait(0.2)

        assert before == []
        assert bench.returned == [False]
        assert bench.events() == []

    def test_a_call_that_is_to_end_early_waits_no_longer(self, bench: Bench) -> None:
        bench.mount(a_pod_with(DATA))

        bench.volumes.cancel_waits(lambda uid: uid == "uid-of-web")
        bench.runner.resume_released(bench.now)

        assert bench.returned == [False]

    def test_other_calls_go_on_waiting(self, bench: Bench) -> None:
        bench.mount(a_pod_with(DATA))

        bench.volumes.cancel_waits(lambda uid: uid == "uid-of-another")
        bench.runner.resume_released(bench.now)

        assert bench.returned == []


class TestFiles:
    def test_a_volume_of_files_is_mounted_with_them(self, bench: Bench) -> None:
        bench.have_config(a="1")
        pod = a_pod_with(CONFIG)

        bench.mount(pod)

        assert bench.pending_operations() == [MountVolume(pod, CONFIG, FILES, START)]

    def test_missing_files_are_a_failed_mount(self, bench: Bench) -> None:
        bench.mount(a_pod_with(CONFIG))

        assert bench.pending_operations() == []
        (message,) = bench.messages()
        assert message == (
            'MountVolume.SetUp failed for volume "config" :'
            ' configmap "config" not found'
        )

    def test_files_are_mounted_once_they_exist(self, bench: Bench) -> None:
        bench.mount(a_pod_with(CONFIG))
        bench.have_config(a="1")

        bench.wait(0.5)
        bench.answer()

        assert bench.returned == [True]

    def test_the_next_sync_brings_them_up_to_date_and_does_not_wait(
        self, bench: Bench
    ) -> None:
        bench.have_config(a="1")
        pod = a_pod_with(CONFIG)
        bench.mount_all(pod)
        bench.have_config(a="2")

        bench.mount(pod)

        assert bench.pending_operations() == [
            MountVolume(pod, CONFIG, (VolumeFile("a", b"2"),), START)
        ]
        assert bench.returned == [True]

    def test_files_that_are_gone_later_do_not_end_the_pod(self, bench: Bench) -> None:
        bench.have_config(a="1")
        pod = a_pod_with(CONFIG)
        bench.mount_all(pod)
        bench.objects.replace(())

        bench.mount(pod)

        assert bench.returned == [True]
        assert len(bench.messages()) == 1
        assert bench.volumes.mounted(pod.uid)["config"].files == FILES

    def test_while_one_refresh_is_under_way_no_other_begins(self, bench: Bench) -> None:
        bench.have_config(a="1")
        pod = a_pod_with(CONFIG)
        bench.mount_all(pod)
        bench.have_config(a="2")
        bench.mount(pod)
        bench.have_config(a="3")

        bench.mount(pod)
        under_way = len(bench.pending_operations())
        bench.answer()

        assert under_way == 1
        assert bench.pending_operations() == [
            MountVolume(pod, CONFIG, (VolumeFile("a", b"3"),), START)
        ]


class TestWaitingForUnmounts:
    def test_a_pod_that_never_had_volumes_waits_for_nothing(self, bench: Bench) -> None:
        bench.unmount(a_pod_with(DATA))

        assert bench.returned == [True]
        assert bench.pending_operations() == []

    def test_all_volumes_are_unmounted(self, bench: Bench) -> None:
        pod = a_pod_with(DATA, CACHE)
        bench.mount_all(pod)

        bench.unmount(pod)
        pending = bench.pending_operations()
        bench.answer()
        bench.answer()

        assert pending == [
            UnmountVolume(pod.uid, "data"),
            UnmountVolume(pod.uid, "cache"),
        ]
        assert bench.returned == [True]
        assert bench.volumes.mounted(pod.uid) == {}

    def test_a_volume_that_is_being_mounted_is_unmounted_afterwards(
        self, bench: Bench
    ) -> None:
        pod = a_pod_with(DATA)
        bench.mount(pod)
        bench.volumes.cancel_waits(lambda _uid: True)
        bench.runner.resume_released(bench.now)

        bench.unmount(pod)
        bench.answer()
        pending = bench.pending_operations()
        bench.answer()

        assert pending == [UnmountVolume(pod.uid, "data")]
        assert bench.returned == [False, True]

    def test_one_that_is_gone_before_another_is_even_there_ends_no_wait(
        self, bench: Bench
    ) -> None:
        pod = a_pod_with(DATA, CACHE)
        bench.mount(pod)
        bench.answer()
        bench.volumes.cancel_waits(lambda _uid: True)
        bench.runner.resume_released(bench.now)

        bench.unmount(pod)
        bench.answer(index=1)

        assert bench.returned == [False]

    def test_a_failed_unmount_is_retried(self, bench: Bench) -> None:
        pod = a_pod_with(DATA)
        bench.mount_all(pod)
        bench.unmount(pod)
        bench.answer(error="busy")

        bench.wait(0.5)
        pending = bench.pending_operations()
        bench.answer()

        assert pending == [UnmountVolume(pod.uid, "data")]
        assert bench.returned == [True]
        assert bench.events() == []

    def test_the_wait_ends_after_two_minutes(self, bench: Bench) -> None:
        pod = a_pod_with(DATA)
        bench.mount_all(pod)
        bench.unmount(pod)

        super(Bench, bench).wait(123)

        assert bench.returned == [False]

    def test_a_forgotten_pod_is_not_retried(self, bench: Bench) -> None:
        bench.mount(a_pod_with(DATA))
        bench.answer(error="no")

        bench.volumes.forget("uid-of-web")

        assert bench.volumes.next_deadline() is None


def test_volumes_are_mounted_for_containers_of_every_kind() -> None:
    pod = a_pod(
        mounting("a", name="one"),
        init_containers=(mounting("b", name="two"),),
        ephemeral_containers=(mounting("c", name="three"),),
    )

    assert mounted_names(pod) == {"a", "b", "c"}


def test_nothing_is_unmounted_before_the_first_updates_of_all_sources(
    bench: Bench,
) -> None:
    pod = a_pod_with(DATA)
    bench.mount_all(pod)
    bench.sources_ready = False

    bench.unmount(pod)
    bench.wait(5)
    before = bench.pending_operations()
    bench.sources_ready = True
    bench.wait(1)

    assert (before, bench.pending_operations()) == (
        [],
        [UnmountVolume(pod.uid, DATA.name)],
    )
    bench.answer()
    assert bench.returned == [True]


def test_volumes_are_mounted_before_the_first_updates_of_the_sources(
    bench: Bench,
) -> None:
    bench.sources_ready = False

    bench.mount(a_pod_with(DATA))

    assert len(bench.pending_operations()) == 1


@pytest.mark.parametrize(
    ("version", "message"),
    [
        pytest.param(
            "1.15",
            'Unable to mount volumes for pod "web_default(uid-of-web)": timeout '
            'expired waiting for volumes to attach or mount for pod "default"/"web". '
            "list of unmounted volumes=[data]. list of unattached volumes=[cache data]",
            id="1.15",
        ),
        pytest.param(
            "1.20",
            "Unable to attach or mount volumes: unmounted volumes=[data], unattached "
            "volumes=[cache data]: timed out waiting for the condition",
            id="1.20",
        ),
        pytest.param("1.28", None, id="1.28"),
    ],
)
def test_old_versions_report_that_volumes_were_waited_for_in_vain(
    version: str, message: str | None
) -> None:
    bench = Bench(version)
    bench.mount(a_pod_with(CACHE, DATA))
    bench.answer()

    bench.wait(123)

    assert bench.returned == [False]
    assert bench.messages() == ([] if message is None else [message])
